"""Error responses to requests that never reach the application, as problem+json (RFC 9457)."""

import json
from email.utils import formatdate
from http import HTTPStatus

from gunicorn.http.errors import (
    ExpectationFailed,
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    LimitRequestHeaders,
    LimitRequestLine,
    NoMoreData,
    ParseException,
    UnsupportedTransferCoding,
)

from ticketing import ids
from ticketing.errors import INTERNAL_ERROR_DETAIL, PROBLEM_CONTENT_TYPE, problem_body


class TooSlow(Exception):
    """The request did not arrive completely in time."""


class Overloaded(Exception):
    """No thread was free for the request in time. It was not executed."""


class TooManyUploads(Overloaded):
    """Too many uploads are being received. The body of this one was not read."""


RETRY_SECONDS = 5
"""Retry-After of a 503."""

_STATUSES: tuple[tuple[type[Exception], HTTPStatus, str], ...] = (
    (TooSlow, HTTPStatus.REQUEST_TIMEOUT, "The request did not arrive completely in time."),
    (
        TooManyUploads,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Others are uploading files. Retry the request.",
    ),
    (
        Overloaded,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The service is overloaded. The request was not executed. Retry it.",
    ),
    (LimitRequestLine, HTTPStatus.REQUEST_URI_TOO_LONG, "The request line is too long."),
    (
        LimitRequestHeaders,
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        "The request has too many headers, or its headers are too long.",
    ),
    (ExpectationFailed, HTTPStatus.EXPECTATION_FAILED, "`Expect` must be 100-continue."),
    (
        UnsupportedTransferCoding,
        HTTPStatus.NOT_IMPLEMENTED,
        "The transfer coding must be chunked.",
    ),
    (InvalidResponseHeader, HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL_ERROR_DETAIL),
    (InvalidResponseHeaderName, HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL_ERROR_DETAIL),
    (ParseException, HTTPStatus.BAD_REQUEST, "The request is not valid HTTP."),
    (NoMoreData, HTTPStatus.BAD_REQUEST, "The request is not valid HTTP."),
    (Exception, HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL_ERROR_DETAIL),
)
_CODES = {
    HTTPStatus.REQUEST_URI_TOO_LONG: "uri_too_long",
    HTTPStatus.INTERNAL_SERVER_ERROR: "internal_error",
    HTTPStatus.SERVICE_UNAVAILABLE: "overloaded",
}


def status_of(error: Exception) -> HTTPStatus:
    """Return the status for an error of gunicorn's parser or of this module."""
    return next(status for kind, status, _ in _STATUSES if isinstance(error, kind))


def answer(error: Exception) -> bytes:
    """Return a complete HTTP response for an error. It closes the connection."""
    status = status_of(error)
    code = _CODES.get(status, status.phrase.lower().replace(" ", "_"))
    request_id = ids.new("req_")
    problem = problem_body(
        status=status,
        title=status.phrase.capitalize(),
        code=code,
        detail=next(detail for kind, _, detail in _STATUSES if isinstance(error, kind)),
        request_id=request_id,
    )
    body = json.dumps(problem, separators=(",", ":"))
    retry = (f"Retry-After: {RETRY_SECONDS}",) if isinstance(error, Overloaded) else ()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Date: {formatdate(usegmt=True)}",
        "Connection: close",
        f"Content-Type: {PROBLEM_CONTENT_TYPE}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        f"X-Request-ID: {request_id}",
        *retry,
    )
    return ("\r\n".join(head) + "\r\n\r\n" + body).encode()
