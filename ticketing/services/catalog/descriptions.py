"""Descriptions of events and series become HTML and plain text once, when they are saved.

The HTML is stored behind a digest of its Markdown and of the rules. Where that does not fit,
because the rules have changed, it is converted when it is read.
"""

from __future__ import annotations

import hashlib

from markupsafe import Markup

from ticketing import markdown
from ticketing.errors import FieldMessage, Invalid
from ticketing.models.events import Event
from ticketing.models.series import Series

RULES = 1
"""Increase it when a text becomes other HTML, or other plain text."""

_TOO_COMPLEX = FieldMessage(
    "too_complex", "Has too many lines, lists and signs of Markdown. Make it simpler."
)


def columns(description: str) -> dict[str, str]:
    """Return what is stored beside a description. Invalid if it takes too long to convert."""
    try:
        found = markdown.convert(description)
    except markdown.TooComplex:
        raise Invalid({"description": [_TOO_COMPLEX]}) from None
    return {
        "description_html": f"{_digest(description)}\n{found.html}",
        "description_plain": found.plain,
    }


def html(of: Event | Series) -> Markup:
    """Return the description of an event or a series as HTML."""
    stored = _stored(of)
    return markdown.html(of.description) if stored is None else Markup(stored)


def plain(of: Event | Series) -> str:
    """Return it as text for calendars and search engines."""
    if _stored(of) is None:
        return markdown.plain(of.description)
    return str(of.description_plain)


def _stored(of: Event | Series) -> str | None:
    """Return the stored HTML. None if it was made from another text than the present one."""
    digest, _, found = (of.description_html or "").partition("\n")
    return found if digest == _digest(of.description) else None


def _digest(description: str) -> str:
    return hashlib.sha256(f"{RULES} {description}".encode()).hexdigest()[:32]
