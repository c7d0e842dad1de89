"""The WSGI application around Flask (PEP 3333). It sends the most frequent responses by itself."""

from collections.abc import Iterable
from typing import Any

from flask import Flask
from peewee import DatabaseError, InterfaceError

from ticketing.config import Config
from ticketing.web import order_polls, request_log, response_cache
from ticketing.web.ready_response import Ready


class Front:
    """Sends cached public responses, and 304 for orders that have not changed. Flask does the rest.

    Flask handles every other request as it would without Front.
    """

    def __init__(self, app: Flask) -> None:
        self._flask = app.wsgi_app
        self._extensions = app.extensions

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Send a ready response, or call Flask."""
        # An empty path is "/" (RFC 9110, 4.2.3). Flask would redirect to it before the Host is
        # checked.
        environ["PATH_INFO"] = environ["PATH_INFO"] or "/"
        request_log.begin(environ)
        ready = self._find(environ)
        if ready is None:
            return self._flask(environ, start_response)
        config: Config = self._extensions["ticketing"]
        code = int(ready.status[:3])
        headers = [*ready.headers, *request_log.headers(environ, config)]
        request_log.record(environ, config, ready.route, code, tenant=ready.tenant, credential=None)
        start_response(ready.status, headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [ready.body]

    def _find(self, environ: dict[str, Any]) -> Ready | None:
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD") or environ.get("CONTENT_LENGTH"):
            return None
        try:
            return response_cache.find(environ, self._extensions) or order_polls.find(
                environ, self._extensions
            )
        except (DatabaseError, InterfaceError):
            return None
