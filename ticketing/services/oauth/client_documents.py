"""Find out what a client is, by its id.

An id is an https URL at which the client describes itself (draft-ietf-oauth-client-id-metadata-
document), or a text that we signed when the client registered itself (RFC 7591). Nothing is stored
of either.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import urlsplit

from ticketing import nesting
from ticketing.config import Config
from ticketing.credentials import Keyring
from ticketing.errors import AppRefused, Invalid
from ticketing.services.access import signed_claims
from ticketing.services.notifications import webhook_urls
from ticketing.services.notifications.http_client import Client as HttpClient
from ticketing.services.notifications.name_lookup import SystemLookUp
from ticketing.services.oauth.clients import Client, described

MAX_CLIENT_ID = 1000
MAX_DOCUMENT_BYTES = 16 * 1024
DEADLINE_SECONDS = 5.0
_WAIT_SECONDS = 2.0

_AUDIENCE = "ticketing-oauth-client"
_UNREADABLE = "This app's description of itself cannot be read. Try again in a minute."
_reading = BoundedSemaphore(2)
"""A server that answers slowly must not keep more threads of this process."""


def find(client_id: str, config: Config) -> Client:
    """Return the client with this id. AppRefused."""
    if not client_id.startswith("https://"):
        return _registered(client_id, config.keyring)
    parts = _checked(client_id, config)
    document = _read(client_id, config)
    if document.get("client_id") != client_id:
        raise AppRefused("This app's description of itself is about another app.")
    return described(client_id, document, parts)


def register(metadata: Mapping[str, Any], keyring: Keyring) -> Client:
    """Return a client of this metadata with a new id, which contains all that is known of it.

    AppRefused.
    """
    client = described("", metadata, None)
    claims = {"client_name": client.name, "redirect_uris": list(client.redirect_uris)}
    client_id = signed_claims.sign(_AUDIENCE, claims, keyring)
    if len(client_id) > MAX_CLIENT_ID:
        raise AppRefused("This app names too many addresses to which people are sent back.")
    return Client(client_id, client.name, client.redirect_uris)


def _registered(client_id: str, keyring: Keyring) -> Client:
    claims = signed_claims.read(_AUDIENCE, client_id, keyring, ["redirect_uris"])
    if claims is None:
        raise AppRefused("This app is not known here. Remove it in the app, and add it again.")
    return described(client_id, claims, None)


def _checked(url: str, config: Config) -> str:
    """Return the host of a URL that may be a client's id. AppRefused."""
    try:
        webhook_urls.check(url, config.webhook_allow)
    except Invalid:
        raise AppRefused("This app's id is not a valid URL.") from None
    parts = urlsplit(url)
    if parts.path in ("", "/") or any(each in (".", "..") for each in parts.path.split("/")):
        raise AppRefused("This app's id is not a valid URL.")
    return parts.netloc


def _read(url: str, config: Config) -> dict[str, Any]:
    if not _reading.acquire(timeout=_WAIT_SECONDS):
        raise AppRefused(_UNREADABLE)
    try:
        file = asyncio.run(_get(url, config))
    finally:
        _reading.release()
    try:
        if file is None or nesting.is_too_deep(file):
            raise ValueError
        document = json.loads(file.decode())
    except ValueError:
        raise AppRefused(_UNREADABLE) from None
    if not isinstance(document, dict):
        raise AppRefused(_UNREADABLE)
    return document


async def _get(url: str, config: Config) -> bytes | None:
    tls = ssl.create_default_context()
    client = HttpClient(url, config.webhook_allow, SystemLookUp(), tls, DEADLINE_SECONDS)
    return await client.get(MAX_DOCUMENT_BYTES, is_json=True)
