"""Shared parts of all schemas: strict fields, pages, and examples for the documentation."""

import copy
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar, Self

from marshmallow import Schema, fields, missing, validate

from schemas.checks import ALWAYS, CHOICE, CURSOR, HTTP_URL, Length, Range
from ticketing import clock
from ticketing.constants import DEFAULT_PAGE, EPOCH, MAX_PAGE, Publication
from ticketing.errors import FieldMessage

# Published, like the patterns of checks.py: the same in Python and in JavaScript.
NO_NUL = r"^[^\u0000]*$"
RFC3339 = (
    r"^(19[7-9][0-9]|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-5][0-9]"
    r"(\.[0-9]{1,9})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)

EXAMPLE_ID = "01hq3v5m8r2t6w9y1a4c7e0g3j"
EXAMPLE_ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
EXAMPLE_PAYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
EXAMPLE_TOKEN = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
EXAMPLE_TX_HASH = "0x" + "ab" * 32

LOCAL_TIME = r"^(19[7-9][0-9]|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-5][0-9])?$"

_RFC3339 = re.compile(RFC3339)
_LOCAL_TIME = re.compile(LOCAL_TIME)


class BaseSchema(Schema):
    """A resource or a request. Unknown fields in a request are errors."""

    error_messages = {"unknown": FieldMessage("unknown", "Unknown field.")}

    MAY_BE_ABSENT: ClassVar[bool] = False
    """Whether a missing body counts as an empty object."""

    def example(self) -> dict[str, Any]:
        """Return an example, built from the fields' metadata."""
        return {
            field.data_key or name: _example(name, field) for name, field in self.fields.items()
        }

    def get_attribute(self, obj: Any, attr: str, default: Any) -> Any:
        """Return a value to serialize. Of a model or a dataclass, at less cost than marshmallow."""
        if "." in attr or hasattr(obj, "__getitem__"):
            return super().get_attribute(obj, attr, default)
        return getattr(obj, attr, default)

    def __deepcopy__(self, memo: object) -> Self:
        """Return the same schema: it never changes.

        flask-smorest copies the documentation of each view several times.
        """
        return self


def _example(name: str, field: fields.Field[Any]) -> Any:
    """Return the example in a field's metadata, or a default for its type."""
    example: Any = field.metadata.get("example")
    if "example" in field.metadata:
        pass
    elif isinstance(field, fields.Nested):
        assert isinstance(field.schema, BaseSchema)
        example = field.schema.example()
    elif isinstance(field, fields.List):
        example = [_example(name, field.inner)]
    elif field.allow_none:
        example = None
    elif isinstance(field, OneOf):
        example = str(next(iter(field.choices)))
    elif isinstance(field, Instant):
        example = "2026-11-21T09:00:00Z"
    elif isinstance(field, fields.Boolean):
        example = True
    elif field.load_default is not missing and field.load_default is not None:
        example = field.load_default
    else:
        raise LookupError(f"the field {name} needs an example in its metadata")
    return example


Fields = dict[str, fields.Field[Any]]
"""Fields that several schemas of one resource share, by name, for `class Meta: include`."""


def shown(shared: Fields) -> Fields:
    """Return shared fields for a response: all are required."""
    return {name: _changed(field, required=True) for name, field in shared.items()}


def optional(shared: Fields) -> Fields:
    """Return shared fields for a change: all are optional."""
    return {name: _changed(field, required=False) for name, field in shared.items()}


def _changed(field: fields.Field[Any], *, required: bool) -> fields.Field[Any]:
    changed = copy.copy(field)
    changed.required, changed.load_default = required, missing
    return changed


def an_id(prefix: str, **options: Any) -> fields.String:
    """Return the field for an id in a response."""
    example = f"{prefix}{EXAMPLE_ID}"
    return fields.String(required=True, metadata={"example": example}, **options)


def documented(example: Any = missing, description: str | None = None) -> dict[str, Any]:
    """Return a field's metadata."""
    found = {} if example is missing else {"example": example}
    return found if description is None else {**found, "description": description}


class _Documented(fields.Field[Any]):
    """A field whose first arguments are an example and a description."""

    def __init__(
        self,
        example: Any = missing,
        description: str | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        found = {**documented(example, description), **(metadata or {})}
        super().__init__(metadata=found, **options)


class Text(_Documented, fields.String):
    """A string that all databases and clients support: no NUL, no lone surrogate."""

    pattern = NO_NUL
    """The published pattern, unless a validator has another one."""
    default_error_messages = {**ALWAYS, "invalid": FieldMessage("text", "Not a valid string.")}

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, *args, **kwargs)
        if not isinstance(value, str) or "\0" in text or not _is_unicode(text):
            raise self.make_error("invalid")
        return text


class Items(_Documented, fields.List[Any]):
    """A list in a request. Its length is checked first, because each item costs time."""

    default_error_messages = {**ALWAYS, "invalid": FieldMessage("list", "Not a valid list.")}

    def __init__(
        self, inner: fields.Field[Any], description: str | None = None, **options: Any
    ) -> None:
        super().__init__(description=description, cls_or_instance=inner, **options)

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(value, list):
            for check in self.validators:
                if isinstance(check, validate.Length):
                    check(value)
        return super()._deserialize(value, *args, **kwargs)


def an_email(
    example: str, *, required: bool = False, description: str = "An email address."
) -> Text:
    """Return the field for an email address in a request. It may be null if it is not required."""
    return Text(
        required=required,
        allow_none=not required,
        validate=[
            Length(3, 254),
            validate.Email(error=FieldMessage("email", "Not a valid email address.")),
        ],
        metadata={
            **documented(example, description),
            "pattern": "^[^\\u0000]+@[^\\u0000]+$",
        },
    )


def an_http_url(example: str) -> Text:
    """Return the field for the URL of a page in a request. It may be null, which is the default."""
    return Text(
        load_default=None,
        allow_none=True,
        validate=[
            Length(1, 2048),
            validate.URL(
                schemes={"http", "https"},
                require_tld=False,
                error=FieldMessage("url", "Not a valid URL."),
            ),
            HTTP_URL,
        ],
        metadata=documented(example, "An http or https URL."),
    )


_INTEGER = {**ALWAYS, "invalid": FieldMessage("integer", "Not a valid integer.")}


class Int(_Documented, fields.Integer):
    """A JSON integer: not a float, not a boolean, not a string."""

    default_error_messages = _INTEGER

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        if type(value) is not int:
            raise self.make_error("invalid")
        return value


class QueryInt(_Documented, fields.Integer):
    """An integer in a query string: ASCII digits only, and few of them."""

    default_error_messages = _INTEGER

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        if not re.fullmatch(r"-?[0-9]{1,19}", str(value)):
            raise self.make_error("invalid")
        return int(value)


class Bool(_Documented, fields.Boolean):
    """A JSON true or false, no other value."""

    default_error_messages = {**ALWAYS, "invalid": FieldMessage("boolean", "Not a valid boolean.")}

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        if type(value) is not bool:
            raise self.make_error("invalid")
        return value


class Instant(_Documented, fields.DateTime):
    """A time in RFC 3339 format with an offset. Responses have UTC with `Z`."""

    pattern = RFC3339
    default_error_messages = {
        **ALWAYS,
        "invalid": FieldMessage("time", "Not a valid RFC 3339 date-time."),
        "range": FieldMessage("time_range", "Must be in the years 1970 to 9999 in UTC."),
    }

    def __init__(self, description: str | None = None, **options: Any) -> None:
        super().__init__(description=description, **options)

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if not isinstance(value, str) or not _RFC3339.fullmatch(value):
                raise ValueError
            instant = datetime.fromisoformat(value.upper())
        except ValueError:
            raise self.make_error("invalid") from None
        try:
            instant = instant.astimezone(UTC)
        except OverflowError:
            raise self.make_error("range") from None
        if instant < EPOCH:
            raise self.make_error("range")
        return instant

    def _serialize(self, value: Any, *args: Any, **kwargs: Any) -> str | None:
        return None if value is None else clock.rfc3339(value)


class LocalTime(Text):
    """A time as clocks show it somewhere, without an offset."""

    pattern = LOCAL_TIME
    default_error_messages = {
        **ALWAYS,
        "invalid": FieldMessage("local_time", "Must be a local time, such as 2026-12-24T20:00."),
    }

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if not isinstance(value, str) or not _LOCAL_TIME.fullmatch(value):
                raise ValueError
            return datetime.fromisoformat(value)
        except ValueError:
            raise self.make_error("invalid") from None

    def _serialize(self, value: Any, *args: Any, **kwargs: Any) -> str | None:
        return None if value is None else str(value.isoformat())


class JsonObject(fields.Dict):
    """A JSON object that the database stores as text."""

    def _serialize(self, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        found: dict[str, Any] | None = None if value is None else json.loads(value)
        return found


class PageQuery(BaseSchema):
    """Which page of a list to return."""

    limit = QueryInt(
        load_default=DEFAULT_PAGE,
        validate=Range(1, MAX_PAGE),
        metadata={"description": f"The maximum number of items, 1 to {MAX_PAGE}."},
    )
    cursor = Text(
        load_default=None,
        allow_none=False,
        validate=[Length(1, 1000), CURSOR],
        metadata={"description": "`next_cursor` of the previous page of the same list."},
    )


def page_of(schema: type[BaseSchema]) -> type[BaseSchema]:
    """Return the schema of a page of `schema` items."""
    name = schema.__name__.removesuffix("Schema") + "PageSchema"
    return type(
        name,
        (BaseSchema,),
        {
            "data": fields.List(fields.Nested(schema), required=True),
            "next_cursor": fields.String(required=True, allow_none=True),
            "__doc__": f"One page of a list of {schema.__name__}.",
        },
    )


class OneOf(_Documented, fields.Enum[Any]):
    """A value of a string enum. On output, it also accepts plain text from a database column."""

    default_error_messages = {**ALWAYS, "unknown": CHOICE}

    def __init__(self, enum: type[StrEnum], description: str | None = None, **options: Any) -> None:
        super().__init__(description=description, enum=enum, by_value=fields.String, **options)

    @property
    def choices(self) -> list[Any]:
        """The accepted values: those of the field's validator, or else all of the enum."""
        narrowed = [each for each in self.validators if isinstance(each, validate.OneOf)]
        return list(narrowed[0].choices) if narrowed else list(self.enum.__members__.values())

    def _serialize(self, value: Any, *args: Any, **kwargs: Any) -> str | None:
        return None if value is None else str(value)


class _Shown(_Documented):
    """A field of a response. It can be null if its example is, or with `nullable`."""

    def __init__(
        self,
        example: Any = missing,
        description: str | None = None,
        *,
        nullable: bool = False,
        required: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(
            example=example,
            description=description,
            required=required,
            allow_none=nullable or example is None,
            **options,
        )


class String(_Shown, fields.String):
    """A string in a response."""


class Number(_Shown, fields.Integer):
    """A whole number in a response."""


class YesNo(_Shown, fields.Boolean):
    """A boolean in a response."""


class Moment(_Shown, Instant):
    """A time in a response."""

    def __init__(self, description: str | None = None, **options: Any) -> None:
        super().__init__(description=description, **options)


class Choice(_Shown, OneOf):
    """A value of a string enum in a response."""

    def __init__(self, enum: type[StrEnum], description: str | None = None, **options: Any) -> None:
        super().__init__(description=description, enum=enum, **options)


class ListOf(_Shown, fields.List[Any]):
    """A list in a response, of objects or of values."""

    def __init__(
        self,
        items: type[BaseSchema] | fields.Field[Any],
        description: str | None = None,
        **options: Any,
    ) -> None:
        inner = fields.Nested(items) if isinstance(items, type) else items
        super().__init__(description=description, cls_or_instance=inner, **options)


class Part(_Shown, fields.Nested):
    """An object inside a response."""

    def __init__(
        self, schema: type[BaseSchema], description: str | None = None, **options: Any
    ) -> None:
        super().__init__(description=description, nested=schema, **options)


def one_of(enum: type[StrEnum], description: str | None = None, **options: Any) -> OneOf:
    """Return a field for the values of a string enum."""
    return OneOf(enum, description, **options)


def first_status() -> OneOf:
    """Return the field for the status of a new event or ticket type."""
    first = [Publication.DRAFT, Publication.PUBLISHED]
    return one_of(
        Publication,
        load_default=Publication.DRAFT,
        validate=validate.OneOf(first, error=CHOICE),
    )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
