"""Conditional GET requests (RFC 9110, 13.1): an ETag, and 304 if the client has the same body."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from flask import Response, request
from werkzeug.http import parse_etags

from ticketing.web.operation import describe

View = TypeVar("View", bound=Callable[..., Any])


def may_have_changed(view: View) -> View:
    """Document that a view answers conditional requests."""
    describe(view, is_cached=True)
    return view


def conditional(view: Callable[..., Response]) -> Callable[..., Response]:
    """Add an ETag of the body to a public view's response. Send 304 if the client has this body."""

    @wraps(view)
    def wrapper(*args: Any, **path: str) -> Response:
        response = view(*args, **path)
        response.headers["Cache-Control"] = "public, max-age=0, must-revalidate"
        response.add_etag()
        response.make_conditional(request)
        return response

    return may_have_changed(wrapper)


def weak(tag: str) -> str:
    """Return a tag as a weak ETag (RFC 9110, 8.8.3)."""
    return f'W/"{tag}"'


def has_tag(if_none_match: str, tag: str) -> bool:
    """Return whether the header If-None-Match names a tag, weak or not."""
    is_usual = if_none_match in (f'"{tag}"', weak(tag))
    return is_usual or parse_etags(if_none_match).contains_weak(tag)


def of_tag(tag: str | None, body: Callable[[], bytes]) -> Response:
    """Return a JSON response with a weak ETag. The body is made only if the client lacks it.

    `tag` None: there is no ETag, and the body is always sent.
    """
    response = Response(content_type="application/json")
    if tag is not None:
        response.set_etag(tag, weak=True)
        if request.if_none_match.contains_weak(tag):
            response.status_code = 304
            return response
    response.set_data(body())
    return response
