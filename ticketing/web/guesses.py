"""Limit how many wrong codes a client may send in a minute. Right codes do not count.

Over the limit, a request with a code is refused before the code is looked up. A wrong code is
counted when the response is ready: by then the transaction of the refused request has ended, so the
count is not rolled back with it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import Flask, Response, current_app, request

from ticketing.errors import DatabaseUnavailable, TooManyGuesses, VoucherInvalid
from ticketing.limits import CallClass
from ticketing.web import client_ip
from ticketing.web.context import config

_PENDING = "ticketing.guesses"


def register(app: Flask) -> None:
    """Count the wrong codes of each request at its end."""
    app.after_request(_count)


@contextmanager
def counted(code: str | None) -> Iterator[None]:
    """Run a block that looks `code` up, and count it if it is wrong: if VoucherInvalid is raised.

    None: the request has no code, and nothing is counted. TooManyGuesses.
    """
    limit = config().rate_limits[CallClass.GUESS]
    if code is None or not limit:
        yield
        return
    environ = request.environ
    wait = current_app.extensions["limiter"].wait_for_guess(
        _callers(environ), limit, environ.get(_PENDING, 0)
    )
    if wait is not None:
        raise TooManyGuesses(retry_after=wait)
    try:
        yield
    except VoucherInvalid:
        environ[_PENDING] = environ.get(_PENDING, 0) + 1
        raise


def _count(response: Response) -> Response:
    for _ in range(request.environ.pop(_PENDING, 0)):
        limiter, limit = current_app.extensions["limiter"], config().rate_limits[CallClass.GUESS]
        try:
            limiter.spend(CallClass.GUESS, _callers(request.environ), limit)
        except DatabaseUnavailable:
            break  # it is logged; the next code cannot be looked up either
    return response


def _callers(environ: dict[str, Any]) -> tuple[str, ...]:
    return client_ip.networks(environ, config().trusted_proxies)
