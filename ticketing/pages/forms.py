"""The forms of pages: read what was sent, and show it again if it is refused."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flask import Response, request
from marshmallow import ValidationError

from schemas.base import BaseSchema
from ticketing.errors import Invalid, TicketingError
from ticketing.pages.reasons import at_field

_KEY = "idempotency_key"


def _new_key() -> str:
    return secrets.token_hex(16)


@dataclass(frozen=True)
class Form:
    """A form as it is shown.

    `key` is its hidden key: the same form is not carried out twice. `values` is what was filled
    in, `errors` a sentence for each wrong field, `refusal` why the form was not carried out.
    """

    key: str = field(default_factory=_new_key)
    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    refusal: TicketingError | None = None


def refused(error: TicketingError) -> Form:
    """Return the form that was sent, to be shown again with what is wrong."""
    errors = error.extensions["errors"] if isinstance(error, Invalid) else {}
    sentences = {name: at_field(str(messages[0])) for name, messages in errors.items()}
    return Form(values=_sent(), errors=sentences, refusal=error)


def shown_again(page: str, error: TicketingError) -> Response:
    """Return a page that says why something was refused, with the status of the error."""
    response = Response(page, error.status)
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def read(schema: type[BaseSchema]) -> dict[str, Any]:
    """Return the checked fields of the form that was sent. Invalid.

    An empty field was not filled in. Spaces around a value are removed, because people paste.
    """
    request.get_data()  # keeps the body: `once` compares it
    try:
        loaded: dict[str, Any] = schema().load(
            {name: text for name, text in _sent().items() if text}
        )
    except ValidationError as error:
        raise Invalid(error.normalized_messages()) from None
    return loaded


def key() -> str:
    """Return the hidden key of the form that was sent. An empty text if it is missing."""
    return request.form.get(_KEY, "")


def _sent() -> dict[str, str]:
    return {name: text.strip() for name, text in request.form.items() if name != _KEY}
