"""Cache responses of the public surface in this process while they are fresh.

A cached response is fresh while its version is current (services/catalog_version.py). `Front`
sends it without a call to Flask. Clients can cache responses too, and send the ETag to ask for a
newer one (RFC 9110, 8.8.3 and 13.1.2).
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from threading import Lock
from typing import Any

from flask import Flask, Response, current_app, jsonify, request
from marshmallow import Schema
from peewee import DatabaseError, InterfaceError
from werkzeug.http import parse_etags

from ticketing.constants import CallClass
from ticketing.services import catalog_version
from ticketing.services.catalog_version import Version, Versioned
from ticketing.web import cors, rate_limit, request_log

MAX_BYTES = 8 * 1024 * 1024
"""The size limit in one process. The least recently used response is dropped first."""

MAX_RESPONSES = 2000
"""A URL can be longer than its response, and anybody can invent new URLs."""

STATE_ROW_BYTES = 160
"""The state of a version has one row for each sold-out ticket type."""

View = Callable[..., Response]
Url = tuple[str, str]


@dataclass(frozen=True)
class _Cached:
    version: Version
    body: bytes
    etag: str
    route: str
    tenant: str


def cached(schema: Schema) -> Callable[[Callable[..., Versioned[Any]]], View]:
    """Serialize the view's result with `schema`, and cache the response."""

    def decorate(view: Callable[..., Versioned[Any]]) -> View:
        @wraps(view)
        def wrapper(*args: Any, **path: str) -> Response:
            found = view(*args, **path)
            body = jsonify(schema.dump(found.value)).get_data()
            etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
            route = request.url_rule.rule if request.url_rule else ""
            answer = _Cached(found.version, body, etag, route, path["tenant"])
            _cache(current_app.extensions).keep(_url(request.environ), answer)
            status, headers, body = _respond(answer, request.environ)
            return Response(body, status, headers)

        return wrapper

    return decorate


class Front:
    """The WSGI application around Flask (PEP 3333). It sends fresh responses from the cache."""

    def __init__(self, app: Flask) -> None:
        self._flask = app.wsgi_app
        self._extensions = app.extensions
        self._config = app.extensions["ticketing"]

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Send the cached response, or call Flask."""
        request_log.begin(environ)
        answer = self._find(environ)
        if answer is None:
            return self._flask(environ, start_response)
        status, headers, body = _respond(answer, environ)
        headers += [*cors.HEADERS, *request_log.headers(environ, self._config)]
        code = int(status[:3])
        tenant = answer.tenant
        request_log.record(
            environ, self._config, answer.route, code, tenant=tenant, credential=None
        )
        start_response(status, headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def _find(self, environ: dict[str, Any]) -> _Cached | None:
        """Return a fresh cached response. None if Flask must handle the request."""
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD") or environ.get("CONTENT_LENGTH"):
            return None
        answer = _cache(self._extensions).get(_url(environ))
        if answer is None:
            return None
        limiter = self._extensions["limiter"]
        allowance = rate_limit.spend(environ, limiter, self._config, CallClass.PUBLIC)
        if allowance is not None and not allowance.granted:
            return None
        try:
            return answer if catalog_version.is_fresh(answer.version) else None
        except (DatabaseError, InterfaceError):
            return None


def _respond(answer: _Cached, environ: dict[str, Any]) -> tuple[str, list[tuple[str, str]], bytes]:
    headers = [
        ("ETag", answer.etag),
        ("Cache-Control", "public, max-age=0, must-revalidate"),
    ]
    asked = environ.get("HTTP_IF_NONE_MATCH")
    if asked and (asked == answer.etag or parse_etags(asked).contains_weak(answer.etag.strip('"'))):
        return "304 NOT MODIFIED", headers, b""
    headers.append(("Content-Type", "application/json"))
    headers.append(("Content-Length", str(len(answer.body))))
    return "200 OK", headers, answer.body


def _url(environ: dict[str, Any]) -> Url:
    return environ["PATH_INFO"], environ["QUERY_STRING"]


class _Cache:
    """The cached responses by URL. Threads may share it."""

    def __init__(self) -> None:
        self._by_url: OrderedDict[Url, _Cached] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, url: Url) -> _Cached | None:
        with self._lock:
            if url in self._by_url:
                self._by_url.move_to_end(url)
            return self._by_url.get(url)

    def keep(self, url: Url, answer: _Cached) -> None:
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


def _cache(extensions: dict[str, Any]) -> _Cache:
    kept: _Cache = extensions.get("cached") or extensions.setdefault("cached", _Cache())
    return kept
