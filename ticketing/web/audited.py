"""Views of the admin surface that change something leave a trail, in the same transaction."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import Response, request

from ticketing.errors import NotFound
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor
from ticketing.web.context import address, caller, request_id

View = Callable[..., Response]


def audited(before: View | None) -> Callable[[View], View]:
    """Write down what a view changes; its answer shows how things are after.

    `before` is the view that shows how they were, None where something is made.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapper(*args: Any, **kwargs: Any) -> Response:
            tenant_id = caller().tenant_id
            with audit_log.changes(tenant_id):
                old = _shown_by(before)
                response = view(*args, **kwargs)
                new = response.get_json()
                subject = new.get("id", "wallet")
                audit_log.record(tenant_id, actor(), subject, before=old, after=new)
            return response

        return wrapper

    return decorate


def actor() -> Actor:
    """Return who changes something by the present request, and by which operation."""
    # What the OpenAPI document calls it.
    operation = str(request.endpoint).replace(".", "_")
    return Actor(caller().credential_id, operation, address(), request_id())


def _shown_by(view: View | None) -> dict[str, Any] | None:
    try:
        shown: dict[str, Any] | None = view and view(**(request.view_args or {})).get_json()
    except NotFound:
        return None
    return shown
