"""The audit log: who changed what, and from where. Written in the transaction of the change."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ticketing import clock, ids
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.models.audit_log import AuditLogEntry, AuditLogPeople
from ticketing.services.pagination import Page, PageRequest, paginate

_SHOWN_ONCE = frozenset({"key", "secret", "invitation_url"})
"""Fields with a new secret, in the response that creates it only."""

_LEFT_OUT = _SHOWN_ONCE | {
    "updated_at",
    "last_used_at",
    "held",
    "sold",
    "available",
    "obstacles",
    "warnings",
    "next_index",
    "unchecked_chains",
    "delivered",
    "image_url",
    "logo_url",
}
"""Fields that are not recorded: secrets, and values that others change too."""

_PERSONAL = ("holder", "email")
"""Fields with names and email addresses. They are stored beside the log, and can be erased."""


@dataclass(frozen=True)
class Actor:
    """Who makes a change, and how: a credential with its request, or the command line."""

    name: str
    action: str
    address: str | None = None
    request_id: str | None = None


def record(
    tenant_id: str,
    by: Actor,
    subject: str,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any],
    details: Mapping[str, Any] | None = None,
) -> None:
    """Record a change. `before` and `after` are all fields of the subject.

    Only fields that differ are stored. If none differs and there is no new secret, nothing is
    recorded. `before` None: the subject is new. `details` are always recorded, in `after`.
    """
    is_change = before is None or any(after.get(name) is not None for name in _SHOWN_ONCE)
    # That of an endpoint moves with each delivery. That of a ticket type is the organizer's choice.
    left_out = _LEFT_OUT | ({"position"} if ids.is_id(ids.WEBHOOK_ENDPOINT, subject) else set())
    after = {name: value for name, value in after.items() if name not in left_out}
    if before is not None:
        after = {name: value for name, value in after.items() if before.get(name) != value}
        before = {name: before[name] for name in after if name in before}
    if before is not None and not (after or details or is_change):
        return
    entry_id = ids.new("trl_")
    after = {**after, **(details or {})}
    AuditLogEntry.insert(
        id=entry_id,
        tenant=tenant_id,
        at=clock.now(),
        actor=by.name,
        address=by.address,
        request_id=by.request_id,
        action=by.action,
        subject=subject,
        before=None if before is None else json.dumps(_without_people(before)),
        after=json.dumps(_without_people(after)),
    ).execute()
    if any(name in after for name in _PERSONAL):
        AuditLogPeople.insert(
            entry=entry_id,
            subject=subject,
            before=None if before is None else json.dumps(_people(before)),
            after=json.dumps(_people(after)),
        ).execute()


def _people(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in _PERSONAL if name in fields}


def _without_people(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, **dict.fromkeys(_people(fields))}


@contextmanager
def changes(tenant_id: str) -> Iterator[None]:
    """Run a change and its audit log entry in one transaction.

    Changes of a tenant run one at a time, so no other change comes between `before` and `after`.
    """
    with write_transaction():
        one_at_a_time(f"changes of {tenant_id}")
        yield


def list_page(
    tenant_id: str, actor: str | None, subject: str | None, page: PageRequest
) -> Page[AuditLogEntry]:
    """Return a page of a tenant's audit log, the latest entry first."""
    query = AuditLogEntry.select().where(AuditLogEntry.tenant == tenant_id)
    if actor is not None:
        query = query.where(AuditLogEntry.actor == actor)
    if subject is not None:
        query = query.where(AuditLogEntry.subject == subject)
    scope = f"audit_log {tenant_id} {json.dumps([actor, subject])}"
    found = paginate(query, [AuditLogEntry.id], page, scope=scope, descending=True)
    _add_people(found.data)
    return found


def _add_people(entries: Sequence[AuditLogEntry]) -> None:
    """Put names and email addresses that are not erased back into entries."""
    by_id = {entry.id: entry for entry in entries}
    for people in AuditLogPeople.select().where(AuditLogPeople.entry.in_(list(by_id))):
        entry = by_id[people.entry_id]
        for side in ("before", "after"):
            if (known := getattr(people, side)) is not None:
                merged = {**json.loads(getattr(entry, side)), **json.loads(known)}
                setattr(entry, side, json.dumps(merged))
