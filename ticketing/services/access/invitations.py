"""Invitations: a link with which a member sets a password, once, within 48 hours.

A reset of a password is a new invitation, and so is the return of a disabled member. Of several
invitations of a member, only the newest works. Its secret is derived from its id.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from peewee import IntegrityError

from ticketing import clock, credentials, ids
from ticketing.config import Config
from ticketing.constants import INVITATION_LIVES
from ticketing.credentials import Keyring
from ticketing.db import pruning
from ticketing.errors import FieldMessage, Invalid, InvitationEnded, MemberExists, NotFound
from ticketing.models.members import Invitation, Member
from ticketing.models.tenants import Tenant
from ticketing.roles import Role
from ticketing.services.access import members, passwords, sessions
from ticketing.services.notifications import facts, feed

_PATH = "/console/invitation/"
_OWN_EMAIL = "State the email address with which you will sign in."
_KEPT = timedelta(days=30)
"""For how long a link says that its invitation has ended. Both answers are the same after that."""


def create(
    tenant_id: str,
    email: str | None,
    role: Role,
    keyring: Keyring,
    event_ids: Collection[str] | None = None,
) -> Member:
    """Create a member with an `invitation`. Without an email, accepting it states one.

    `event_ids`: the member is limited to these events. Invalid for the email or the events;
    MemberExists.
    """
    if email is not None and (errors := members.faults_of_email(email)):
        raise Invalid(errors)
    members.check_events(tenant_id, role, event_ids)
    with members.changing(tenant_id):
        member = members.insert(tenant_id, email, role, event_ids=event_ids, created_at=clock.now())
        return _invited(member, keyring)


def invite(tenant_id: str, member_id: str, keyring: Keyring) -> Member:
    """Give a member a new `invitation`. The earlier one ends, the password does not. NotFound."""
    with members.changing(tenant_id):
        return _invited(members.get(tenant_id, member_id), keyring)


def find(invitation: str, keyring: Keyring) -> Invitation:
    """Return the invitation with this secret, with its member and tenant, if it can be accepted.

    NotFound for a wrong secret. InvitationEnded for one that was used, replaced or taken back, or
    is too old.
    """
    invitation_id = credentials.invitation_id(keyring, invitation)
    if invitation_id is None:
        raise NotFound("This invitation does not exist.")
    found: Invitation | None = (
        Invitation.select(Invitation, Member, Tenant)
        .join(Member)
        .join(Tenant)
        .where(Invitation.id == invitation_id)
        .first()
    )
    if found is None or not found.is_open:
        raise InvitationEnded
    return found


def url(invitation: str, config: Config) -> str:
    """Return the page that accepts an invitation. Without PUBLIC_URL, its path."""
    return f"{config.public_url or ''}{_PATH}{invitation}"


def open_one(member_id: str, keyring: Keyring) -> tuple[str, datetime] | None:
    """Return the secret of a member's open invitation and when it ends. None if there is none."""
    newest = Invitation.member == member_id, Invitation.ended_at.is_null()
    found = Invitation.get_or_none(*newest)
    if found is None or not found.is_open:
        return None
    return credentials.invitation(keyring.current, found.id), found.expires_at


def accept(invitation: str, password: str, email: str | None, keyring: Keyring) -> Member:
    """Set the password of an invited member, who is then active. Return the member.

    `email` only for a member without one. All sessions and JWTs of the member end. NotFound and
    InvitationEnded as in `find`; Invalid for the email or password; MemberExists;
    TooManyRequests if another thread of this process is hashing a password.
    """
    member: Member = find(invitation, keyring).member
    if errors := {**_faults_of_email(member, email), **passwords.faults(password)}:
        raise Invalid(errors)
    password_hash = passwords.hashed(password)
    with members.changing(member.tenant_id):
        # Again, because somebody else may have accepted it meanwhile, or changed the role.
        member = find(invitation, keyring).member
        members.end_invitations(member.id)
        try:
            now = clock.now()
            Member.update(
                email=email.lower() if member.email is None and email else Member.email,
                password_hash=password_hash,
                password_set_at=now,
                admin_since=now if member.role == Role.ADMIN else None,
                disabled_at=None,
            ).where(Member.id == member.id).execute()
        except IntegrityError:
            raise MemberExists from None
        sessions.end_all(member.id)
        accepted: Member = (
            Member.select(Member, Tenant).join(Tenant).where(Member.id == member.id).get()
        )
        return accepted


def forget_old() -> None:
    """Delete some invitations that ended long ago."""
    pruning.delete_some(Invitation.id, Invitation.expires_at < clock.now() - _KEPT)


def _invited(member: Member, keyring: Keyring) -> Member:
    members.end_invitations(member.id)
    now = clock.now()
    made = Invitation.create(
        id=ids.new(ids.INVITATION), member=member, created_at=now, expires_at=now + INVITATION_LIVES
    )
    member.invitation = credentials.invitation(keyring.current, made.id)
    if member.email is not None:  # else nobody in particular is invited
        feed.record(member.tenant_id, *facts.member_invited(member))
    return member


def _faults_of_email(member: Member, email: str | None) -> dict[str, list[str]]:
    if member.email is None:
        if email is None:
            return {"email": [FieldMessage("own_email", _OWN_EMAIL)]}
        return members.faults_of_email(email)
    if email is None or email.lower() == member.email:
        return {}
    return {"email": [FieldMessage("other_email", "This invitation is for another email address.")]}
