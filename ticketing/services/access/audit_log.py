"""The trail of what was changed, by whom and from where. Written in the change's transaction."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ticketing import clock, ids
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.models.audit_log import AuditLogEntry
from ticketing.services.pagination import Page, PageRequest, paginate

_LEFT_OUT = frozenset(
    {"key", "updated_at", "last_used_at", "held", "sold", "available", "obstacles", "next_index"}
)
"""What is shown once is not kept, nor what follows from the rest or from what others do."""


@dataclass(frozen=True)
class Actor:
    """Whoever changes something, and how: a credential with its request, or the command line."""

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
) -> None:
    """Write down a change. `before` and `after` are all fields that its subject shows.

    Only those that differ are kept; if none does and no secret was made (`key`), nothing was
    changed. `before` None: it is new.
    """
    is_change = before is None or after.get("key") is not None
    after = {name: value for name, value in after.items() if name not in _LEFT_OUT}
    if before is not None:
        after = {name: value for name, value in after.items() if before.get(name) != value}
        before = {name: before[name] for name in after if name in before}
        if not (after or is_change):
            return
    AuditLogEntry.insert(
        id=ids.new("trl_"),
        tenant=tenant_id,
        at=clock.now(),
        actor=by.name,
        address=by.address,
        request_id=by.request_id,
        action=by.action,
        subject=subject,
        before=None if before is None else json.dumps(before),
        after=json.dumps(after),
    ).execute()


@contextmanager
def changes(tenant_id: str) -> Iterator[None]:
    """Run a change and the entry that tells of it in one transaction.

    The changes of a tenant are made one by one, so nothing happens between `before` and `after`.
    """
    with write_transaction():
        one_at_a_time(f"changes of {tenant_id}")
        yield


def list_page(
    tenant_id: str, actor: str | None, subject: str | None, page: PageRequest
) -> Page[AuditLogEntry]:
    """Return a tenant's trail, the latest first."""
    query = AuditLogEntry.select().where(AuditLogEntry.tenant == tenant_id)
    if actor is not None:
        query = query.where(AuditLogEntry.actor == actor)
    if subject is not None:
        query = query.where(AuditLogEntry.subject == subject)
    scope = f"audit_log {tenant_id} {json.dumps([actor, subject])}"
    return paginate(query, [AuditLogEntry.id], page, scope=scope, descending=True)
