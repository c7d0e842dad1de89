"""Idempotency-Key: a repeated request gets the first response and has no second effect.

A request first claims its key. Its response is stored in the transaction of its effect, so after
a crash there are both or neither. An abandoned claim expires after a minute. If the database fails
during a request, its process deletes the claim as soon as the database is back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ticketing import clock
from ticketing.conflicts import StillRunning
from ticketing.db.connection import UNAVAILABLE
from ticketing.errors import KeyReused
from ticketing.models.idempotency import IdempotencyKey

KEPT_FOR = timedelta(hours=24)
CLAIM_LAPSES_AFTER = timedelta(seconds=60)
DELETED_AT_ONCE = 1000

_not_given_up: dict[tuple[str, datetime], Any] = {}
"""Claims of this process that could not be deleted: digest, time of failure, and which of them."""


@dataclass(frozen=True)
class Claim:
    """The identity of a request: a digest of its key, and a digest of its content."""

    digest: str
    request_digest: str


@dataclass(frozen=True)
class Answer:
    """A stored response: a status and a JSON text."""

    status: int
    body: str


def claim(claims: Sequence[Claim]) -> Answer | None:
    """Claim a request. Return the stored response, or None if the request may run now.

    There are two claims while there are two SECRET_KEYs, because another host may know only one.
    KeyReused for another body. StillRunning while the first request is running.
    """
    _give_up_later()
    taken: list[str] = []
    try:
        # A fixed order prevents a deadlock between two requests with the same two claims.
        for each in sorted(claims, key=lambda each: each.digest):
            stored = _claim_one(each.digest, each.request_digest)
            if stored is not None:
                give_up(taken)
                return stored
            taken.append(each.digest)
    except BaseException:
        give_up(taken)
        raise
    return None


def _claim_one(digest: str, request_digest: str) -> Answer | None:
    now = clock.now()
    try:
        claimed = _insert_claim(digest, request_digest, now)
    except UNAVAILABLE:
        # It may have been committed. A claim with another time belongs to another request.
        _not_given_up[digest, now] = IdempotencyKey.claimed_at == now
        raise
    if claimed:
        return None
    first: IdempotencyKey | None = IdempotencyKey.get_or_none(IdempotencyKey.digest == digest)
    if first is not None and first.request_digest != request_digest:
        raise KeyReused
    if first is None or first.status is None or first.body is None:
        raise StillRunning
    return Answer(first.status, first.body)


def _insert_claim(digest: str, request_digest: str, now: datetime) -> int:
    """Insert a claim, or replace one that has expired. Return 0 if there is another claim."""
    claimed: int = (
        IdempotencyKey.insert(
            digest=digest, request_digest=request_digest, claimed_at=now, created_at=now
        )
        .on_conflict(
            conflict_target=[IdempotencyKey.digest],
            update={
                IdempotencyKey.request_digest: request_digest,
                IdempotencyKey.claimed_at: now,
                IdempotencyKey.created_at: now,
                IdempotencyKey.status: None,
                IdempotencyKey.body: None,
            },
            where=(IdempotencyKey.created_at < now - KEPT_FOR)
            | (
                IdempotencyKey.status.is_null()
                & (IdempotencyKey.claimed_at < now - CLAIM_LAPSES_AFTER)
            ),
        )
        .as_rowcount()
        .execute()
    )
    return claimed


def keep(digests: Sequence[str], answer: Answer) -> None:
    """Store the response of the request that holds these claims."""
    (
        IdempotencyKey.update(status=answer.status, body=answer.body)
        .where(IdempotencyKey.digest.in_(digests))
        .execute()
    )


def give_up(digests: Sequence[str]) -> None:
    """Delete the claims, so that the request can be repeated. It had no effect.

    If the database fails, the next `claim` of this process deletes them.
    """
    if not digests:
        return
    try:
        _delete_claims(IdempotencyKey.digest.in_(digests))
    except UNAVAILABLE:
        now = clock.now()
        for digest in digests:
            # A later claim belongs to a repeat, which may be running.
            _not_given_up[digest, now] = IdempotencyKey.claimed_at <= now
        raise


def _give_up_later() -> None:
    """Delete the claims that could not be deleted while the database was unavailable."""
    for (digest, since), which in list(_not_given_up.items()):
        if since > clock.now() - CLAIM_LAPSES_AFTER:
            _delete_claims((IdempotencyKey.digest == digest) & which)
        _not_given_up.pop((digest, since), None)


def _delete_claims(which: Any) -> None:
    IdempotencyKey.delete().where(which, IdempotencyKey.status.is_null()).execute()


def forget_old() -> None:
    """Delete responses that are older than the time for repeats."""
    old = (
        IdempotencyKey.select(IdempotencyKey.digest)
        .where(IdempotencyKey.created_at < clock.now() - KEPT_FOR)
        .limit(DELETED_AT_ONCE)
    )
    IdempotencyKey.delete().where(IdempotencyKey.digest.in_(old)).execute()
