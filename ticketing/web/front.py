"""The WSGI application around Flask (PEP 3333). It sends the most frequent responses by itself."""

import time
from collections.abc import Iterable
from typing import Any

from flask import Flask
from peewee import DatabaseError, InterfaceError

from ticketing.config import Config
from ticketing.response_times import WAITED
from ticketing.services.waiting_room.rooms import Rooms
from ticketing.web import (
    order_polls,
    precedence,
    rate_limit,
    request_log,
    response_cache,
    waiting_room,
)
from ticketing.web.ready_response import Ready


class Front:
    """Sends cached public responses, and 304 for orders that have not changed. Flask does the rest.

    Flask handles every other request as it would without Front. While a sale has more visitors
    than this service can serve, Front lets them wait (waiting_room.py).
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
        rooms: Rooms = self._extensions["waiting_rooms"]
        began, waited = time.monotonic(), environ.get(WAITED, 0.0)
        rooms.times.begin(waited, comes_first=precedence.comes_first(environ["PATH_INFO"]))
        if not rooms.are_quiet:
            rooms.look()
        answer = self._answer(environ, start_response)
        # How fast people get their place says nothing about orders.
        is_of_load = precedence.shows_load(environ["REQUEST_METHOD"], environ["PATH_INFO"])
        if is_of_load and waiting_room.waits(environ) is None:
            rooms.times.record(waited + time.monotonic() - began)
        return answer

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
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
        has_body = environ.get("CONTENT_LENGTH") not in (None, "", "0")
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD") or has_body:
            return None
        try:
            if rate_limit.is_blocked(environ, self._extensions):
                return None
            waiting = waiting_room.find(environ, self._extensions)
            if waiting is not None or waiting_room.waits(environ) is not None:
                return waiting
            return response_cache.find(environ, self._extensions) or order_polls.find(
                environ, self._extensions
            )
        except (DatabaseError, InterfaceError):
            return None
