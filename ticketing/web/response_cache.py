"""Cache public responses in this process while they are fresh: of the API, and event pages.

A cached response is fresh while its version is current (services/catalog_version.py). web/front.py
sends it without a call to Flask.

The cache passes over each request whose query has a voucher's code: what was made for it is for
this client only, and no other one may get it. Browsers do not store it either.

Clients can cache responses of the API too, and send the ETag to ask for a newer one (RFC 9110,
8.8.3 and 13.1.2). A page has no ETag: each visitor gets a form key of their own in it.
"""

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl

from flask import Response, current_app, request

from ticketing import locales
from ticketing.limits import CallClass
from ticketing.services import catalog_version
from ticketing.services.catalog_version import Version, Versioned
from ticketing.web import conditional, cors, rate_limit
from ticketing.web.ready_response import Ready

MAX_BYTES = 8 * 1024 * 1024
"""The size limit in one process. The least recently used response is dropped first."""

MAX_RESPONSES = 2000
"""A URL can be longer than its response, and anybody can invent new URLs."""

STATE_ROW_BYTES = 160
"""The state of a version has one row for each sold-out ticket type."""

FORM_KEY = secrets.token_hex(16)
"""Where a cached page has this text, each response has a new random text of the same length."""

CODE = "voucher"
"""The parameter of a query that has a voucher's code."""

OF_CODE = (("Cache-Control", "no-store"), ("X-Robots-Tag", "noindex"))
"""The headers of a response to a request with a code."""

_API_PREFIX = "/v1/"

View = Callable[..., Response]
Headers = Sequence[tuple[str, str]]
Url = tuple[str, str]


@dataclass(frozen=True)
class _Cached:
    """A response. `etag` is None for a page. `host` is the Host that a page was asked from."""

    version: Version
    body: bytes
    headers: Headers
    etag: str | None
    host: str | None
    route: str
    tenant: str


def cached(
    render: Callable[[Any], bytes], content_type: str
) -> Callable[[Callable[..., Versioned[Any]]], View]:
    """Make the body of the view's result with `render`, and cache the response."""
    headers = [
        ("Content-Type", content_type),
        ("Cache-Control", "public, max-age=0, must-revalidate"),
    ]

    def decorate(view: Callable[..., Versioned[Any]]) -> View:
        @wraps(view)
        def wrapper(*args: Any, **path: str) -> Response:
            found = view(*args, **path)
            body = render(found.value)
            etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
            return _keep_and_respond(found.version, body, headers, path["tenant"], etag=etag)

        return wrapper

    return decorate


def page(version: Version, body: str, headers: Headers, tenant: str) -> Response:
    """Cache a page, and return it. Of its URL's query, it may depend on the language only."""
    headers = [("Content-Type", "text/html; charset=utf-8"), *headers]
    host = request.environ.get("HTTP_HOST", "")
    return _keep_and_respond(version, body.encode(), headers, tenant, host=host)


def _keep_and_respond(
    version: Version,
    body: bytes,
    headers: Headers,
    tenant: str,
    *,
    etag: str | None = None,
    host: str | None = None,
) -> Response:
    route = request.url_rule.rule if request.url_rule else ""
    is_kept = not has_code(request.environ)
    answer = _Cached(
        version, body, headers if is_kept else _private(headers), etag, host, route, tenant
    )
    if is_kept:
        _cache(current_app.extensions).keep(_url(request.environ), answer)
    status, sent_headers, sent = _respond(answer, request.environ)
    return Response(sent, status, sent_headers)


def has_code(environ: dict[str, Any]) -> bool:
    """Return whether the query of a request has a voucher's code, however its name is encoded."""
    query = environ["QUERY_STRING"]
    return bool(query) and any(name == CODE for name, _ in parse_qsl(query, keep_blank_values=True))


def _private(headers: Headers) -> Headers:
    return [*(each for each in headers if each[0] != "Cache-Control"), *OF_CODE]


def find(environ: dict[str, Any], extensions: dict[str, Any]) -> Ready | None:
    """Return a fresh cached response. None if Flask must handle the request.

    peewee's DatabaseError or InterfaceError if the database is unavailable.
    """
    if has_code(environ):
        return None
    answer = _cache(extensions).get(_url(environ))
    if answer is None or answer.host not in (None, environ.get("HTTP_HOST")):
        return None
    limiter, config = extensions["limiter"], extensions["ticketing"]
    allowance = rate_limit.spend(environ, limiter, config, CallClass.PUBLIC)
    if allowance is not None and not allowance.granted:
        return None
    if not catalog_version.is_fresh(answer.version):
        return None
    status, headers, body = _respond(answer, environ)
    # Flask adds these to an API's response, and a page is for no scripts of other sites.
    headers += cors.HEADERS if answer.host is None else []
    return Ready(status, headers, body, answer.route, answer.tenant)


def _respond(answer: _Cached, environ: dict[str, Any]) -> tuple[str, list[tuple[str, str]], bytes]:
    if answer.etag is None:
        own = answer.body.replace(FORM_KEY.encode(), secrets.token_hex(16).encode())
        return "200 OK", _with_length(answer), own
    etag = ("ETag", answer.etag)
    asked = environ.get("HTTP_IF_NONE_MATCH")
    if asked and conditional.has_tag(asked, answer.etag.strip('"')):
        kept = [header for header in answer.headers if header[0] != "Content-Type"]
        return "304 NOT MODIFIED", [etag, *kept], b""
    return "200 OK", [etag, *_with_length(answer)], answer.body


def _with_length(answer: _Cached) -> list[tuple[str, str]]:
    return [*answer.headers, ("Content-Length", str(len(answer.body)))]


def _url(environ: dict[str, Any]) -> Url:
    path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
    return path, query if path.startswith(_API_PREFIX) else locales.chosen(query) or ""


class ResponseCache:
    """The cached responses by URL. Threads may share it."""

    def __init__(self) -> None:
        self._by_url: OrderedDict[Url, _Cached] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, url: Url) -> _Cached | None:
        """Return the response for a URL, fresh or not."""
        with self._lock:
            if url in self._by_url:
                self._by_url.move_to_end(url)
            return self._by_url.get(url)

    def keep(self, url: Url, answer: _Cached) -> None:
        """Keep a response. The least recently used ones make room for it."""
        with self._lock:
            self._forget(url)
            self._by_url[url] = answer
            self._bytes += _size(url, answer)
            while self._bytes > MAX_BYTES or len(self._by_url) > MAX_RESPONSES:
                self._forget(next(iter(self._by_url)))

    def _forget(self, url: Url) -> None:
        forgotten = self._by_url.pop(url, None)
        if forgotten is not None:
            self._bytes -= _size(url, forgotten)


def _size(url: Url, answer: _Cached) -> int:
    version = len(answer.version.state) * STATE_ROW_BYTES
    return len(answer.body) + len(url[0]) + len(url[1]) + version


def _cache(extensions: dict[str, Any]) -> ResponseCache:
    kept: ResponseCache = extensions["response_cache"]
    return kept
