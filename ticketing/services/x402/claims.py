"""The rows of signed transfers. A row is claimed before the facilitator is asked.

One order has one transfer that is settling at most, on all chains together. So copies of a request,
and two signatures of one buyer, never pay twice. While one is settling, the order's home is the
chain of it: the claim moves the order there, and nothing moves it away. The holder of a claim acts
until `next_at`. Then the worker goes on.

A failed transfer does not move the order back: the buyer chose that network, and the next claim, or
money that arrives elsewhere, moves it as from any home. So one move loses nothing, and two could
only fail at more points.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from peewee import Case

from ticketing import clock
from ticketing.backoff import Backoff
from ticketing.chain.eip3009 import Authorization
from ticketing.chain.registry import Chain
from ticketing.constants import IntentStatus
from ticketing.db.connection import one_at_a_time, write_transaction
from ticketing.errors import InvalidPayment, X402CallsUsed
from ticketing.models.base import literal
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.x402 import SETTLING, SettlementState, X402Settlement
from ticketing.services.payments import chain_settlement, home_choice, settlement

CLAIM = timedelta(seconds=40)
"""How long a claim lasts: longer than a call of the facilitator and a look at the chain."""

BACKOFF = Backoff(tuple(timedelta(seconds=each) for each in (5, 15, 45, 15)))
"""How long the worker waits after no call without an outcome, after one, and so on."""

OLD = timedelta(minutes=2)
"""A transfer without an outcome that is older waits for a quarter of its age each time.

Example: after 2 minutes it is looked at every 30 seconds, after 20 minutes every 5 minutes.
"""

CALLS = 3
"""How often the facilitator is asked to settle for one order."""

_AT_ONCE = 20


class Standing(NamedTuple):
    """Whether a transfer for an order may be on its way, and another one may be submitted."""

    is_settling: bool
    has_calls_left: bool


def find(chain_id: int, token_address: str, authorization: Authorization) -> X402Settlement | None:
    """Return the row of a signed transfer. None if it was never claimed."""
    row: X402Settlement | None = (
        X402Settlement.select()
        .where(
            X402Settlement.chain_id == chain_id,
            X402Settlement.token_address == token_address,
            X402Settlement.payer == authorization.sender,
            X402Settlement.nonce == authorization.nonce.hex(),
        )
        .first()
    )
    return row


def is_settling(intent_id: str) -> bool:
    """Return whether a transfer for this order may be on its way."""
    query = X402Settlement.select().where(X402Settlement.intent == intent_id, SETTLING)
    return bool(query.exists())


def standing(intent_id: str) -> Standing:
    """Return how far an order is paid by signed transfers."""
    shown = (X402Settlement.state, X402Settlement.calls)
    rows = list(X402Settlement.select(*shown).where(X402Settlement.intent == intent_id))
    return Standing(
        is_settling=any(row.state == SettlementState.SETTLING for row in rows),
        has_calls_left=sum(row.calls for row in rows) < CALLS,
    )


def claim(
    intent: PaymentIntent,
    chain: Chain,
    authorization: Authorization,
    signature: bytes,
    *,
    calls: int,
) -> X402Settlement | None:
    """Write the row of a transfer that is settled next. None if one of this order is settling.

    The transfer is one of the token of `chain`, a network of the order. If that is not its home, it
    becomes the home. `calls`: 1 if the caller asks the facilitator now, 0 if the worker shall. The
    caller may take over what waits for the worker. None, too, if the order is not waiting for a
    payment any more, or was moved meanwhile. X402CallsUsed. InvalidPayment if the nonce belongs to
    another order. NetworkUnavailable if the buyer wants back what is on that chain.
    """
    moves, now = intent.chain_id != chain.chain_id, clock.now()
    with write_transaction():
        one_at_a_time(f"x402 payer {authorization.sender}")
        cursors = home_choice.lock_chains(intent, chain.chain_id) if moves else {}
        # A move settles the order, which may sell its seats. A claim alone moves no stock.
        (locked,) = (settlement.lock if moves else settlement.lock_rows)([intent.id])
        if locked.status != IntentStatus.AWAITING_PAYMENT:
            return None
        known = find(chain.chain_id, chain.token_address, authorization)
        if known is not None and known.intent_id != intent.id:
            raise InvalidPayment
        rows = list(X402Settlement.select().where(X402Settlement.intent == intent.id))
        if any(row.state == SettlementState.SETTLING for row in rows):
            is_left = known is not None and calls > known.calls and take(known, calls=calls)
            return known if is_left else None
        if sum(row.calls for row in rows) >= CALLS:
            raise X402CallsUsed(intent=intent)
        if locked.chain_id != chain.chain_id:
            if not (moves and home_choice.may_move(locked)):
                return None
            home_choice.move(locked, chain, cursors)
            if locked.status != IntentStatus.AWAITING_PAYMENT:
                return None  # it is paid there already
        row = known or X402Settlement(
            chain_id=chain.chain_id,
            token_address=chain.token_address,
            payer=authorization.sender,
            nonce=authorization.nonce.hex(),
            intent=intent.id,
            calls=0,
            created_at=now,
        )
        # A failed transfer may be signed again with its nonce: until another time, for another sum.
        row.value = str(authorization.value)
        row.valid_after = authorization.valid_after
        row.valid_before = authorization.valid_before
        row.signature = signature.hex()
        row.state = SettlementState.SETTLING
        row.calls += calls
        row.next_at = now + CLAIM if calls else now
        row.save(force_insert=known is None)
        return row


def due(chain_id: int) -> Sequence[X402Settlement]:
    """Return transfers of a chain with which the worker must go on, those of open orders first.

    Many for orders that have ended must not delay who waits for a ticket.
    """
    ended = Case(None, [(PaymentIntent.status == literal(IntentStatus.AWAITING_PAYMENT), 0)], 1)
    query = X402Settlement.select().join(PaymentIntent)
    is_due = X402Settlement.next_at <= clock.now()
    query = query.where(X402Settlement.chain_id == chain_id, SETTLING, is_due)
    return list(query.order_by(ended, X402Settlement.next_at).limit(_AT_ONCE))


def take(row: X402Settlement, **columns: int) -> bool:
    """Take over a transfer whose time has come. False if another process was faster."""
    now = clock.now()
    is_due = (X402Settlement.next_at == row.next_at) & (X402Settlement.next_at <= now)
    taken = _update(row, next_at=now + CLAIM, **columns).where(SETTLING, is_due).execute()
    row.next_at = now + CLAIM
    return bool(taken == 1)


def count_call(row: X402Settlement) -> bool:
    """Count the next call of the facilitator. False if the order has had all its calls.

    False, too, if the caller does not hold the claim any more. Example: the claim ended while the
    caller slept, another process found that the transfer failed, and the order moved to another
    chain. Then this transfer must not be submitted.
    """
    with write_transaction():
        settlement.lock_rows([row.intent_id])
        rows = X402Settlement.select().where(X402Settlement.intent == row.intent_id)
        if sum(each.calls for each in rows) >= CALLS:
            return False
        counted = _update(row, calls=X402Settlement.calls + 1)
        if not counted.where(SETTLING, X402Settlement.next_at == row.next_at).execute():
            return False
        row.calls += 1
        return True


def note_transaction(row: X402Settlement, tx_hash: str | None) -> None:
    """Keep the transaction that the facilitator named."""
    if tx_hash is not None:
        row.tx_hash = tx_hash
        _update(row, tx_hash=tx_hash).execute()


def wait(row: X402Settlement) -> None:
    """Leave a transfer to the worker, after a pause. Pauses grow with its age."""
    now, pause = clock.now(), BACKOFF.pause(row.calls + 1)
    age = now - row.created_at
    _end_claim(row, next_at=now + (max(pause, age / 4) if age > OLD else pause))


def end(row: X402Settlement, state: SettlementState) -> None:
    """Write the outcome of a transfer."""
    _end_claim(row, state=state)


def give_up(row: X402Settlement) -> None:
    """Write that a transfer did not pay. Then money on another chain may pay for the order.

    If the process dies in between, the next look at the order settles it, or its deadline does.
    """
    end(row, SettlementState.FAILED)
    chain_settlement.settle_again(row.chain_id, [row.intent_id], may_expire=False)


def _end_claim(row: X402Settlement, **columns: Any) -> None:
    """Write columns, unless another process has taken over the transfer meanwhile."""
    _update(row, **columns).where(SETTLING, X402Settlement.next_at == row.next_at).execute()


def _update(row: X402Settlement, **columns: Any) -> Any:
    return X402Settlement.update(columns).where(
        X402Settlement.chain_id == row.chain_id,
        X402Settlement.token_address == row.token_address,
        X402Settlement.payer == row.payer,
        X402Settlement.nonce == row.nonce,
    )


def has_passed(row: X402Settlement, time: datetime) -> bool:
    """Return whether the token refuses a transfer in blocks of this time."""
    return bool(row.valid_before <= time.timestamp())
