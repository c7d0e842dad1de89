"""Times in forms: in an event's time zone, to the second."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ticketing import formats
from ticketing.models.base import BaseModel


def without_same_times(row: BaseModel, fields: Mapping[str, Any], zone: str) -> dict[str, Any]:
    """Return the sent fields of a row without times that look the same in a form.

    A form cannot show parts of a second, nor which of two equal hours of a night in autumn. What it
    does not show must not change with the next edit of another field.
    """
    return {
        name: value
        for name, value in fields.items()
        if not _looks_same(getattr(row, name), value, zone)
    }


def _looks_same(before: Any, after: Any, zone: str) -> bool:
    if not isinstance(before, datetime) or not isinstance(after, datetime):
        return False
    return formats.typed(before, zone) == formats.typed(after, zone)
