"""New passwords: by a link that is mailed to who forgot theirs, or with the old one.

The link is derived from the member, the password that it replaces, and its end. It is never stored,
and works once: afterwards the password is another one. Example: somebody asks twice, and uses the
second link. The first one has ended, too.
"""

from __future__ import annotations

from datetime import timedelta

from ticketing import clock, credentials, ids
from ticketing.config import Config
from ticketing.credentials import Keyring
from ticketing.errors import Invalid, InvalidCredentials, NotFound, PasswordResetEnded
from ticketing.models.members import Member
from ticketing.models.notifications import Mail
from ticketing.models.tenants import Tenant
from ticketing.notification_types import MailKind
from ticketing.roles import MemberStatus
from ticketing.services.access import members, passwords, sessions
from ticketing.services.notifications import mail_queue

LIFE = timedelta(hours=1)
_PATH = "/console/reset/"


def url_for(mail: Mail, config: Config) -> str | None:
    """Return the link that a mail brings: None if its address is of nobody with a password.

    It ends an hour after it was asked for, also if the mail had to wait.
    """
    member = Member.get_or_none(
        Member.tenant == mail.tenant_id, Member.email == (mail.recipient or "").lower()
    )
    ends_at = mail.created_at + LIFE
    if member is None or member.status is not MemberStatus.ACTIVE or ends_at <= clock.now():
        return None
    key = config.keyring.current
    reset = credentials.password_reset(key, member.id, member.generation, int(ends_at.timestamp()))
    return f"{config.public_url or ''}{_PATH}{reset}"


def find(reset: str, keyring: Keyring) -> Member:
    """Return the member whose password this link replaces, with the tenant.

    NotFound for what is no link. PasswordResetEnded for one that was used or is too old, or whose
    member was disabled.
    """
    parts = credentials.parts_of_reset(reset)
    if parts is None:
        raise NotFound("This link does not exist.")
    member_id, ends_at = parts
    found: Member | None = (
        Member.select(Member, Tenant).join(Tenant).where(Member.id == member_id).first()
    )
    if found is None or found.status is not MemberStatus.ACTIVE:
        raise PasswordResetEnded
    genuine = [
        credentials.password_reset(key, member_id, found.generation, ends_at)
        for key in keyring.accepted
    ]
    if not credentials.same_as_any(reset, genuine) or ends_at <= clock.now().timestamp():
        raise PasswordResetEnded
    return found


def accept(reset: str, password: str, config: Config) -> Member:
    """Set the password of who forgot theirs. Return the member, with the tenant.

    All sessions, JWTs and invitations of the member end, and the administrators get a mail.
    NotFound and PasswordResetEnded as in `find`; Invalid for the password; TooManyRequests if
    another thread of this process is hashing a password.
    """
    member = find(reset, config.keyring)
    password_hash = _hashed(password)
    with members.changing(member.tenant_id):
        # Again, because somebody else may have used it meanwhile.
        member = find(reset, config.keyring)
        _set(member, password_hash, config)
        return member


def change(member: Member, password: str, config: Config) -> None:
    """Set another password of a member who has just proved the old one. The rest: see `accept`.

    InvalidCredentials if the member got another password, or was disabled, since then. Example:
    Ada resets her password, while somebody who has the old one changes it. Hers stays.
    """
    password_hash = _hashed(password)
    with members.changing(member.tenant_id):
        now = members.get(member.tenant_id, member.id)
        if now.password_hash != member.password_hash or now.disabled_at is not None:
            raise InvalidCredentials
        _set(member, password_hash, config)


def _hashed(password: str) -> str:
    if errors := passwords.faults(password):
        raise Invalid(errors)
    return passwords.hashed(password)


def _set(member: Member, password_hash: str, config: Config) -> None:
    members.set_password(member, password_hash)
    members.end_invitations(member.id)
    sessions.end_all(member.id)
    if config.smtp is not None and member.email is not None:
        told = {member.email, *members.emails_of_admins(member.tenant_id)}
        rows = mail_queue.new(member.tenant_id, MailKind.PASSWORD_CHANGED, member.id)
        mail_queue.add(
            {**rows, "id": ids.new(ids.MAIL), "recipient": each} for each in sorted(told)
        )
