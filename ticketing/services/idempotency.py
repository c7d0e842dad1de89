"""Idempotency-Key: a request that is sent again gets the first one's answer, and no second effect.

A request first claims its key. Its answer is then written in the transaction of its effect, so
after a kill there are both or neither; a claim that was left behind lapses after a minute.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from ticketing import clock
from ticketing.conflicts import StillRunning
from ticketing.errors import KeyReused
from ticketing.models.idempotency import IdempotencyKey

KEPT_FOR = timedelta(hours=24)
CLAIM_LAPSES_AFTER = timedelta(seconds=60)
DELETED_AT_ONCE = 1000


@dataclass(frozen=True)
class Claim:
    """What a request is known by: its key and the whole of it, each digested."""

    digest: str
    request_digest: str


@dataclass(frozen=True)
class Answer:
    """A stored answer: a status and a JSON text."""

    status: int
    body: str


def claim(claims: Sequence[Claim]) -> Answer | None:
    """Return the stored answer, or None once this request alone may run: it has all its claims.

    There are two of them while there are two SECRET_KEYs, of which another host may have one.
    KeyReused for another body, StillRunning while the first request has not been answered.
    """
    taken: list[str] = []
    try:
        # In one order: of two requests that want the same two, one comes first.
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
    claimed = (
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
    if claimed:
        return None
    first: IdempotencyKey | None = IdempotencyKey.get_or_none(IdempotencyKey.digest == digest)
    if first is not None and first.request_digest != request_digest:
        raise KeyReused
    if first is None or first.status is None or first.body is None:
        raise StillRunning
    return Answer(first.status, first.body)


def keep(digests: Sequence[str], answer: Answer) -> None:
    """Write down the answer of the request that holds these claims."""
    (
        IdempotencyKey.update(status=answer.status, body=answer.body)
        .where(IdempotencyKey.digest.in_(digests))
        .execute()
    )


def give_up(digests: Sequence[str]) -> None:
    """Let the request be tried again: it had no effect worth keeping."""
    if not digests:
        return
    (
        IdempotencyKey.delete()
        .where(IdempotencyKey.digest.in_(digests), IdempotencyKey.status.is_null())
        .execute()
    )


def forget_old() -> None:
    """Delete answers that nobody can ask for any more."""
    old = (
        IdempotencyKey.select(IdempotencyKey.digest)
        .where(IdempotencyKey.created_at < clock.now() - KEPT_FOR)
        .limit(DELETED_AT_ONCE)
    )
    IdempotencyKey.delete().where(IdempotencyKey.digest.in_(old)).execute()
