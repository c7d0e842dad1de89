"""What is answered to a request that never gets to the application, as problem+json (RFC 9457)."""

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


class TooSlow(Exception):
    """A request that did not arrive whole in time."""


class Overloaded(Exception):
    """A request that no thread took in time. It was not carried out."""


RETRY_SECONDS = 5
"""What Retry-After says after a 503."""

_STATUSES: tuple[tuple[type[Exception], HTTPStatus, str], ...] = (
    (TooSlow, HTTPStatus.REQUEST_TIMEOUT, "The request did not arrive whole in time."),
    (
        Overloaded,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The service is overloaded. The request was not carried out.",
    ),
    (LimitRequestLine, HTTPStatus.REQUEST_URI_TOO_LONG, "The request line is too long."),
    (
        LimitRequestHeaders,
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        "The request has too many headers, or too long ones.",
    ),
    (ExpectationFailed, HTTPStatus.EXPECTATION_FAILED, "Of `Expect`, 100-continue is known alone."),
    (UnsupportedTransferCoding, HTTPStatus.NOT_IMPLEMENTED, "The only transfer coding is chunked."),
    (InvalidResponseHeader, HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong here."),
    (InvalidResponseHeaderName, HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong here."),
    (ParseException, HTTPStatus.BAD_REQUEST, "This is not a well-formed HTTP request."),
    (NoMoreData, HTTPStatus.BAD_REQUEST, "This is not a well-formed HTTP request."),
    (Exception, HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong here."),
)
_CODES = {
    HTTPStatus.REQUEST_URI_TOO_LONG: "uri_too_long",
    HTTPStatus.INTERNAL_SERVER_ERROR: "internal_error",
    HTTPStatus.SERVICE_UNAVAILABLE: "overloaded",
}


def status_of(error: Exception) -> HTTPStatus:
    """Return the status for an error of gunicorn's parser, or of ours."""
    return next(status for kind, status, _ in _STATUSES if isinstance(error, kind))


def answer(error: Exception) -> bytes:
    """Return a complete response for an error. It closes the connection."""
    status = status_of(error)
    code = _CODES.get(status, status.phrase.lower().replace(" ", "_"))
    request_id = ids.new("req_")
    body = json.dumps(
        {
            "type": f"urn:ticketing:problem:{code}",
            "title": status.phrase.capitalize(),
            "status": status,
            "detail": next(detail for kind, _, detail in _STATUSES if isinstance(error, kind)),
            "code": code,
            "request_id": request_id,
        },
        separators=(",", ":"),
    )
    retry = (f"Retry-After: {RETRY_SECONDS}",) if isinstance(error, Overloaded) else ()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Date: {formatdate(usegmt=True)}",
        "Connection: close",
        "Content-Type: application/problem+json",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        f"X-Request-ID: {request_id}",
        *retry,
    )
    return ("\r\n".join(head) + "\r\n\r\n" + body).encode()
