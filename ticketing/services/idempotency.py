"""Idempotency-Key: a request that is sent again gets the first one's answer, and no second effect.

A request first claims its key. Its answer is then written in the transaction of its effect, so
after a kill there are both or neither; a claim that was left behind lapses after a minute.
"""

from dataclasses import dataclass
from datetime import timedelta

from ticketing import clock
from ticketing.errors import KeyReused, StillRunning
from ticketing.models.idempotency import IdempotencyKey

KEPT_FOR = timedelta(hours=24)
CLAIM_LAPSES_AFTER = timedelta(seconds=60)
DELETED_AT_ONCE = 1000


@dataclass(frozen=True)
class Answer:
    """A stored answer: a status and a JSON text."""

    status: int
    body: str


def claim(digest: str, request_digest: str) -> Answer | None:
    """Return the stored answer, or None once this request alone may run.

    KeyReused for another body, StillRunning while the first request has not been answered.
    """
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


def keep(digest: str, answer: Answer) -> None:
    """Write down the answer of the request that holds the claim."""
    (
        IdempotencyKey.update(status=answer.status, body=answer.body)
        .where(IdempotencyKey.digest == digest)
        .execute()
    )


def give_up(digest: str) -> None:
    """Let the request be tried again: it had no effect worth keeping."""
    (
        IdempotencyKey.delete()
        .where(IdempotencyKey.digest == digest, IdempotencyKey.status.is_null())
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
