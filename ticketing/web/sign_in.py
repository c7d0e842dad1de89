"""Signs members in: counts the attempt, then checks the password or the invitation.

A member with a second factor proves that, too, whatever came before it: a password, a reset or an
invitation. The console asks for it on a page of its own, and the API in the same request.
"""

from collections.abc import Callable
from typing import Any

from ticketing import clock, credentials
from ticketing.errors import (
    FieldMessage,
    Invalid,
    InvalidCredentials,
    SecondFactorMissing,
    SecondFactorRequired,
)
from ticketing.limits import CallClass
from ticketing.models.members import Member
from ticketing.services.access import (
    audit_log,
    invitations,
    members,
    passkeys,
    password_resets,
    passwords,
    second_factors,
    tenants,
)
from ticketing.services.access.callers import lacks_second_factor
from ticketing.services.access.passkeys import Site
from ticketing.web import rate_limit
from ticketing.web.audited import actor_named
from ticketing.web.context import caller, config


def password(tenant: str, email: str, password: str, browser: str = "") -> Member:
    """Return the member with this password, with the tenant. `tenant` is a slug or an id.

    `browser`: the secret of a browser in which the member has signed in before. It has attempts of
    its own, so a stranger who uses up those of the member does not lock the member out of it.

    InvalidCredentials, without a reason and in constant time. TooManyRequests.
    """
    # An attacker can guess one member's password from many addresses, so requests also count per
    # member, however the tenant is named. The count stores a digest, because an email address is
    # personal data.
    tenant_id = tenants.id_of(tenant)
    member_id = credentials.member_of_browser(config().keyring, browser)
    if member_id is not None and members.is_named(member_id, tenant_id, email):
        _count(browser)
    else:
        _count(f"{tenant_id or tenant}\n{email.lower()}")
    member = members.sign_in(tenant_id, email, password)
    if member is None:
        raise InvalidCredentials
    return member


def second(first_step: str, code: str) -> tuple[Member, str]:
    """Return the member who has proved the password and this code, and what the code was.

    SignInEnded if the password was proved too long ago; WrongCode; TooManyRequests.
    """
    member = second_factors.after_first_step(first_step, config().keyring)
    return member, _second(member, code)


def second_passkey(first_step: str, credential: str, site: Site) -> Member:
    """Return the member who has proved the password and a passkey.

    SignInEnded; WrongPasskey; TooManyRequests.
    """
    keyring = config().keyring
    member = second_factors.after_first_step(first_step, keyring)
    _count(f"second factor of {member.id}")
    return passkeys.prove(credential, site, keyring, member.id)


def passkey(credential: str, site: Site) -> Member:
    """Return the member who has proved a passkey instead of the password. WrongPasskey.

    A stranger's wrong passwords do not count here, so they lock nobody out who has a passkey.
    """
    return passkeys.prove(credential, site, config().keyring)


def of_api(member: Member, code: str | None) -> None:
    """Check what the API needs besides a password or an invitation, and use it up.

    SecondFactorRequired without a code of a member who has a second factor. WrongCode.
    SecondFactorMissing for an administrator who needs one and has none.
    """
    if lacks_second_factor(member):
        raise SecondFactorMissing
    if member.second_factor_since is not None:
        if code is None:
            raise SecondFactorRequired
        _second(member, code)


def _second(member: Member, code: str) -> str:
    _count(f"second factor of {member.id}")
    return second_factors.check_code(member, code, config().keyring)


def note(member: Member, proof: str) -> None:
    """Record in the audit log that a member has signed in, in a browser, and with what."""
    actor = actor_named(member.id, "sessions_begin")
    with audit_log.changes(member.tenant_id):
        audit_log.record(member.tenant_id, actor, member.id, before=None, after={"proof": proof})


def again(password: str) -> Member:
    """Return the member who is signed in, if this is their password.

    Invalid if not; TooManyRequests, as for signing in.
    """
    who = caller()
    member = members.get(who.tenant_id, who.credential_id)
    _count(f"{who.tenant_id}\n{member.email}")
    if not passwords.verify(password, member.password_hash):
        text = FieldMessage("wrong_password", "This is not your password.")
        raise Invalid({"password": [text]})
    return member


def invitation(
    invitation: str,
    password: str,
    email: str | None = None,
    check: Callable[[Member], None] = lambda _: None,
) -> Member:
    """Set the password of an invited member. Return the member, with the tenant.

    `check` is called with the member before. The errors are its, and those of `invitations.accept`.
    """
    _count(invitation)
    keyring = config().keyring
    invited = invitations.find(invitation, keyring).member
    check(invited)
    with audit_log.changes(invited.tenant_id):
        member = invitations.accept(invitation, password, email, keyring)
        audit_log.record(
            member.tenant_id,
            actor_named(member.id, "tokens_accept_invitation"),
            member.id,
            before=_recorded(invited),
            after=_recorded(member),
        )
    return member


def reset(reset: str, password: str) -> Member:
    """Set the password of who forgot theirs. Return the member, with the tenant.

    The errors are those of `password_resets.accept`.
    """
    _count(reset)
    forgetful = password_resets.find(reset, config().keyring)
    with audit_log.changes(forgetful.tenant_id):
        member = password_resets.accept(reset, password, config())
        actor = actor_named(member.id, "passwords_reset")
        before, after = _recorded(forgetful), _recorded(member)
        audit_log.record(member.tenant_id, actor, member.id, before=before, after=after)
    return member


def change_password(old: str, new: str) -> Member:
    """Set another password of the member who is signed in. Return the member.

    Invalid for one of them; InvalidCredentials if the old one was replaced meanwhile;
    TooManyRequests, as for signing in.
    """
    member = again(old)
    before = _recorded(member)
    with audit_log.changes(member.tenant_id):
        try:
            password_resets.change(member, new, config())
        except Invalid as error:
            raise Invalid({"new_password": error.extensions["errors"]["password"]}) from None
        actor = actor_named(member.id, "passwords_change")
        after = _recorded(member)
        audit_log.record(member.tenant_id, actor, member.id, before=before, after=after)
    return member


def _count(attempted: str) -> None:
    """Count this request for what it tries to open. TooManyRequests."""
    secret_key = config().keyring.current
    counted_for = credentials.keyed_digest(secret_key, "sign-in", attempted)
    rate_limit.count_also(CallClass.LOGIN, counted_for)


def _recorded(member: Member) -> dict[str, Any]:
    """Return what the audit log says of a member. A new password always differs in its time."""
    set_at = member.password_set_at
    return {
        "email": member.email,
        "status": member.status,
        "password_set_at": None if set_at is None else clock.rfc3339(set_at),
    }
