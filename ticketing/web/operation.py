"""Facts about a view that its decorators collect for the OpenAPI document."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ticketing.errors import TicketingError


@dataclass(frozen=True)
class Operation:
    """The inputs and errors of a view, without those of its guard.

    `keeps_order_key`: its Idempotency-Key belongs to an order. `parameters` are further headers of
    the request, `response_headers` the names of headers by status. `uploads`: the media types of a
    body that is a file.
    """

    errors: tuple[type[TicketingError], ...] = ()
    has_arguments: bool = False
    has_body: bool = False
    is_idempotent: bool = False
    is_cached: bool = False
    keeps_order_key: bool = False
    parameters: tuple[Mapping[str, Any], ...] = ()
    uploads: tuple[str, ...] = ()
    response_headers: Mapping[int, Sequence[str]] = field(default_factory=dict)
    never_stored: tuple[str, ...] = ()
    shown_again: Callable[[dict[str, Any]], Mapping[str, Any]] | None = None


def of(view: Callable[..., Any]) -> Operation:
    """Return the facts about a view."""
    found: Operation = getattr(view, "operation", Operation())
    return found


def describe(view: Callable[..., Any], **facts: Any) -> None:
    """Add facts about a view. functools.wraps copies them to outer decorators."""
    view.operation = replace(of(view), **facts)  # type: ignore[attr-defined]
