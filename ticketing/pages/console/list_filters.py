"""The filters of lists: what a query string asks for. What is not understood shows all."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlencode

from flask import request

from ticketing.constants import DEFAULT_PAGE, MAX_SAFE_INTEGER
from ticketing.pages import typed_forms
from ticketing.services.pagination import Page, PageRequest
from ticketing.web.context import config

_MOST = 254
_CURSOR = "cursor"

Choice = TypeVar("Choice", bound=StrEnum)


def text(name: str) -> str | None:
    """Return what was typed into a filter. None if it is empty."""
    return request.args.get(name, "").replace("\0", "").strip()[:_MOST] or None


def amount(name: str) -> int | None:
    """Return a typed amount of 1 or more, in micro-units. None for everything else."""
    typed = typed_forms.micro_units(text(name) or "")
    return typed if isinstance(typed, int) and 0 < typed <= MAX_SAFE_INTEGER else None


def choice(name: str, choices: type[Choice]) -> Choice | None:
    """Return what was chosen. None for everything else."""
    known = {str(each): each for each in choices}
    return known.get(request.args.get(name, ""))


def one_of(name: str, choices: Sequence[str], otherwise: str) -> str:
    """Return what was chosen. `otherwise` for everything else."""
    asked = request.args.get(name, otherwise)
    return asked if asked in choices else otherwise


def page_request() -> PageRequest:
    """Return which page of a list was asked for."""
    return PageRequest(DEFAULT_PAGE, request.args.get(_CURSOR), config().keyring)


def next_page(found: Page[Any], chosen: Mapping[str, object]) -> str | None:
    """Return the path of the next page with the same filters. None on the last page."""
    if found.next_cursor is None:
        return None
    asked = {name: str(value) for name, value in chosen.items() if value is not None}
    return f"{request.path}?{urlencode({**asked, _CURSOR: found.next_cursor})}"
