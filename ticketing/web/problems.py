"""Turn errors into responses: problem+json (RFC 9457), or a page where people ask.

No other module does that for a request.
"""

import logging
import re
from typing import Any, Protocol

from flask import Flask, Response, current_app, jsonify, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from schemas.problems import ProblemSchema
from ticketing.db.connection import UNAVAILABLE, close_broken_connection
from ticketing.errors import (
    INTERNAL_ERROR_DETAIL,
    PROBLEM_CONTENT_TYPE,
    BodyTooLarge,
    DatabaseUnavailable,
    Invalid,
    NotFound,
    TicketingError,
    Unauthenticated,
    problem_body,
)
from ticketing.web.context import request_id

_DOMAIN_ERRORS: dict[int, type[TicketingError]] = {404: NotFound, 413: BodyTooLarge}

_SCHEMA = ProblemSchema()
_EXAMPLE = _SCHEMA.example()

log = logging.getLogger(__name__)


class Pages(Protocol):
    """The pages of errors."""

    def is_page(self, path: str) -> bool:
        """Return whether errors at this path are pages."""

    def error_page(self, problem: dict[str, Any]) -> Response:
        """Return the page of an error."""


def register(app: Flask, pages: Pages) -> None:
    """Register the handlers for all errors of the application."""
    app.extensions["error_pages"] = pages
    app.register_error_handler(TicketingError, of_ticketing_error)
    app.register_error_handler(HTTPException, of_http_exception)
    for error in UNAVAILABLE:
        app.register_error_handler(error, of_database_error)
    app.register_error_handler(Exception, of_unexpected_error)


def of_ticketing_error(error: TicketingError) -> Response:
    """Return the response to a domain error."""
    extensions = _SCHEMA.dump(error.extensions) if error.extensions else {}
    response = _problem(error.status, error.title, error.code, error.detail, **extensions)
    response.headers.update(headers_of(error))
    return response


def headers_of(error: TicketingError) -> dict[str, str]:
    """Return the headers of the response to an error (RFC 9110, 10.2.3 and 11.6.1)."""
    found = {}
    if isinstance(error, Unauthenticated):
        found["WWW-Authenticate"] = error.challenge
    if error.retry_after is not None:
        found["Retry-After"] = str(error.retry_after)
    return found


def of_http_exception(error: HTTPException) -> Response:
    """Return the response to werkzeug's errors: unknown path, wrong method, large body."""
    status = error.code or 500
    if status in _DOMAIN_ERRORS:
        return of_ticketing_error(_DOMAIN_ERRORS[status]())
    title = error.name
    code = re.sub(r"[^a-z]+", "_", title.lower()).strip("_")
    response = _problem(status, title, code, error.description or title)
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return response


def of_database_error(error: Exception) -> Response:
    """Return 503 if the database is unreachable, locked, full, read-only or disconnected."""
    log.error("database: %s", str(error).strip().splitlines()[0] if str(error) else error)
    close_broken_connection()
    return of_ticketing_error(DatabaseUnavailable())


def of_unexpected_error(error: Exception) -> Response:
    """Return 500 for an unexpected error. Only the log has the stack trace."""
    log.exception("request %s failed", request_id())
    return _problem(500, "Internal server error", "internal_error", INTERNAL_ERROR_DETAIL)


def example_of(error: type[TicketingError]) -> dict[str, Any]:
    """Return an example of an error response, for the documentation."""
    example = problem_body(
        status=error.status,
        title=error.title,
        code=error.code,
        detail=error.detail,
        request_id="req_06f3x5z8k2m1",
    )
    return {**example, "errors": _EXAMPLE["errors"]} if error is Invalid else example


def _problem(status: int, title: str, code: str, detail: str, **extensions: Any) -> Response:
    body = problem_body(
        status=status, title=title, code=code, detail=detail, request_id=request_id()
    )
    pages: Pages = current_app.extensions["error_pages"]
    if pages.is_page(request.path):
        return pages.error_page(body)
    response = jsonify(body | extensions)
    response.status_code = status
    response.content_type = PROBLEM_CONTENT_TYPE
    return response
