"""Passwords of members: their rules, their hashes and their verification (argon2id)."""

from passlib.hash import argon2

from ticketing.errors import FieldMessage
from ticketing.services.access.rate_limits import OneAtATime

MIN_PASSWORD, MAX_PASSWORD = 12, 128

# Load the backend now: passlib loads it lazily, and that is not thread-safe.
argon2.set_backend("argon2_cffi")
# OWASP's minimum for argon2id: 19 MiB. A small host has enough memory for a few at once.
hasher = argon2.using(type="ID", memory_cost=19_456, time_cost=2, parallelism=1)

# A hash takes 20 ms of CPU. Password guessing must not use all cores.
_hashing = OneAtATime(retry_after=1)

_NOBODYS_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$HKMUwtg7RyjlnDOm1DqHcA$"
    "HLxvtOWbxwEI/lBwCu0Csc4SeBV/GWtkjr96IvF4UzY"
)
"""The hash of a random password. It is verified if the member does not exist."""


def faults(password: str) -> dict[str, list[str]]:
    """Return what is wrong with a new password, by field. Empty if it may be used."""
    if MIN_PASSWORD <= len(password) <= MAX_PASSWORD and "\0" not in password:
        return {}
    text = f"Must have {MIN_PASSWORD} to {MAX_PASSWORD} characters."
    return {"password": [FieldMessage("password", text, min=MIN_PASSWORD, max=MAX_PASSWORD)]}


def hashed(password: str) -> str:
    """Return the hash of a new password. TooManyRequests if another thread is hashing one."""
    with _hashing.turn():
        return str(hasher.hash(password))


def verify(password: str, password_hash: str | None) -> bool:
    """Return whether a password has this hash. None: the hash of nobody, in the same time.

    TooManyRequests if another thread of this process is verifying a password.
    """
    with _hashing.turn():
        return bool(hasher.verify(password, password_hash or _NOBODYS_HASH)) and (
            password_hash is not None
        )
