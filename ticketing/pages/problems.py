"""Errors as pages, for people. Programs get problem+json (web/problems.py)."""

from typing import Any

from flask import Response

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
    ],
)
"""The first words of paths that programs ask for."""


def is_page(path: str) -> bool:
    """Return whether people ask for this path, so that errors there are pages."""
    return path.removeprefix("/").partition("/")[0] not in _FOR_PROGRAMS


def error_page(problem: dict[str, Any]) -> Response:
    """Return the page of an error."""
    # The origin is unknown: the error may be that the Host is wrong.
    response = Response(render.template("error.html", problem=problem), problem["status"])
    response.headers.extend(HEADERS)
    return response
