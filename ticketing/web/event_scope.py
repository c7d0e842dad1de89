"""What members may use who are limited to events. A surface that says nothing refuses them.

Example: Ada may edit event A. She opens A, an order of A, and the list of orders, which shows those
of A. An event B, an order of B and one that does not exist get the same answer. So do the wallet,
the figures of all events, and a copy of A, because it would be another event.
"""

from dataclasses import dataclass

from flask import request

from ticketing.errors import LimitedToEvents
from ticketing.services.access.callers import Caller
from ticketing.services.orders import admissions, intents


@dataclass(frozen=True)
class EventScope:
    """The views of a surface that members may use who are limited to events.

    `by_path`: those with an event, an order or a ticket in the path, if it is one of theirs, except
    for the views in `never`. `filtered`: names of views that leave out what is of other events, so
    they need none in the path.
    """

    by_path: bool = True
    never: frozenset[str] = frozenset()
    filtered: frozenset[str] = frozenset()
    every_view: bool = False


NO_EVENT = EventScope(by_path=False)
ONE_EVENT = EventScope()
EVERY_VIEW = EventScope(every_view=True)
"""Each view is about the member alone, or leaves out what is of other events."""


def filtered(*views: str, never: frozenset[str] = frozenset()) -> EventScope:
    """Return the scope with these views, which filter, and with those that name their event."""
    return EventScope(never=never, filtered=frozenset(views))


def check(caller: Caller, scope: EventScope) -> None:
    """Check that this request is about an event of the caller. LimitedToEvents."""
    if caller.event_ids is None or scope.every_view:
        return
    view = (request.endpoint or "").rpartition(".")[2]
    if view in scope.filtered:
        return
    if not scope.by_path or view in scope.never:
        raise LimitedToEvents
    check_event(caller, _event_of_path(caller.tenant_id))


def check_event(caller: Caller, event_id: str | None) -> None:
    """Check that a caller may work on an event. LimitedToEvents. None: it is about no event."""
    if caller.event_ids is not None and event_id not in caller.event_ids:
        raise LimitedToEvents


def _event_of_path(tenant_id: str) -> str | None:
    path = request.view_args or {}
    if "event_id" in path:
        return str(path["event_id"])
    if "intent_id" in path:
        return intents.event_of(tenant_id, path["intent_id"])
    if "admission_id" in path:
        return admissions.event_of(tenant_id, path["admission_id"])
    return None
