"""The secrets of webhook endpoints: create them, encrypt them, and sign with them.

The signatures are those of Standard Webhooks, v1.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime

from ticketing import clock, credentials, encryption
from ticketing.credentials import Keyring
from ticketing.encryption import SecretUnreadable
from ticketing.models.notifications import WebhookEndpoint
from ticketing.models.tenants import Tenant

PREFIX = "whsec_"
RENEWED_AT_ONCE = 100
_SECRET_BYTES = 32
_PURPOSE = "webhook-secrets"
_STORED = ("secret", "previous_secret", "secret_key_id")


def new_secret() -> str:
    """Make a secret: `whsec_` and the base64 of 32 random bytes."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def signing_keys(endpoint: WebhookEndpoint, keyring: Keyring) -> list[bytes]:
    """Return the keys that sign now: two during the overlap of a rotation. SecretUnreadable."""
    stored = [endpoint.secret, *_previous(endpoint)]
    secrets_now = [_decrypt(each, endpoint.id, keyring) for each in stored]
    return [base64.b64decode(each.removeprefix(PREFIX)) for each in secrets_now]


def sign(
    keys: Sequence[bytes], notification_id: str, timestamp: int, body: bytes
) -> dict[str, str]:
    """Return the three headers of a delivery. `timestamp` is the time now, in seconds since 1970.

    It has one signature for each key.
    """
    signed = f"{notification_id}.{timestamp}.".encode() + body
    digests = (hmac.digest(key, signed, hashlib.sha256) for key in keys)
    return {
        "webhook-id": notification_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{base64.b64encode(each).decode()}" for each in digests),
    }


def store(endpoint: WebhookEndpoint, secret: str, keyring: Keyring) -> None:
    """Set the secret of an endpoint, encrypted. The caller saves the endpoint."""
    endpoint.secret = _encrypt(secret, endpoint.id, keyring)
    endpoint.secret_key_id = credentials.secret_key_id(keyring.current)


def rotate(endpoint: WebhookEndpoint, secret: str, expires_at: datetime, keyring: Keyring) -> None:
    """Set a new secret. The one before stays valid until `expires_at`, unless it is unreadable.

    The caller saves the endpoint.
    """
    try:
        before = _decrypt(endpoint.secret, endpoint.id, keyring)
        endpoint.previous_secret = _encrypt(before, endpoint.id, keyring)
        endpoint.previous_expires_at = expires_at
    except SecretUnreadable:
        endpoint.previous_secret = endpoint.previous_expires_at = None
    store(endpoint, secret, keyring)


def renew(keyring: Keyring) -> int:
    """Encrypt secrets under SECRET_KEY that are stored under SECRET_KEY_PREVIOUS.

    Some at once. Return how many endpoints are done. Without a SECRET_KEY_PREVIOUS, there is
    nothing to do.
    """
    if keyring.previous is None:
        return 0
    made_by = credentials.secret_key_id(keyring.previous)
    of_previous = WebhookEndpoint.select().where(WebhookEndpoint.secret_key_id == made_by)
    return sum(_renew(endpoint, keyring) for endpoint in list(of_previous.limit(RENEWED_AT_ONCE)))


def under_previous(keyring: Keyring) -> list[WebhookEndpoint]:
    """Return the endpoints of all tenants whose secret is not encrypted under SECRET_KEY."""
    current = credentials.secret_key_id(keyring.current)
    return list(
        WebhookEndpoint.select(WebhookEndpoint, Tenant)
        .join(Tenant)
        .where(WebhookEndpoint.secret_key_id != current)
        .order_by(WebhookEndpoint.id)
    )


def _renew(endpoint: WebhookEndpoint, keyring: Keyring) -> int:
    is_same = (WebhookEndpoint.id == endpoint.id) & (WebhookEndpoint.secret == endpoint.secret)
    try:
        secret = _decrypt(endpoint.secret, endpoint.id, keyring)
        previous = [_decrypt(each, endpoint.id, keyring) for each in _previous(endpoint)]
    except SecretUnreadable:
        return 0
    store(endpoint, secret, keyring)
    endpoint.previous_secret = None
    for each in previous:
        endpoint.previous_secret = _encrypt(each, endpoint.id, keyring)
    columns = {name: getattr(endpoint, name) for name in _STORED}
    # A secret that was rotated meanwhile is not put back.
    return int(WebhookEndpoint.update(columns).where(is_same).execute())


def _previous(endpoint: WebhookEndpoint) -> list[str]:
    """Return the stored secret before a rotation, while it is valid."""
    ends, stored = endpoint.previous_expires_at, endpoint.previous_secret
    return [] if stored is None or ends is None or ends <= clock.now() else [stored]


def _encrypt(secret: str, endpoint_id: str, keyring: Keyring) -> str:
    return encryption.encrypt(secret, _PURPOSE, endpoint_id, keyring)


def _decrypt(stored: str, endpoint_id: str, keyring: Keyring) -> str:
    return encryption.decrypt(stored, _PURPOSE, endpoint_id, keyring)
