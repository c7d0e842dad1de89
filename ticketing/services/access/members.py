"""Members: people of the organizer, who sign in with a password.

Changes of roles and of access run one at a time for each tenant. So of two administrators who
disable each other, one stays.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from peewee import IntegrityError

from ticketing import clock, ids
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.errors import FieldMessage, Invalid, LastAdmin, MemberExists, NotFound
from ticketing.models.door import DoorDevice
from ticketing.models.events import Event
from ticketing.models.members import Invitation, Member
from ticketing.models.tenants import Tenant
from ticketing.roles import SCANNING, MemberStatus, Role
from ticketing.services.access import passwords, sessions
from ticketing.services.pagination import Page, PageRequest, paginate

MAX_EMAIL = 254

_EMAIL = re.compile(r"[^@\s\0]+@[^@\s\0.]+(?:\.[^@\s\0.]+)+")


def add(tenant_id: str, email: str, role: Role, password: str) -> Member:
    """Add a member, who may then sign in. Invalid for the email or password; MemberExists."""
    if errors := {**faults_of_email(email), **passwords.faults(password)}:
        raise Invalid(errors)
    now = clock.now()
    return insert(
        tenant_id,
        email,
        role,
        password_hash=passwords.hashed(password),
        password_set_at=now,
        admin_since=now if role == Role.ADMIN else None,
        created_at=now,
    )


def insert(tenant_id: str, email: str | None, role: Role, **columns: object) -> Member:
    """Insert the row of a new member, whose email and events were checked. MemberExists."""
    try:
        return Member.create(
            id=ids.new(ids.MEMBER),
            tenant=tenant_id,
            email=None if email is None else email.lower(),
            role=role,
            **columns,
        )
    except IntegrityError:
        raise MemberExists from None


def faults_of_email(email: str) -> dict[str, list[str]]:
    """Return what is wrong with an email address, by field. Empty if it may be used."""
    if _EMAIL.fullmatch(email) and len(email) <= MAX_EMAIL:
        return {}
    return {"email": [FieldMessage("email", "Must be an email address.")]}


def check_events(tenant_id: str, role: Role, event_ids: Collection[str] | None) -> None:
    """Check to which events a member with this role shall be limited. None: to none. Invalid."""
    if event_ids is None:
        return
    message = None
    if role == Role.ADMIN:
        message = FieldMessage("admin_events", "An administrator cannot be limited to events.")
    elif _known_events(tenant_id, event_ids) != set(event_ids):
        message = FieldMessage("unknown_event", "One of these events does not exist.")
    if message is not None:
        raise Invalid({"event_ids": [message]})


def list_all(tenant_id: str) -> Sequence[Member]:
    """Return all members, disabled ones included, the oldest first."""
    return list(Member.select().where(Member.tenant == tenant_id).order_by(Member.id))


def emails_of_admins(tenant_id: str) -> Sequence[str]:
    """Return the email addresses of the administrators who can sign in, the oldest first."""
    found = Member.select(Member.email).where(
        Member.tenant == tenant_id,
        Member.role == Role.ADMIN,
        Member.disabled_at.is_null(),
        Member.email.is_null(False),
        Member.password_hash.is_null(False),
    )
    return [each.email for each in found.order_by(Member.id) if each.email is not None]


def list_page(tenant_id: str, page: PageRequest) -> Page[Member]:
    """Return a page of a tenant's members, disabled ones included, the oldest first."""
    query = Member.select().where(Member.tenant == tenant_id)
    return paginate(query, [Member.id], page, scope=f"members {tenant_id}")


def get(tenant_id: str, member_id: str) -> Member:
    """Return one member of a tenant. NotFound."""
    return _existing(Member.get_or_none(Member.tenant == tenant_id, Member.id == member_id))


def find(tenant_id: str, reference: str) -> Member:
    """Return the member of a tenant with this email address or id. NotFound."""
    is_named = (Member.email == reference.lower()) | (Member.id == reference)
    return _existing(Member.get_or_none(Member.tenant == tenant_id, is_named))


def is_named(member_id: str, tenant_id: str | None, email: str) -> bool:
    """Return whether a member belongs to this tenant, and has this email address."""
    is_theirs = (Member.tenant == tenant_id) & (Member.email == email.lower())
    found: bool = Member.select().where(Member.id == member_id, is_theirs).exists()
    return found


def slug_of(member_id: str) -> str | None:
    """Return the slug of a member's tenant. None if there is no such member."""
    found = Member.select(Member, Tenant).join(Tenant).where(Member.id == member_id).first()
    return None if found is None else str(found.tenant.slug)


def sign_in(tenant_id: str | None, email: str, password: str) -> Member | None:
    """Return the member with this password, or None. Every failure takes the same time.

    TooManyRequests if another thread of this process is verifying a password.
    """
    member = (
        Member.select(Member, Tenant)
        .join(Tenant)
        .where(
            Member.tenant == (tenant_id or ""),
            Member.email == email.lower(),
            Member.disabled_at.is_null(),
        )
        .first()
    )
    matches = passwords.verify(password, None if member is None else member.password_hash)
    return member if matches else None


def change(tenant_id: str, member_id: str, fields: Mapping[str, Any]) -> Member:
    """Give a member another `role`, and limit it to other `event_ids`, at once. None: to none.

    Without `event_ids` they stay, but an administrator works on all. The scanners that the member
    opened end where the member may no longer scan. NotFound; Invalid for the events; LastAdmin.
    """
    role = fields["role"]
    with changing(tenant_id):
        member = get(tenant_id, member_id)
        kept = None if role == Role.ADMIN else member.event_ids
        event_ids = fields.get("event_ids", kept)
        check_events(tenant_id, role, event_ids)
        if role != Role.ADMIN:
            _refuse_last_admin(member)
        columns: dict[str, Any] = {"event_ids": event_ids}
        if role != member.role:
            columns |= {"role": role, "admin_since": clock.now() if role == Role.ADMIN else None}
        Member.update(columns).where(Member.id == member_id).execute()
        if not role.holds(*SCANNING):
            _end_scanners(member_id)
        elif event_ids is not None:
            _end_scanners(member_id, except_of=event_ids)
        return get(tenant_id, member_id)


def set_password(member: Member, password_hash: str) -> None:
    """Store a new password of a member. Call it in `changing`.

    Its time is new: for changes of the wallet, somebody has become administrator with it just now.
    """
    now = clock.now()
    member.password_hash, member.password_set_at = password_hash, now
    columns = {"password_hash": password_hash, "password_set_at": now}
    Member.update(columns).where(Member.id == member.id).execute()


def is_longer_admin(member: Member, than: timedelta) -> bool:
    """Return whether a member has been an administrator with the same password for that long.

    A password whose time was not recorded is as old as the member.
    """
    if member.admin_since is None:
        return False
    since: datetime = max(member.admin_since, member.password_set_at or member.created_at)
    return since <= clock.now() - than


def disable(tenant_id: str, member_id: str, *, even_last_admin: bool = False) -> Member:
    """End a member's access, sessions, scanners, JWTs and invitation at once.

    A repeat changes nothing.

    NotFound; LastAdmin, unless `even_last_admin`.
    """
    with changing(tenant_id):
        member = get(tenant_id, member_id)
        if not even_last_admin:
            _refuse_last_admin(member)
        now = clock.now()
        is_enabled = (Member.id == member_id) & Member.disabled_at.is_null()
        Member.update(disabled_at=now).where(is_enabled).execute()
        end_invitations(member_id)
        sessions.end_all(member_id)
        _end_scanners(member_id)
        return get(tenant_id, member_id)


def end_invitations(member_id: str) -> None:
    """End the open invitation of a member, if there is one."""
    is_open = (Invitation.member == member_id) & Invitation.ended_at.is_null()
    Invitation.update(ended_at=clock.now()).where(is_open).execute()


@contextmanager
def changing(tenant_id: str) -> Iterator[None]:
    """Run a change of a tenant's members in one transaction, one at a time."""
    with write_transaction():
        one_at_a_time(f"members of {tenant_id}")
        yield


def _known_events(tenant_id: str, event_ids: Collection[str]) -> set[str]:
    found = Event.select(Event.id).where(Event.tenant == tenant_id, Event.id.in_(list(event_ids)))
    return {each.id for each in found}


def _end_scanners(member_id: str, *, except_of: Collection[str] = ()) -> None:
    """Revoke the door devices that a member has paired, except those of some events."""
    theirs = (DoorDevice.member_id == member_id) & DoorDevice.revoked_at.is_null()
    DoorDevice.update(revoked_at=clock.now(), pairing_digest=None).where(
        theirs, DoorDevice.event.not_in(list(except_of))
    ).execute()


def _refuse_last_admin(member: Member) -> None:
    """LastAdmin if no other member could sign in as an administrator."""
    if member.role != Role.ADMIN or member.status is not MemberStatus.ACTIVE:
        return
    others = Member.select().where(
        Member.tenant == member.tenant_id,
        Member.id != member.id,
        Member.role == Role.ADMIN,
        Member.disabled_at.is_null(),
        Member.password_hash.is_null(False),
    )
    if not others.exists():
        raise LastAdmin


def _existing(member: Member | None) -> Member:
    if member is None:
        raise NotFound("This member does not exist.")
    return member
