"""Errors as pages, for people. Programs get problem+json (web/problems.py)."""

from typing import Any

from flask import Response

from ticketing.locales import N_
from ticketing.pages import render
from ticketing.pages.blueprint import HEADERS

_FOR_PROGRAMS = frozenset(
    [
        "v1",
        "mcp",
        "static",
        "openapi.json",
        "llms.txt",
        "robots.txt",
        "healthz",
        "readyz",
        "metrics",
        ".well-known",
    ],
)
"""The first words of paths that programs ask for."""


_SENTENCES = {
    429: (
        N_("Too many requests"),
        N_("Too many people of your network are here. Wait a minute, then try again."),
    ),
    500: (
        N_("Something went wrong"),
        N_("The service has written it down. Try again in a minute."),
    ),
    503: (N_("We cannot answer at the moment"), N_("Nothing is lost. Try again in a minute.")),
}
"""What people read instead of a title and a detail that are for programmers."""

_OF_CODE = {
    "network_blocked": (
        N_("Your network is blocked"),
        N_(
            "Someone is attacking this site from it. Try another connection, or come back tomorrow."
        ),
    )
}
"""The same, by the code of an error."""

_NOT_FOUND = (
    N_("Not found"),
    N_("This resource does not exist."),
    N_("This event does not exist."),
    N_("This tenant does not exist."),
    N_("There is nothing to pay."),
    N_("This link has ended. The organizer sent a new one to the email address of the order."),
)
"""What services say of a page that is not there. The guards of pages have further sentences."""


def is_page(path: str) -> bool:
    """Return whether people ask for this path, so that errors there are pages."""
    return path.removeprefix("/").partition("/")[0] not in _FOR_PROGRAMS


def error_page(problem: dict[str, Any]) -> Response:
    """Return the page of an error."""
    said = _OF_CODE.get(problem["code"]) or _SENTENCES.get(problem["status"])
    title, detail = said or (problem["title"], problem["detail"])
    # The origin is unknown: the error may be that the Host is wrong.
    shown = render.template("error.html", problem=problem, title=title, detail=detail)
    response = Response(shown, problem["status"])
    response.headers.extend(HEADERS)
    return response
