"""Write changes through the admin surface to the audit log, in the same transaction."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial, wraps
from typing import Any, TypeVar

from flask import request

from schemas.base import BaseSchema
from ticketing import clock
from ticketing.errors import NotFound
from ticketing.models.events import Event
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor
from ticketing.web.context import address, caller, request_id

View = Callable[..., Any]
T = TypeVar("T")


def audited(
    schema: type[BaseSchema],
    before: Callable[..., Any] | None = None,
    details: Sequence[str] = (),
    each: str | None = None,
) -> Callable[[View], View]:
    """Record in the audit log what a view changes, in the fields of `schema`.

    `before` is the service function that reads the subject. Its arguments are the tenant's id and
    the other parameters of the path. None: the view creates something. `details` are fields of the
    request that are recorded too, if they were sent. `each`: the view returns several subjects,
    in the member of this name. A view that returns None has deleted its subject.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapper(*args: Any, **path: str) -> Any:
            of_subject = {name: value for name, value in path.items() if name != "tenant"}
            sent: dict[str, Any] = {}

            def change() -> Any:
                changed = view(*args, **path)
                sent.update((name, args[0][name]) for name in details if name in args[0])
                return changed

            read = before and partial(before, caller().tenant_id, **of_subject)
            return recorded(schema, change, read, details=sent, each=each)

        return wrapper

    return decorate


def recorded(
    schema: type[BaseSchema],
    change: Callable[[], Any],
    before: Callable[[], Any] | None = None,
    *,
    action: str | None = None,
    details: Mapping[str, Any] | None = None,
    each: str | None = None,
) -> Any:
    """Make a change and record it, in one transaction. Return what `change` returns.

    `action` is the operation of the API that makes the same change. None: this request is it. The
    other arguments are those of `audited`; `details` are read after the change.
    """
    shown, tenant_id = schema(), caller().tenant_id
    with audit_log.changes(tenant_id):
        old: dict[str, Any] | None = None
        if before is not None:
            with suppress(NotFound):
                old = shown.dump(before())
        changed = change()
        sent = {
            name: clock.rfc3339(value) if isinstance(value, datetime) else value
            for name, value in (details or {}).items()
        }
        for one in [changed] if each is None else changed[each]:
            new = dict.fromkeys(old or {}) if one is None else shown.dump(one)
            # A series has a name only. Of wallets, a tenant has one.
            subject = new.get("id") or (old or {}).get("id") or new.get("slug") or "wallet"
            audit_log.record(tenant_id, actor(action), subject, before=old, after=new, details=sent)
    return changed


def erased(erase: Callable[[str, str], None], subject: str, *, action: str | None = None) -> None:
    """Erase the personal data of `subject`, and record that, without the old values."""
    tenant_id = caller().tenant_id
    with audit_log.changes(tenant_id):
        erase(tenant_id, subject)
        audit_log.record(tenant_id, actor(action), subject, before=None, after={"erased": True})


def noted(
    subject: str,
    change: Callable[[], T],
    after: Callable[[T], dict[str, Any]],
    *,
    action: str | None = None,
) -> T:
    """Make a change and record what `after` says of it: of what is not in the subject's fields."""
    tenant_id = caller().tenant_id
    with audit_log.changes(tenant_id):
        changed = change()
        audit_log.record(tenant_id, actor(action), subject, before=None, after=after(changed))
    return changed


def copies(made: Sequence[Event]) -> dict[str, Any]:
    """Return what the audit log says of an event that was copied."""
    return {"copies": [each.id for each in made]}


def actor(action: str | None = None) -> Actor:
    """Return the caller and the operation of this request, for the audit log.

    `action` is the operation of the API that does what this page does.
    """
    return actor_named(caller().credential_id, action)


def actor_named(name: str, action: str | None = None) -> Actor:
    """Return who makes this request, and its operation, on a surface without a caller."""
    # The operationId in the OpenAPI document.
    operation = action or str(request.endpoint).replace(".", "_")
    return Actor(name, operation, address(), request_id())
