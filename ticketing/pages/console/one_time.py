"""Pages that show a secret once, as the answer to the form that made it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from flask import Response
from markupsafe import Markup

from ticketing.pages import forms
from ticketing.pages.console.layout import page
from ticketing.web.idempotency import once

Made = TypeVar("Made")


class Secret(NamedTuple):
    """A secret. `label` is translated where it is shown; `whose` was written by people."""

    label: str
    value: str
    whose: str = ""


class Answer(NamedTuple):
    """What the page says. Title and text are translated there. `back` is the path to go on to.

    `secrets` None: the same form was sent before, and has shown them.
    """

    title: str
    text: str
    back: str
    secrets: Sequence[Secret] | None
    qr: Markup | None = None


def made_once(make: Callable[[], Made]) -> Made | None:
    """Make something for this form. None if the same form has made it before."""
    made: list[Made] = []

    def act() -> str:
        made.append(make())
        return ""

    once(forms.key(), act)
    return made[0] if made else None


def answer(section: str, shown: Answer) -> Response:
    """Return the page that shows secrets."""
    return Response(page("one_time.html", section, shown=shown))
