"""Forms whose fields are those of a request of the API, so that one schema checks both.

Forms have text only. It becomes what JSON would have; what cannot, stays text, and the schema
says what is wrong with it.
"""

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from flask import request
from marshmallow import ValidationError, fields

from schemas.base import BaseSchema, Bool, Instant, Int
from ticketing import formats
from ticketing.constants import MICRO_UNIT_DECIMALS
from ticketing.errors import Invalid
from ticketing.models.base import BaseModel
from ticketing.pages import forms

CHECKED = "on"
_INTEGER = re.compile(r"[0-9]{1,19}", re.ASCII)
_AMOUNT = re.compile(rf"([0-9]{{1,12}})(?:[.,]([0-9]{{1,{MICRO_UNIT_DECIMALS}}}))?", re.ASCII)


def read(
    schema: type[BaseSchema], *, zone: str = "UTC", amounts: Collection[str] = ()
) -> dict[str, Any]:
    """Return the checked fields of the form that was sent. Invalid.

    Local times are of an IANA zone. `amounts` are fields in micro-units, in which people write
    whole tokens, as 12.50. An empty field is null, or missing where null is not allowed.
    """
    request.get_data()  # keeps the body: `once` compares it
    known = schema().fields
    values: dict[str, Any] = {}
    for name, text in forms.sent().items():
        field = known.get(name)
        if isinstance(field, fields.List):
            values[name] = chosen(name) or (None if field.allow_none else [])
        elif isinstance(field, Bool):
            # A hidden field of the same name is before the box, so that an empty box is sent.
            values[name] = text == CHECKED
        elif text or field is None or isinstance(field, fields.String):
            values[name] = _value(field, text, zone, is_amount=name in amounts)
        elif field.allow_none:
            values[name] = None
    try:
        loaded: dict[str, Any] = schema().load(values)
    except ValidationError as error:
        raise Invalid(error.normalized_messages()) from None
    return loaded


def chosen(name: str) -> list[str]:
    """Return what was chosen in a field of several values."""
    return [each for each in request.form.getlist(name) if each]


def without_same_times(row: BaseModel, sent: Mapping[str, Any], zone: str) -> dict[str, Any]:
    """Return the sent fields of a row without times that look the same in a form.

    A form cannot show parts of a second, nor which of two equal hours of a night in autumn. What it
    does not show must not change with the next edit of another field.
    """
    return {
        name: value
        for name, value in sent.items()
        if not _looks_same(getattr(row, name), value, zone)
    }


def _looks_same(before: Any, after: Any, zone: str) -> bool:
    if not isinstance(before, datetime) or not isinstance(after, datetime):
        return False
    return formats.typed(before, zone) == formats.typed(after, zone)


def _value(field: fields.Field[Any] | None, text: str, zone: str, *, is_amount: bool) -> Any:
    if is_amount:
        return micro_units(text)
    if isinstance(field, Int) and _INTEGER.fullmatch(text):
        return int(text)
    if isinstance(field, Instant):
        return _with_offset(text, zone)
    return text or (None if field is not None and field.allow_none else "")


def micro_units(text: str) -> int | str:
    """Return the amount of a typed decimal number, in micro-units. Other text stays as it is."""
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return text
    return int(match[1] + (match[2] or "").ljust(MICRO_UNIT_DECIMALS, "0"))


def _with_offset(text: str, zone: str) -> str:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).isoformat()
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return text
