"""The waiting room of an event's page, and the token with which people keep their place.

While a room is open, web/front.py calls `find` for each request of the page. Who has to wait gets a
page from memory. Only the place and the seconds until the next request differ for each person: they
stand in for the texts PLACE and RETRY of a page that was rendered once. The token is in a cookie of
this page (RFC 6265), programs send it in a header.
"""

import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

from flask import Response, current_app, request
from werkzeug import Response as AnyResponse

from ticketing import locales
from ticketing.config import Config
from ticketing.errors import InWaitingRoom
from ticketing.limits import CallClass
from ticketing.models.events import Event
from ticketing.services.waiting_room import places
from ticketing.services.waiting_room.entrance import Entrance
from ticketing.services.waiting_room.rooms import Room, Rooms, Visit
from ticketing.waiting_room import WaitReason
from ticketing.web import client_ip, rate_limit
from ticketing.web.context import caller_or_none, client, client_of, config, networks
from ticketing.web.ready_response import Ready

HEADER = "Waiting-Room-Token"
PARAMETER = {
    "in": "header",
    "name": HEADER,
    "description": "The newest `token` of an error `waiting_room`: it keeps the place.",
    "schema": {"type": "string", "maxLength": 200},
}
PLACE, RETRY = secrets.token_hex(16), secrets.token_hex(16)
"""Texts in a rendered page in place of a person's place, and of the seconds until they ask again.
"""

ROUTE = "/<tenant:tenant>/<slug:event>"
COOKIE = "waiting-room"
COOKIE_SECONDS = 24 * 3600

_RENDERED_SECONDS, _MOST_RENDERED = 60.0, 200
_WAITS, _IS_ADMITTED = "ticketing.waits", "ticketing.admitted"
_MINUTES = (*range(1, 11), 15, 20, 30, 45, 60)
MORE_THAN_AN_HOUR = 61
_NO_STORE = ("Cache-Control", "no-store")


class Waits(NamedTuple):
    """Somebody who has to wait, and where."""

    room: Room
    visit: Visit
    token: str

    @property
    def minutes(self) -> int | None:
        """For how long, as a few round numbers. 0: less than one. None: it is not known."""
        seconds = self.visit.wait_seconds
        if seconds is None or self.visit.reason is WaitReason.DRAW:
            return None
        if seconds < 60:
            return 0
        rounded = (each for each in _MINUTES if each * 60 >= seconds)
        return next(rounded, MORE_THAN_AN_HOUR)


class Rendered(NamedTuple):
    """A page with PLACE and RETRY, and the headers of every page."""

    body: bytes
    headers: Sequence[tuple[str, str]]


class WaitingPages:
    """The pages of waiting rooms that were rendered in the last minute. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pages: OrderedDict[Any, tuple[float, Rendered]] = OrderedDict()

    def get(self, key: Any) -> Rendered | None:
        """Return a rendered page. None if it has to be rendered."""
        found = self._pages.get(key)
        return None if found is None or found[0] < time.monotonic() else found[1]

    def keep(self, key: Any, page: Rendered) -> None:
        """Keep a page for a minute. The oldest one makes room for it."""
        with self._lock:
            self._pages.pop(key, None)
            self._pages[key] = time.monotonic() + _RENDERED_SECONDS, page
            while len(self._pages) > _MOST_RENDERED:
                self._pages.popitem(last=False)


def find(environ: dict[str, Any], extensions: dict[str, Any]) -> Ready | None:
    """Return the answer to somebody who has to wait, or whose turn begins. None: Flask answers.

    peewee's DatabaseError or InterfaceError if the database is unavailable.
    """
    rooms: Rooms = extensions["waiting_rooms"]
    room = rooms.of_path(environ["PATH_INFO"])
    return None if room is None else _answer(room, environ, extensions)


def _answer(room: Room, environ: dict[str, Any], extensions: dict[str, Any]) -> Ready | None:
    settings: Config = extensions["ticketing"]
    networks = client_ip.networks(environ, settings.trusted_proxies)
    place = room.place_of(_cookie(environ), networks, settings.keyring)
    if place is not None and place.ends:
        environ[_IS_ADMITTED] = True
        room.note(place)
        return None
    # A request that is refused gives no place, and counts nobody.
    if not rate_limit.is_granted(environ, extensions["limiter"], settings, CallClass.PUBLIC):
        return None
    visit = room.visit(place, networks, settings.keyring)
    if visit.is_called:
        who = client_of(environ, settings)
        visit = room.begin_turn(visit.place, networks, who, settings.keyring)
    token = places.token(visit.place, room.name, networks, settings.keyring.current)
    if visit.is_admitted:
        return _enter(environ, room, token, settings)
    waits = environ[_WAITS] = Waits(room, visit, token)
    rendered = extensions["waiting_pages"].get(_key(waits, environ))
    return None if rendered is None else _ready(waits, rendered, environ, settings)


def waits(environ: dict[str, Any]) -> Waits | None:
    """Return who has to wait in this request, if `find` has not answered it."""
    found: Waits | None = environ.get(_WAITS)
    return found


def page(waits: Waits, body: str, headers: Sequence[tuple[str, str]]) -> Response:
    """Keep a rendered page of a room, and return it for this person."""
    extensions, rendered = current_app.extensions, Rendered(body.encode(), headers)
    extensions["waiting_pages"].keep(_key(waits, request.environ), rendered)
    return _response(_ready(waits, rendered, request.environ, config()))


def _response(ready: Ready) -> Response:
    return Response(ready.body, ready.status, list(ready.headers))


def enter(event: Event) -> Response | None:
    """Let somebody wait whose process did not know of the room of an event.

    Return the answer to them. None if they need not wait, or if `waits` says that they do and their
    page has to be rendered.
    """
    environ, extensions = request.environ, current_app.extensions
    if not event.is_queueing or _IS_ADMITTED in environ:
        return None
    room = extensions["waiting_rooms"].of_event(event.id)
    ready = None if room is None else _answer(room, environ, extensions)
    return None if ready is None else _response(ready)


def want_before_sale(event: Event) -> None:
    """Let the waiting room of an event open, if its organizer wants it and the sale starts soon."""
    rooms: Rooms = current_app.extensions["waiting_rooms"]
    rooms.want_before_sale(event)


def limited_entrance() -> Entrance | None:
    """Return the entrance for a request of the API. None: it has a credential, and never waits."""
    return None if caller_or_none() else entrance(request.headers.get(HEADER))


def entrance_of_page() -> Entrance:
    """Return the entrance for a form of a page. The token is in its cookie."""
    return entrance(_cookie(request.environ))


def entrance(token: str | None) -> Entrance:
    """Return the entrance for the current request, whether it has a credential or not."""
    rooms: Rooms = current_app.extensions["waiting_rooms"]
    return Entrance(rooms, token, networks(), client(), config().keyring)


def keep_place(response: Response, error: Exception, path: str) -> Response:
    """Let the browser keep the place of somebody whose form was refused, for the event's page."""
    if isinstance(error, InWaitingRoom):
        token = error.extensions["token"]
        response.headers.add("Set-Cookie", _set_cookie(token, path, request.environ, config()))
    return response


def leave(response: AnyResponse, path: str) -> AnyResponse:
    """Let the browser forget the place of somebody who has ordered: it is of no use any more."""
    if _cookie(request.environ) is not None:
        gone = f"{COOKIE}=; Max-Age=0; Path={path}; HttpOnly; SameSite=Lax"
        response.headers.add("Set-Cookie", gone)
    return response


def _enter(environ: dict[str, Any], room: Room, token: str, settings: Config) -> Ready:
    """Send somebody to the same page once more, with a token that opens it."""
    path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
    headers = [
        _NO_STORE,
        ("Location", f"{path}?{query}" if query else path),
        ("Content-Length", "0"),
        ("Set-Cookie", _set_cookie(token, path, environ, settings)),
    ]
    return Ready("303 SEE OTHER", headers, b"", ROUTE, room.event.tenant.slug)


def _ready(waits: Waits, page: Rendered, environ: dict[str, Any], settings: Config) -> Ready:
    room, visit, token = waits
    filled = page.body.replace(PLACE.encode(), str(visit.ahead + 1).encode())
    filled = filled.replace(RETRY.encode(), str(visit.retry_after).encode())
    headers = [
        ("Content-Type", "text/html; charset=utf-8"),
        *page.headers,
        _NO_STORE,
        ("Content-Length", str(len(filled))),
        ("Retry-After", str(visit.retry_after)),
        ("Set-Cookie", _set_cookie(token, environ["PATH_INFO"], environ, settings)),
    ]
    return Ready("200 OK", headers, filled, ROUTE, room.event.tenant.slug)


def _key(waits: Waits, environ: dict[str, Any]) -> Any:
    """Return what a page depends on, besides PLACE and RETRY."""
    language = locales.chosen(environ["QUERY_STRING"])
    host = environ.get("HTTP_HOST", "")
    return waits.room.name, waits.visit.reason, waits.minutes, language, host


def _cookie(environ: dict[str, Any]) -> str | None:
    pairs = (pair.partition("=") for pair in environ.get("HTTP_COOKIE", "").split(";"))
    return next((value.strip() for name, _, value in pairs if name.strip() == COOKIE), None)


def _set_cookie(token: str, path: str, environ: dict[str, Any], settings: Config) -> str:
    secure = "; Secure" if client_ip.by_tls(environ, settings.trusted_proxies) else ""
    lives = f"Max-Age={COOKIE_SECONDS}; Path={path}"
    return f"{COOKIE}={token}; {lives}; HttpOnly; SameSite=Lax{secure}"
