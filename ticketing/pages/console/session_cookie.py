"""The cookie of a session (RFC 6265), and the token that its forms carry."""

from flask import request
from werkzeug import Response

from ticketing import credentials
from ticketing.web import origin
from ticketing.web.context import config

_NAME, _SECURE_NAME = "session", "__Host-session"
_CSRF_DIGITS = 40


def read() -> str:
    """Return the secret of the session that the browser sent. An empty text if it sent none."""
    # werkzeug takes quadratic time: a header of tabs would stop this process for a second.
    pairs = (pair.partition("=") for pair in request.headers.get("Cookie", "").split(";"))
    return next((value.strip() for name, _, value in pairs if name.strip() == _name()), "")


def write(response: Response, secret: str) -> None:
    """Let the browser keep a session until it is closed. The server decides when it ends."""
    response.set_cookie(_name(), secret, secure=origin.is_https(), httponly=True, samesite="Lax")


def remove(response: Response) -> None:
    """Let the browser forget its session."""
    response.delete_cookie(_name(), secure=origin.is_https(), httponly=True, samesite="Lax")


def csrf_token(secret: str) -> str:
    """Return the token that each form of a session carries."""
    digest = credentials.keyed_digest(config().keyring.current, "csrf-token", secret)
    return digest[:_CSRF_DIGITS]


def _name() -> str:
    # Browsers accept the prefix only with Secure, and then only from this host.
    return _SECURE_NAME if origin.is_https() else _NAME
