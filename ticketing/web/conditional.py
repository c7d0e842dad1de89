"""Conditional GET requests (RFC 9110, 13.1): an ETag, and 304 if the client has the same body."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import Response, request

from ticketing.web.operation import describe


def conditional(view: Callable[..., Response]) -> Callable[..., Response]:
    """Add an ETag of the body to a public view's response. Send 304 if the client has this body."""

    @wraps(view)
    def wrapper(*args: Any, **path: str) -> Response:
        response = view(*args, **path)
        response.headers["Cache-Control"] = "public, max-age=0, must-revalidate"
        response.add_etag()
        response.make_conditional(request)
        return response

    describe(wrapper, is_cached=True)
    return wrapper
