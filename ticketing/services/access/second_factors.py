"""Second factors: what a member proves after the password.

An app that shows codes, or a passkey; and ten recovery codes, of which each works once, for who has
lost them. They are made with the first factor, and end with the last one. A new password, a reset
and an invitation leave them as they are, so none of these opens the account alone. Who has lost
everything asks the operator: `flask members reset-second-factor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from ticketing import clock, credentials
from ticketing.credentials import Keyring
from ticketing.errors import SecondFactorNeeded, SignInEnded, WrongCode
from ticketing.models.members import Member
from ticketing.models.second_factors import Passkey, RecoveryCode
from ticketing.models.tenants import Tenant
from ticketing.roles import Role
from ticketing.services.access import members, passkeys, totp

RECOVERY_CODES = 10
FIRST_STEP_LIVES = timedelta(minutes=5)


@dataclass(frozen=True)
class SecondFactors:
    """What a member has set up. `recovery_codes`: how many are left."""

    has_app: bool
    passkeys: Sequence[Passkey]
    recovery_codes: int

    @property
    def exist(self) -> bool:
        """Whether the password alone is not enough."""
        return self.has_app or bool(self.passkeys)


def of(member_id: str) -> SecondFactors:
    """Return what a member has set up."""
    left = RecoveryCode.select().where(RecoveryCode.member == member_id).count()
    return SecondFactors(totp.is_set(member_id), passkeys.list_of(member_id), left)


def first_step(member: Member, keyring: Keyring) -> str:
    """Return what says for five minutes that a member has proved the password."""
    ends_at = int((clock.now() + FIRST_STEP_LIVES).timestamp())
    return credentials.first_step(keyring.current, member.id, member.generation, ends_at)


def after_first_step(offered: str, keyring: Keyring) -> Member:
    """Return the member who has proved the password, with the tenant. SignInEnded."""
    parts = credentials.parts_of_first_step(offered)
    if parts is None:
        raise SignInEnded
    member_id, ends_at = parts
    found: Member | None = (
        Member.select(Member, Tenant)
        .join(Tenant)
        .where(Member.id == member_id, Member.disabled_at.is_null())
        .first()
    )
    if found is None or ends_at <= clock.now().timestamp():
        raise SignInEnded
    genuine = [
        credentials.first_step(each, member_id, found.generation, ends_at)
        for each in keyring.accepted
    ]
    if not credentials.same_as_any(offered, genuine):
        raise SignInEnded
    return found


def check_code(member: Member, typed: str, keyring: Keyring) -> str:
    """Use up a code of the member's app, or a recovery code. Return which it was, in a word.

    WrongCode; TooManyRequests after MOST_ATTEMPTS wrong codes of the app in a day: then a
    recovery code and a passkey still count.
    """
    if digests := credentials.recovery_digests(keyring, member.id, typed):
        of_code = (RecoveryCode.member == member.id) & RecoveryCode.digest.in_(digests)
        # Of two requests with the same code, one deletes the row.
        if RecoveryCode.delete().where(of_code).execute() == 1:
            return "recovery code"
        raise WrongCode
    if totp.verify(member.id, "".join(typed.split()), keyring):
        return "code"
    raise WrongCode


def note_first(member: Member, keyring: Keyring) -> Sequence[str]:
    """Note that a factor was set up. Return the recovery codes if it is the first one, else none.

    The caller runs it in `members.changing`.
    """
    if members.get(member.tenant_id, member.id).second_factor_since is not None:
        return []
    Member.update(second_factor_since=clock.now()).where(Member.id == member.id).execute()
    return new_recovery_codes(member, keyring)


def new_recovery_codes(member: Member, keyring: Keyring) -> Sequence[str]:
    """Make ten recovery codes. Those from before end."""
    codes = [credentials.new_recovery_code() for _ in range(RECOVERY_CODES)]
    RecoveryCode.delete().where(RecoveryCode.member == member.id).execute()
    for code in codes:
        (digest, *_) = credentials.recovery_digests(keyring, member.id, code)
        RecoveryCode.create(member=member.id, digest=digest)
    return codes


def note_removed(member: Member, tenant: Tenant) -> None:
    """Note that a factor was removed. With the last one, the password is enough again.

    SecondFactorNeeded if the tenant requires one of this member. The caller runs it in
    `members.changing`.
    """
    if of(member.id).exist:
        return
    if tenant.second_factor_required and member.role == Role.ADMIN:
        raise SecondFactorNeeded
    _forget(member.id)


def reset(tenant_id: str, member_id: str) -> None:
    """Remove all second factors of a member who has lost them. Only the operator does that."""
    with members.changing(tenant_id):
        totp.remove(member_id)
        Passkey.delete().where(Passkey.member == member_id).execute()
        _forget(member_id)


def _forget(member_id: str) -> None:
    RecoveryCode.delete().where(RecoveryCode.member == member_id).execute()
    Member.update(second_factor_since=None).where(Member.id == member_id).execute()
