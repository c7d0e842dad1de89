"""The forms of pages: read what was sent, and show it again if it is refused."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from flask import Response, redirect, request
from marshmallow import ValidationError
from werkzeug import Response as AnyResponse

from schemas.base import BaseSchema
from ticketing.errors import Invalid, NotFound, TicketingError
from ticketing.pages.reasons import Sentence, at_field
from ticketing.web.problems import headers_of

_KEY = "idempotency_key"
CSRF_TOKEN = "csrf_token"
_PASSWORDS = frozenset({"password", "new_password"})
_HIDDEN = frozenset({_KEY, CSRF_TOKEN})
_SECRETS = frozenset({"seed_phrase", "private_key"})
"""Codes of what people paste by mistake, and must not be shown again."""


@dataclass(frozen=True)
class Form:
    """A form as it is shown.

    `key` is its hidden key: the same form is not carried out twice. `values` is what was filled
    in, `errors` a sentence for each wrong field, `refusal` why the form was not carried out.
    """

    key: str = field(default_factory=lambda: secrets.token_hex(16))
    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, Sentence] = field(default_factory=dict)
    refusal: TicketingError | None = None

    @property
    def first_error(self) -> str | None:
        """The first wrong field. It gets the focus, so that it is in view without JavaScript."""
        return next(iter(self.errors), None)


def refused(error: TicketingError) -> Form:
    """Return the form that was sent, to be shown again with what is wrong."""
    errors = error.extensions["errors"] if isinstance(error, Invalid) else {}
    sentences = {name: at_field(_first(messages)) for name, messages in errors.items()}
    hidden = {*_PASSWORDS, *(name for name, messages in errors.items() if _is_secret(messages))}
    values = {name: text for name, text in sent().items() if name not in hidden}
    return Form(values=values, errors=sentences, refusal=error)


def _is_secret(messages: Any) -> bool:
    """Return whether a field was refused because it has a secret. No page shows that again."""
    return getattr(_first(messages), "code", None) in _SECRETS


def _first(messages: Any) -> str:
    """Return one of the messages of a field. Those of a list are by place."""
    while not isinstance(messages, str):
        messages = next(iter(messages.values() if isinstance(messages, dict) else messages))
    return messages


def shown_again(page: str, error: TicketingError) -> Response:
    """Return a page that says why something was refused, with the status of the error."""
    return Response(page, error.status, headers_of(error))


def carried_out(act: Callable[[], str], page: Callable[[Form], str]) -> AnyResponse:
    """Do what a form asks for, and go to the path that `act` returns.

    If it is refused, show the page again with the form that was sent. NotFound.
    """
    return answered(lambda: redirect(act(), 303), page)


def answered(act: Callable[[], AnyResponse], page: Callable[[Form], str]) -> AnyResponse:
    """Do what a form asks for, and return what `act` answers.

    If it is refused, show the page again with the form that was sent. NotFound.
    """
    try:
        return act()
    except NotFound:
        raise
    except TicketingError as error:
        return shown_again(page(refused(error)), error)


def read(schema: type[BaseSchema], *, besides: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the checked fields of the form that was sent. Invalid.

    Fields whose names begin with one of `besides` are left out: somebody else reads them. An empty
    field was not filled in. Spaces around a value are removed, because people paste; those of a
    password belong to it.
    """
    request.get_data()  # keeps the body: `once` compares it
    try:
        filled = sent().items()
        loaded: dict[str, Any] = _made(schema).load(
            {name: text for name, text in filled if text and not name.startswith(besides)}
        )
    except ValidationError as error:
        raise Invalid(error.normalized_messages()) from None
    return loaded


@cache
def _made(schema: type[BaseSchema]) -> BaseSchema:
    """Return an instance of a schema. To make one takes as long as to read a form with it."""
    return schema()


def key() -> str:
    """Return the hidden key of the form that was sent. An empty text if it is missing."""
    return request.form.get(_KEY, "")


def sent() -> dict[str, str]:
    """Return the fields that people filled in, each with its last value.

    Browsers send each line break as two characters.
    """
    fields = ((name, texts[-1]) for name, texts in request.form.lists() if name not in _HIDDEN)
    return {
        name: text if name in _PASSWORDS else text.strip().replace("\r\n", "\n")
        for name, text in fields
    }
