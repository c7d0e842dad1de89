"""Answers of the public surface that are kept, in this process, as long as they still stand.

Clients keep them too, and ask with the ETag whether they stand (RFC 9110, 8.8.3 and 13.1.2).
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from threading import Lock

from flask import Response, current_app, request

from ticketing.services import revisions
from ticketing.services.revisions import Standing

KEPT_BYTES = 8 * 1024 * 1024
"""Of one process, of bodies. What was not asked for longest is forgotten first."""

KEPT_ANSWERS = 2000
"""A URL may be longer than what it is answered with, and anybody can make up new ones."""

View = Callable[..., Response]


@dataclass(frozen=True)
class _Answer:
    standing: Standing
    body: bytes
    etag: str


def remembered(stand: Callable[..., Standing]) -> Callable[[View], View]:
    """Run a view only if its last answer to the same URL does not stand any more.

    `stand` takes what the path names and says how things stand, or raises what the view would.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapper(**path: str) -> Response:
            answers = _answers()
            url = request.environ["PATH_INFO"] + "?" + request.environ["QUERY_STRING"]
            answer = answers.get(url)
            if answer is None or not revisions.stands(answer.standing):
                standing, body = revisions.read(
                    lambda: stand(**path), lambda: view(**path).get_data()
                )
                answer = _Answer(standing, body, hashlib.sha256(body).hexdigest()[:32])
                answers.keep(url, answer)
            return _respond(answer)

        wrapper._apidoc = {**getattr(view, "_apidoc", {}), "remembered": True}  # type: ignore[attr-defined]
        return wrapper

    return decorate


def _respond(answer: _Answer) -> Response:
    if request.if_none_match.contains_weak(answer.etag):
        response = Response(status=304)
    else:
        response = Response(answer.body, content_type="application/json")
    response.headers["ETag"] = f'"{answer.etag}"'
    response.headers["Cache-Control"] = "public, max-age=0, must-revalidate"
    return response


class _Answers:
    """What is kept, by URL. Safe to share between threads."""

    def __init__(self) -> None:
        self._by_url: OrderedDict[str, _Answer] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, url: str) -> _Answer | None:
        with self._lock:
            if url in self._by_url:
                self._by_url.move_to_end(url)
            return self._by_url.get(url)

    def keep(self, url: str, answer: _Answer) -> None:
        with self._lock:
            self._forget(url)
            self._by_url[url] = answer
            self._bytes += len(answer.body)
            while self._bytes > KEPT_BYTES or len(self._by_url) > KEPT_ANSWERS:
                self._forget(next(iter(self._by_url)))

    def _forget(self, url: str) -> None:
        forgotten = self._by_url.pop(url, None)
        if forgotten is not None:
            self._bytes -= len(forgotten.body)


def _answers() -> _Answers:
    extensions = current_app.extensions
    kept: _Answers = extensions.get("remembered") or extensions.setdefault("remembered", _Answers())
    return kept
