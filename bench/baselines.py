"""Baselines: minimal servers that send the same statuses and sizes as the service.

Paths are `/STATUS/SIZE`. The responses in BENCH_ANSWERS are built before the first request.
"""

import os
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from flask import Flask, Response

_ANSWERS = {
    path: (HTTPStatus(int(path.split("/")[1])), b"x" * int(path.split("/")[2]))
    for path in os.environ.get("BENCH_ANSWERS", "").split()
}
_HEADERS = {
    path: (
        f"{status.value} {status.phrase}",
        [("Content-Type", "application/json"), ("Content-Length", str(len(body)))],
        [body],
    )
    for path, (status, body) in _ANSWERS.items()
}
_NOTHING: tuple[str, list[tuple[str, str]], list[bytes]] = (
    "404 Not Found",
    [("Content-Length", "0")],
    [],
)


def bare(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Send fixed bytes: a bare WSGI application."""
    status, headers, body = _HEADERS.get(environ["PATH_INFO"], _NOTHING)
    start_response(status, headers)
    return body


def make_flask() -> Flask:
    """Build a Flask application that sends fixed bytes."""
    app = Flask("fixed")
    for path, (status, body) in _ANSWERS.items():
        app.add_url_rule(path, path, _view(status, body), methods=["GET", "POST"])
    return app


def _view(status: int, body: bytes) -> Callable[[], Response]:
    return lambda: Response(body, status, mimetype="application/json")
