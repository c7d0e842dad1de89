"""The one place where what went wrong becomes an answer: problem+json (RFC 9457)."""

import logging
import re
from typing import Any

from flask import Flask, Response, jsonify
from flask_smorest import Api
from marshmallow import Schema
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from schemas.problems import ProblemSchema
from ticketing.db.connection import UNAVAILABLE, close_broken_connection
from ticketing.errors import (
    DatabaseUnavailable,
    Invalid,
    NotFound,
    PayloadTooLarge,
    TicketingError,
    Unauthenticated,
)
from ticketing.web.context import request_id

CONTENT_TYPE = "application/problem+json"
_BETTER_KNOWN_AS: dict[int, type[TicketingError]] = {404: NotFound, 413: PayloadTooLarge}

_SCHEMA = ProblemSchema()

log = logging.getLogger(__name__)


class ProblemApi(Api):
    """flask-smorest's registry, with errors as problem+json."""

    ERROR_SCHEMA: type[Schema] = ProblemSchema  # type: ignore[assignment]

    def handle_http_exception(self, error: HTTPException) -> Response:
        """Answer what werkzeug raises: unknown paths, wrong methods, bodies too large."""
        return of_http_exception(error)


def register(app: Flask) -> None:
    """Answer every error of the application as a problem."""
    app.register_error_handler(TicketingError, of_ticketing_error)
    for error in UNAVAILABLE:
        app.register_error_handler(error, of_database_error)
    app.register_error_handler(Exception, of_surprise)


def of_ticketing_error(error: TicketingError) -> Response:
    """Answer a refusal of the domain."""
    extensions = _SCHEMA.dump(error.extensions) if error.extensions else {}
    response = _problem(error.status, error.title, error.code, error.detail, **extensions)
    if isinstance(error, Unauthenticated):
        response.headers["WWW-Authenticate"] = 'Bearer realm="ticketing"'
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def of_http_exception(error: HTTPException) -> Response:
    """Answer an error of HTTP itself, keeping the headers that belong to it."""
    status = error.code or 500
    if status in _BETTER_KNOWN_AS:
        return of_ticketing_error(_BETTER_KNOWN_AS[status]())
    title = error.name
    code = re.sub(r"[^a-z]+", "_", title.lower()).strip("_")
    response = _problem(status, title, code, error.description or title)
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return response


def of_database_error(error: Exception) -> Response:
    """Answer a database that is away, locked, full, read-only or gone in the middle."""
    log.error("database: %s", str(error).strip().splitlines()[0] if str(error) else error)
    close_broken_connection()
    return of_ticketing_error(DatabaseUnavailable())


def of_surprise(error: Exception) -> Response:
    """Answer an unexpected error: the trace goes to the log, nothing of it to the client."""
    if isinstance(error, HTTPException):
        return of_http_exception(error)
    log.exception("request %s failed", request_id())
    return _problem(500, "Internal server error", "internal_error", "Something went wrong here.")


def example_of(error: type[TicketingError]) -> dict[str, Any]:
    """Return what an error looks like, for the documentation."""
    example = _body(error.status, error.title, error.code, error.detail, "req_06f3x5z8k2m1")
    return {**example, "errors": ProblemSchema.example()["errors"]} if error is Invalid else example


def _problem(status: int, title: str, code: str, detail: str, **extensions: Any) -> Response:
    body = _body(status, title, code, detail, request_id()) | extensions
    response = jsonify(body)
    response.status_code = status
    response.content_type = CONTENT_TYPE
    return response


def _body(status: int, title: str, code: str, detail: str, request: str) -> dict[str, Any]:
    return {
        "type": f"urn:ticketing:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
        "request_id": request,
    }
