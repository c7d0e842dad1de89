"""Find out what a client is, by its id.

An id is an https URL at which the client describes itself (draft-ietf-oauth-client-id-metadata-
document), or a text that we signed when the client registered itself (RFC 7591). What is at the URL
is kept for some minutes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ticketing import nesting
from ticketing.config import Config
from ticketing.credentials import Keyring
from ticketing.errors import AppRefused, Invalid
from ticketing.services.access import signed_claims
from ticketing.services.notifications import webhook_urls
from ticketing.services.oauth import descriptions
from ticketing.services.oauth.clients import Client, described

MAX_CLIENT_ID = 1000

_AUDIENCE = "ticketing-oauth-client"


def find(client_id: str, tenant_id: str, config: Config) -> Client:
    """Return the client with this id, for a member of a tenant.

    AppRefused. Awaited if its URL must be read first. TooManyDescriptions.
    """
    if not client_id.startswith("https://"):
        claims = signed_claims.read(_AUDIENCE, client_id, config.keyring, ["redirect_uris"])
        if claims is None:
            raise AppRefused("This app is not known here. Remove it in the app, and add it again.")
        return described(client_id, claims, None)
    parts = _checked(client_id, config)
    document = _parsed(descriptions.document(client_id, tenant_id))
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


def _parsed(text: str) -> dict[str, Any]:
    try:
        if nesting.is_too_deep(text.encode()):
            raise ValueError("nested too deep")
        document = json.loads(text)
    except ValueError:
        raise AppRefused(descriptions.UNREADABLE) from None
    if not isinstance(document, dict):
        raise AppRefused(descriptions.UNREADABLE)
    return document
