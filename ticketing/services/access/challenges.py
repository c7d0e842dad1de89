"""Challenges for passkeys: ours, for ten minutes, and answered once.

Nothing is stored of one that nobody answers, so strangers who ask for many store nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256

from ticketing import clock, credentials
from ticketing.credentials import Keyring
from ticketing.db import pruning
from ticketing.errors import WrongPasskey
from ticketing.models.second_factors import UsedChallenge

_LIVES = timedelta(minutes=10)


def new(purpose: str, keyring: Keyring) -> bytes:
    """Make a challenge for one purpose."""
    ends_at = int((clock.now() + _LIVES).timestamp())
    return credentials.new_challenge(keyring.current, purpose, ends_at)


def use_up(challenge: bytes, purpose: str, keyring: Keyring) -> None:
    """Accept a challenge that we made for this purpose, once. WrongPasskey."""
    ends_at = credentials.end_of_challenge(keyring, purpose, challenge)
    if ends_at is None or ends_at <= clock.now().timestamp():
        raise WrongPasskey
    row = {"digest": sha256(challenge).hexdigest(), "ends_at": datetime.fromtimestamp(ends_at, UTC)}
    if not UsedChallenge.insert(row).on_conflict_ignore().as_rowcount().execute():
        raise WrongPasskey


def forget_old() -> None:
    """Delete some used challenges that have ended."""
    pruning.delete_some(UsedChallenge.digest, UsedChallenge.ends_at < clock.now())
