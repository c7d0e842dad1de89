"""Authenticate an API key: compare its digests, and record its use."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from peewee import DatabaseError, InterfaceError, ModelSelect

from ticketing import clock, credentials
from ticketing.credentials import Keyring
from ticketing.db.connection import close_broken_connection
from ticketing.models.api_keys import ApiKey
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant

NOTED_EVERY = timedelta(minutes=1)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PresentedKey:
    """A valid key, and when the presented secret of it expires."""

    key: ApiKey
    generation: int
    ends_at: datetime


@Prepared
def _live_key(key_id: Any, now: Any) -> ModelSelect[ApiKey]:
    return (
        ApiKey.select(ApiKey, Tenant)
        .join(Tenant)
        .where(ApiKey.id == key_id, ApiKey.revoked_at.is_null(), ApiKey.expires_at > now)
    )


def present(plaintext: str, keyring: Keyring) -> PresentedKey | None:
    """Return the key with this plaintext. None if it is not valid.

    A malformed key is rejected without a database query. Every other key takes the same query,
    digests and comparisons, so the time does not show why it failed.
    """
    key_id = credentials.api_key_id(plaintext)
    if key_id is None:
        return None
    now = clock.now()
    key = _live_key.first(key_id=key_id, now=now)
    digests = [credentials.api_key_digest(secret, plaintext) for secret in keyring.accepted]
    kept = (key.digest, key.previous_digest) if key else (None, None)
    fits, fits_previous = (
        credentials.same_as_any(each or credentials.NOBODYS_DIGEST, digests) for each in kept
    )
    if key is None or not (fits or fits_previous):
        return None
    generation = key.generation if fits else key.generation - 1
    ends_at = key.end_of(generation)
    if ends_at is None or ends_at <= now:
        return None
    _record_use(key, digests[0], keyring, current=fits)
    return PresentedKey(key, generation, ends_at)


def of_jwt(key_id: str, generation: int) -> ApiKey | None:
    """Return the key from which a JWT was made. None if that secret is no longer valid."""
    now = clock.now()
    key = _live_key.first(key_id=key_id, now=now)
    ends_at = key.end_of(generation) if key else None
    return key if ends_at is not None and ends_at > now else None


def _record_use(key: ApiKey, digest: str, keyring: Keyring, *, current: bool) -> None:
    """Record that the key was used, at most once a minute, so that reads rarely write.

    The digest is then stored under the current SECRET_KEY. If the database cannot be written, the
    request still succeeds, and the next use is recorded.
    """
    now = clock.now()
    if key.last_used_at is not None and key.last_used_at >= now - NOTED_EVERY:
        return
    column, made_under = (
        (ApiKey.digest, ApiKey.digest_key)
        if current
        else (ApiKey.previous_digest, ApiKey.previous_digest_key)
    )
    changes = {
        ApiKey.last_used_at: now,
        column: digest,
        made_under: credentials.secret_key_id(keyring.current),
    }
    not_noted = ApiKey.last_used_at.is_null() | (ApiKey.last_used_at < now - NOTED_EVERY)
    # If the key was rotated in the meantime, keep its new digest.
    same_secret = column == (key.digest if current else key.previous_digest)
    try:
        ApiKey.update(changes).where(ApiKey.id == key.id, same_secret, not_noted).execute()
    except (DatabaseError, InterfaceError) as error:
        log.warning("use of %s is not recorded: %s", key.id, str(error).strip().split("\n")[0])
        close_broken_connection()
