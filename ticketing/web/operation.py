"""Facts about a view that its decorators collect for the OpenAPI document."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ticketing.errors import TicketingError


@dataclass(frozen=True)
class Operation:
    """The inputs and errors of a view, without those of its guard."""

    errors: tuple[type[TicketingError], ...] = ()
    has_arguments: bool = False
    has_body: bool = False
    is_idempotent: bool = False
    is_cached: bool = False
    never_stored: tuple[str, ...] = ()
    shown_again: Callable[[dict[str, Any]], Mapping[str, Any]] | None = None


def of(view: Callable[..., Any]) -> Operation:
    """Return the facts about a view."""
    found: Operation = getattr(view, "operation", Operation())
    return found


def describe(view: Callable[..., Any], **facts: Any) -> None:
    """Add facts about a view. functools.wraps copies them to outer decorators."""
    view.operation = replace(of(view), **facts)  # type: ignore[attr-defined]
