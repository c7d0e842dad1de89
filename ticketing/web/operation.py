"""What the decorators of a view say about it, for the OpenAPI document."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ticketing.errors import TicketingError


@dataclass(frozen=True)
class Operation:
    """What a view takes and answers besides its guard's part."""

    errors: tuple[type[TicketingError], ...] = ()
    has_arguments: bool = False
    has_body: bool = False
    is_idempotent: bool = False
    is_cached: bool = False


def of(view: Callable[..., Any]) -> Operation:
    """Return what has been said about a view."""
    found: Operation = getattr(view, "operation", Operation())
    return found


def describe(view: Callable[..., Any], **facts: Any) -> None:
    """Add to what has been said about a view. functools.wraps hands it on to decorators above."""
    view.operation = replace(of(view), **facts)  # type: ignore[attr-defined]
