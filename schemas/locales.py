"""The fields for languages of pages and mails."""

from typing import Any

from schemas.base import OneOf, one_of
from ticketing.locales import Locale


def a_locale(description: str, **options: Any) -> OneOf:
    """Return a field for the code of a language."""
    return one_of(Locale, description, example="de", **options)


def an_order_locale() -> OneOf:
    """Return the field for the language of a new order."""
    text = "The language of its pages and mails. Null: the event's."
    return a_locale(text, load_default=None, allow_none=True)
