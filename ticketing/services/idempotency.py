"""Idempotency-Key: a repeated request gets the first response and has no second effect.

A request first claims its key. Its response is stored in the transaction of its effect, so after
a crash there are both or neither.

The claim of a form, or of a key in a body, is a part of that transaction (`claim_within`). A repeat
waits in the database until it ends.

The claim of a header is committed before (`claim`): its request may read a chain first. An
abandoned claim expires after a minute. If the database fails during a request, its process deletes
the claim as soon as the database is back.

Example: Ada orders with key K in the header, and her connection breaks before the response arrives.

    10:00:00  her request claims K, creates the order, and stores its response 201 for K
    10:00:05  she repeats the request: the stored 201 answers, and there is no second order
    10:00:07  she uses K for two tickets instead of one: IdempotencyKeyReused

A response without an effect is not stored. A client without a credential has a bound of stored
responses a day, and an order has one: else one client could fill the disk. On Postgres, forms that
run at the same time do not count each other.

If the process was killed before it stored the response, there is no order. A repeat gets
IdempotencyStillRunning until 10:01:00. Then it takes over the claim and creates the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from peewee import ModelDelete, ModelSelect, ModelUpdate, fn

from ticketing import clock
from ticketing.constants import KEYS_PER_ORDER
from ticketing.db import pruning
from ticketing.db.connection import UNAVAILABLE
from ticketing.errors import IdempotencyKeyReused, IdempotencyStillRunning, TooManyRequests
from ticketing.limits import WIDE_FACTOR
from ticketing.models.base import UtcDateTimeField
from ticketing.models.idempotency import IdempotencyKey
from ticketing.models.prepared import Prepared

KEPT_FOR = timedelta(hours=24)
CLAIM_LAPSES_AFTER = timedelta(seconds=60)

_instant: Callable[[Any], Any] = UtcDateTimeField().python_value

# The clock may be set back while a request runs.
_EVER, _NEVER = datetime(2000, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
_not_given_up: dict[tuple[str, datetime], datetime] = {}
"""Claims of this process that could not be deleted: digest, latest and earliest time of claim.

Example: at 10:00:00 a claim of K is sent, and the connection breaks. It may be stored or not. The
entry `(K, 10:00:00): 10:00:00` lets the next request delete exactly this claim. The claim of a
repeat at 10:00:05, which another process may be running, stays.
"""


@dataclass(frozen=True)
class Claim:
    """The identity of a request: a digest of its key, and a digest of its content."""

    digest: str
    request_digest: str


@dataclass(frozen=True)
class Owner:
    """Who sent a request without a credential: its stored responses of a day are counted.

    `networks`: digests of the client's networks, from narrow to wide. `most`: stored responses of
    the narrow one a day. 0: any number. The wider one may have WIDE_FACTOR times as many.
    """

    order_id: str | None
    networks: Sequence[str]
    most: int


@dataclass(frozen=True)
class Answer:
    """A stored response: a status and a JSON text."""

    status: int
    body: str


def claim(claims: Sequence[Claim], owner: Owner | None = None) -> Answer | None:
    """Claim a request. Return the stored response, or None if the request may run now.

    There are two claims while there are two SECRET_KEYs, because another host may know only one.
    `owner`: None if the request has a credential. IdempotencyKeyReused for another body.
    IdempotencyStillRunning while the first request is running. TooManyRequests if the owner has too
    many stored responses.
    """
    give_up_later()
    digests: list[str] = []
    try:
        for one in _in_order(claims):
            now = clock.now()
            try:
                # One of two claims has the owner, so that a request counts once.
                answer = _claim_one(one, None if digests else owner, now)
            except UNAVAILABLE:
                # It may have been committed. A claim with another time is of another request.
                _not_given_up[one.digest, now] = now
                raise
            if answer is not None:
                give_up(digests)
                return answer
            digests.append(one.digest)
        if owner is not None:
            _check_count(owner)
    except BaseException:
        give_up(digests)
        raise
    return None


def claim_within(claims: Sequence[Claim], owner: Owner | None) -> Answer | None:
    """Do the same as a part of the current transaction, which removes the claim if it fails.

    If another transaction has the claim, wait for its end. Whatever is returned, call `keep` for
    all claims: one of them may be new. Before the transaction, call `give_up_later`.
    IdempotencyKeyReused, TooManyRequests.
    """
    stored, now = None, clock.now()
    for place, one in enumerate(_in_order(claims)):
        stored = _claim_one(one, None if place else owner, now) or stored
    if stored is None and owner is not None:
        _check_count(owner)
    return stored


def _in_order(claims: Sequence[Claim]) -> Sequence[Claim]:
    """Return claims in the order that prevents a deadlock of two requests with the same two."""
    return sorted(claims, key=lambda one: one.digest)


def _claim_one(one: Claim, owner: Owner | None, now: datetime) -> Answer | None:
    claimed = _insert_claim.run(
        digest=one.digest,
        request_digest=one.request_digest,
        now=now,
        kept=now - KEPT_FOR,
        lapsed=now - CLAIM_LAPSES_AFTER,
        order_id=owner.order_id if owner else None,
        client=owner.networks[0] if owner else None,
        client_site=owner.networks[1] if owner and len(owner.networks) > 1 else None,
    )
    if claimed:
        return None
    first: IdempotencyKey | None = _find.first(digest=one.digest)
    if first is not None and first.request_digest != one.request_digest:
        raise IdempotencyKeyReused
    if first is None or first.status is None or first.body is None:
        raise IdempotencyStillRunning
    return Answer(first.status, first.body)


@Prepared
def _insert_claim(
    digest: Any,
    request_digest: Any,
    now: Any,
    kept: Any,
    lapsed: Any,
    order_id: Any,
    client: Any,
    client_site: Any,
) -> Any:
    """Insert a claim, or replace one that has expired."""
    is_abandoned = IdempotencyKey.status.is_null() & (IdempotencyKey.claimed_at < lapsed)
    return (
        IdempotencyKey.insert(
            digest=digest,
            request_digest=request_digest,
            claimed_at=now,
            created_at=now,
            order_id=order_id,
            client=client,
            client_site=client_site,
        )
        .on_conflict(
            conflict_target=[IdempotencyKey.digest],
            update={
                IdempotencyKey.request_digest: request_digest,
                IdempotencyKey.claimed_at: now,
                IdempotencyKey.created_at: now,
                IdempotencyKey.status: None,
                IdempotencyKey.body: None,
                IdempotencyKey.order_id: order_id,
                IdempotencyKey.client: client,
                IdempotencyKey.client_site: client_site,
            },
            where=(IdempotencyKey.created_at < kept) | is_abandoned,
        )
        .as_rowcount()
    )


@Prepared
def _find(digest: Any) -> ModelSelect[IdempotencyKey]:
    return IdempotencyKey.select().where(IdempotencyKey.digest == digest)


@Prepared
def _store(digest: Any, status: Any, body: Any) -> ModelUpdate:
    return IdempotencyKey.update(status=status, body=body).where(IdempotencyKey.digest == digest)


@Prepared
def _delete_claim(digest: Any, first: Any, last: Any) -> ModelDelete:
    return IdempotencyKey.delete().where(
        IdempotencyKey.digest == digest,
        IdempotencyKey.status.is_null(),
        IdempotencyKey.claimed_at.between(first, last),
    )


def _check_count(owner: Owner) -> None:
    """Check how many responses the owner has stored in a day, this claim included."""
    now = clock.now()
    since = now - KEPT_FOR
    counted = []
    if owner.order_id is not None:
        counted.append((_of_order.tuples(order_id=owner.order_id, since=since), KEYS_PER_ORDER))
    if owner.most:
        for place, (network, query) in enumerate(zip(owner.networks, _OF_NETWORKS, strict=False)):
            most = owner.most * WIDE_FACTOR**place
            counted.append((query.tuples(client=network, since=since), most))
    for ((count, first),), most in counted:
        if count > most:
            wait = _instant(first) + KEPT_FOR - now
            raise TooManyRequests(retry_after=max(1, math.ceil(wait.total_seconds())))


def _count() -> ModelSelect[IdempotencyKey]:
    return IdempotencyKey.select(fn.COUNT(IdempotencyKey.digest), fn.MIN(IdempotencyKey.created_at))


@Prepared
def _of_order(order_id: Any, since: Any) -> ModelSelect[IdempotencyKey]:
    return _count().where(IdempotencyKey.order_id == order_id, IdempotencyKey.created_at > since)


@Prepared
def _of_client(client: Any, since: Any) -> ModelSelect[IdempotencyKey]:
    return _count().where(IdempotencyKey.client == client, IdempotencyKey.created_at > since)


@Prepared
def _of_site(client: Any, since: Any) -> ModelSelect[IdempotencyKey]:
    return _count().where(IdempotencyKey.client_site == client, IdempotencyKey.created_at > since)


_OF_NETWORKS: tuple[Prepared[IdempotencyKey], ...] = (_of_client, _of_site)


def is_claimed(digest: str) -> bool:
    """Return whether there is a committed claim with this digest, or a stored response."""
    return _find.first(digest=digest) is not None


def keep(digests: Sequence[str], answer: Answer) -> None:
    """Store the response of the request that holds these claims."""
    for digest in digests:
        _store.run(digest=digest, status=answer.status, body=answer.body)


def give_up(digests: Sequence[str]) -> None:
    """Delete the claims, so that the request can be repeated. It had no effect.

    If the database fails, the next `claim` of this process deletes them.
    """
    try:
        for digest in digests:
            _delete_claim.run(digest=digest, first=_EVER, last=_NEVER)
    except UNAVAILABLE:
        now = clock.now()
        # A later claim belongs to a repeat, which may be running.
        _not_given_up.update({(digest, now): _EVER for digest in digests})
        raise


def give_up_later() -> None:
    """Delete the claims that could not be deleted while the database was unavailable."""
    for (digest, last), first in list(_not_given_up.items()):
        if last > clock.now() - CLAIM_LAPSES_AFTER:
            _delete_claim.run(digest=digest, first=first, last=last)
        _not_given_up.pop((digest, last), None)


def forget_old() -> None:
    """Delete responses that are older than the time for repeats."""
    is_old = IdempotencyKey.created_at < clock.now() - KEPT_FOR
    pruning.delete_some(IdempotencyKey.digest, is_old)
