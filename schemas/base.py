"""What all schemas share: strict fields, pages, and an example for the documentation."""

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar

from marshmallow import Schema, fields, validate

from ticketing.constants import DEFAULT_PAGE, MAX_PAGE

SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"

_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


class BaseSchema(Schema):
    """A resource or a request; unknown fields of a request are refused."""

    EXAMPLE: ClassVar[dict[str, Any]]


class Text(fields.String):
    """A string that every database and every client can carry: no NUL, no lone surrogate."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, *args, **kwargs)
        if not isinstance(value, str) or "\0" in text or not _is_unicode(text):
            raise self.make_error("invalid")
        return text


class Int(fields.Integer):
    """A JSON integer: not a float, not a boolean, not a string."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        if type(value) is not int:
            raise self.make_error("invalid")
        return value


class QueryInt(fields.Integer):
    """An integer in a query string: a few ASCII digits."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        if not re.fullmatch(r"-?[0-9]{1,19}", str(value)):
            raise self.make_error("invalid")
        return int(value)


class Bool(fields.Boolean):
    """A JSON true or false, and nothing that looks like one."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        if type(value) is not bool:
            raise self.make_error("invalid", input=value)
        return value


class Instant(fields.DateTime):
    """A moment as RFC 3339 writes it, with an offset; comes back in UTC, written with Z."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or not _RFC3339.fullmatch(value):
            raise self.make_error("invalid", input=value, obj_type="RFC 3339 date-time")
        try:
            instant = datetime.fromisoformat(value.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            instant = None
        if instant is None or instant < _EARLIEST:
            raise self.make_error("invalid", input=value, obj_type="RFC 3339 date-time")
        return instant

    def _serialize(self, value: Any, *args: Any, **kwargs: Any) -> str | None:
        return None if value is None else value.isoformat().replace("+00:00", "Z")


class PageQuery(BaseSchema):
    """Which page of a list."""

    limit = QueryInt(
        load_default=DEFAULT_PAGE,
        validate=validate.Range(1, MAX_PAGE),
        metadata={"description": f"How many at most, 1 to {MAX_PAGE}."},
    )
    cursor = Text(
        load_default=None,
        allow_none=False,
        validate=validate.Length(1, 1000),
        metadata={"description": "`next_cursor` of the page before."},
    )


def page_of(schema: type[BaseSchema]) -> type[BaseSchema]:
    """Return the schema of one page of a list of `schema`."""
    name = schema.__name__.removesuffix("Schema") + "PageSchema"
    return type(
        name,
        (BaseSchema,),
        {
            "data": fields.List(fields.Nested(schema), required=True),
            "next_cursor": fields.String(required=True, allow_none=True),
            "EXAMPLE": {"data": [schema.EXAMPLE], "next_cursor": None},
            "__doc__": f"One page of a list of {schema.__name__}.",
        },
    )


class OneOf(fields.Enum[Any]):
    """A value of a string enum; what is written may come from a column, as plain text."""

    def _serialize(self, value: Any, *args: Any, **kwargs: Any) -> str | None:
        return None if value is None else str(value)


def one_of(enum: type[StrEnum], **kwargs: Any) -> OneOf:
    """Return a field that takes and gives the values of a string enum."""
    return OneOf(enum, by_value=fields.String, **kwargs)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
