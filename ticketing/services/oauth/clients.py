"""Clients of OAuth: what one says of itself, and the URIs to which people may be sent back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ticketing.errors import AppRefused

MAX_NAME = 60
MAX_URI = 300
MAX_URIS = 10
PUBLIC = "none"
"""The only way to authenticate (RFC 7591, 2): not at all. There is no secret to keep."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1"})
_URI = re.compile(r"[A-Za-z0-9._~:/?@!$&'()*+,;=%-]+", re.ASCII)
_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*", re.ASCII)
"""Stricter than RFC 3986: the host is in a header of the page, where `;` means something."""


@dataclass(frozen=True)
class Client:
    """A client, with the methods that authlib asks for.

    `host`: of the URL from which its metadata was read. None: it registered itself, so that its
    name can be anybody's.
    """

    client_id: str
    name: str
    redirect_uris: tuple[str, ...]
    host: str | None = None

    def get_client_id(self) -> str:
        """Return its id."""
        return self.client_id

    def get_default_redirect_uri(self) -> None:
        """Return None: a request must say where it wants people to be sent back to."""

    def get_allowed_scope(self, scope: str | None) -> str:
        """Return the scopes that it asks for. The member decides."""
        return scope or ""

    def check_redirect_uri(self, uri: str) -> bool:
        """Return whether people may be sent back to this URI."""
        return any(_is_same(uri, each) for each in self.redirect_uris)

    def check_client_secret(self, _: str) -> bool:
        """Return False: it has no secret."""
        return False

    def check_endpoint_auth_method(self, method: str, _: str) -> bool:
        """Return whether it may authenticate in this way."""
        return method == PUBLIC

    def check_response_type(self, response_type: str) -> bool:
        """Return whether it may use this flow."""
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        """Return whether it may use this grant."""
        return grant_type in ("authorization_code", "refresh_token")


def described(client_id: str, metadata: Mapping[str, Any], host: str | None) -> Client:
    """Return the client that this metadata describes (RFC 7591, 2). AppRefused.

    What is not known is ignored. Without a name it is called like its host.
    """
    method = metadata.get("token_endpoint_auth_method", PUBLIC)
    if method != PUBLIC:
        raise AppRefused("This app wants to authenticate itself in a way that is not supported.")
    found = metadata.get("redirect_uris")
    given = found[: MAX_URIS + 1] if isinstance(found, list) else []
    uris = tuple(each for each in given if isinstance(each, str) and is_redirect_uri(each))
    if not uris or len(given) > MAX_URIS:
        raise AppRefused("This app names no valid address to which people are sent back.")
    return Client(client_id, _name(metadata.get("client_name")) or host or "", uris, host)


def is_redirect_uri(text: str) -> bool:
    """Return whether a text is a URI of https, or of http on the person's own computer."""
    parts = _split(text)
    if parts is None or "@" in parts.netloc or parts.netloc.endswith(":"):
        return False
    if not _HOST.fullmatch(parts.hostname or ""):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)


def is_local(uri: str) -> bool:
    """Return whether a redirect URI leads to a program on the person's own computer."""
    return urlsplit(uri).hostname in _LOOPBACK


def host_of(uri: str) -> str:
    """Return the host of a redirect URI, with its port."""
    return urlsplit(uri).netloc


def _is_same(uri: str, registered: str) -> bool:
    """Return whether a URI is the registered one: the same text.

    A program on the person's computer takes any port that is free (RFC 8252, 7.3). Example:
    http://127.0.0.1:49152/callback is http://127.0.0.1/callback.
    """
    if uri == registered:
        return True
    asked, known = _split(uri), _split(registered)
    if asked is None or known is None or not is_redirect_uri(uri):
        return False
    return known.scheme == "http" and _without_port(asked) == _without_port(known)


def _without_port(parts: SplitResult) -> tuple[str, str | None, str, str]:
    return parts.scheme, parts.hostname, parts.path, parts.query


def _split(text: str) -> SplitResult | None:
    if len(text) > MAX_URI or not _URI.fullmatch(text):
        return None
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return None
    return parts


def _name(text: Any) -> str:
    if not isinstance(text, str):
        return ""
    return "".join(each for each in text[:MAX_NAME] if each.isprintable()).strip()
