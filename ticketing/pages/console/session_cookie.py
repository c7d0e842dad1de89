"""The cookies (RFC 6265) of a session and of a known browser, and the token that forms carry."""

from datetime import timedelta

from flask import request
from werkzeug import Response

from ticketing import credentials
from ticketing.web import origin
from ticketing.web.context import config

_SESSION, _BROWSER = "session", "browser"
_BROWSER_LIVES = timedelta(days=180)
_CSRF_DIGITS = 40


def read() -> str:
    """Return the secret of the session that the browser sent. An empty text if it sent none."""
    return _read(_SESSION)


def write(response: Response, secret: str) -> None:
    """Let the browser keep a session until it is closed. The server decides when it ends."""
    response.set_cookie(
        _name(_SESSION), secret, secure=origin.is_https(), httponly=True, samesite="Lax"
    )


def remove(response: Response) -> None:
    """Let the browser forget its session. It stays a known one."""
    response.delete_cookie(_name(_SESSION), secure=origin.is_https(), httponly=True, samesite="Lax")


def read_browser() -> str:
    """Return the secret of a browser in which somebody has signed in. Empty if it sent none."""
    return _read(_BROWSER)


def write_browser(response: Response, secret: str) -> None:
    """Let the browser keep that somebody has signed in."""
    response.set_cookie(
        _name(_BROWSER),
        secret,
        max_age=_BROWSER_LIVES,
        secure=origin.is_https(),
        httponly=True,
        samesite="Strict",
    )


def csrf_token(secret: str) -> str:
    """Return the token that each form of a session carries."""
    digest = credentials.keyed_digest(config().keyring.current, "csrf-token", secret)
    return digest[:_CSRF_DIGITS]


def _read(cookie: str) -> str:
    # werkzeug takes quadratic time: a header of tabs would stop this process for a second.
    pairs = (pair.partition("=") for pair in request.headers.get("Cookie", "").split(";"))
    wanted = _name(cookie)
    return next((value.strip() for name, _, value in pairs if name.strip() == wanted), "")


def _name(cookie: str) -> str:
    # Browsers accept the prefix only with Secure, and then only from this host.
    return f"__Host-{cookie}" if origin.is_https() else cookie
