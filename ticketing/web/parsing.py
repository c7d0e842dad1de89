"""Parse JSON bodies and query strings strictly. Errors are domain errors."""

from collections.abc import Iterator
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from flask import Request, json
from marshmallow import Schema, ValidationError
from webargs.flaskparser import FlaskParser
from webargs.multidictproxy import MultiDictProxy
from werkzeug.datastructures import MultiDict

from ticketing import nesting
from ticketing.constants import MAX_NAME_SHOWN, MAX_UNKNOWN_NAMED
from ticketing.errors import FieldMessage, Invalid, MalformedJson, UnsupportedMediaType

MAX_MEMBERS = 100
"""Of one object. No request needs so many, and each unknown one costs time and is named."""


class StrictParser(FlaskParser):
    """webargs' parser, with stricter rules.

    UnsupportedMediaType for a body that is not declared as JSON. MalformedJson for a body that is
    not JSON in UTF-8 (RFC 8259), repeats a member or has more than MAX_MEMBERS in one object.
    Invalid for invalid and unknown fields.
    """

    DEFAULT_UNKNOWN_BY_LOCATION = {"json": None, "query": None}

    def load_json(self, req: Request, schema: Schema) -> Any:
        """Parse the body."""
        if getattr(schema, "MAY_BE_ABSENT", False) and not req.get_data():
            return {}
        return json_of(req)

    def load_querystring(self, req: Request, schema: Schema) -> Any:
        """Parse the query. Invalid for a repeated parameter."""
        # Bytes that are not UTF-8 become lone surrogates, which every field rejects.
        text = req.query_string.decode(errors="surrogateescape")
        given = MultiDict(parse_qsl(text, keep_blank_values=True, errors="surrogateescape"))
        repeated = [name for name, values in given.lists() if len(values) > 1]
        if repeated:
            names = [name[:MAX_NAME_SHOWN] for name in repeated[:MAX_UNKNOWN_NAMED]]
            raise Invalid({name: ["Must not be repeated."] for name in names})
        return MultiDictProxy(given, schema)

    def handle_error(
        self,
        error: ValidationError,
        req: Request,
        schema: Schema,
        *,
        error_status_code: int | None,
        error_headers: Any,
    ) -> NoReturn:
        """Raise Invalid with the messages of every invalid field."""
        (messages,) = error.normalized_messages().values()
        raise invalid(messages)


def json_of(req: Request) -> Any:
    """Return the JSON in a body. UnsupportedMediaType, MalformedJson."""
    if not req.is_json:
        raise UnsupportedMediaType
    if req.headers.get("Content-Encoding", "identity").lower() != "identity":
        # A few bytes of gzip can unpack to gigabytes (RFC 9110, 15.5.16).
        raise UnsupportedMediaType("The body must not be compressed.")
    try:
        body = req.get_data()
        if nesting.is_too_deep(body):
            raise MalformedJson
        return json.loads(
            body.decode(), object_pairs_hook=_members, parse_constant=_reject_constant
        )
    except ValueError:
        raise MalformedJson from None


def invalid(messages: dict[Any, Any]) -> Invalid:
    """Return the error with marshmallow's messages of every invalid field.

    It names the first MAX_UNKNOWN_NAMED unknown fields, each by its first MAX_NAME_SHOWN
    characters: the response must not be as large as the body.
    """
    faults = dict(_flat(messages))
    unknown = {path for path, message in faults.items() if any(map(_is_unknown, message))}
    named = set(sorted(unknown)[:MAX_UNKNOWN_NAMED])
    return Invalid(
        {
            path[:MAX_NAME_SHOWN] if path in unknown else path: [str(each) for each in message]
            for path, message in faults.items()
            if path in named or path not in unknown
        }
    )


def _is_unknown(message: str) -> bool:
    return isinstance(message, FieldMessage) and message.code == "unknown"


def _flat(messages: dict[Any, Any], path: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the leaves of marshmallow's tree of messages. Nested fields have dotted names."""
    for name, message in messages.items():
        field = path if name == "_schema" and path else f"{path}.{name}" if path else str(name)
        if isinstance(message, dict):
            yield from _flat(message, field)
        else:
            yield field, message


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_MEMBERS:
        raise ValueError("too many members")
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is repeated")
    return members


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
