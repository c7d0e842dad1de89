"""The ledger of payments: transfers seen on a chain, each known by its place there."""

import logging
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from ticketing import clock, ids
from ticketing.chain import units
from ticketing.chain.answers import Block, Transfer
from ticketing.constants import LIVE, WATCH_AFTER_END, IntentStatus
from ticketing.models.payment_intents import AWAITING, UNSETTLED, Payment, PaymentIntent

LARGEST_AMOUNT = 2**62
"""Micro-units that one intent may receive: what the column holds. No real token has as much."""

log = logging.getLogger(__name__)


def watched_addresses(chain_id: int, token_address: str, since: Block) -> frozenset[str]:
    """Return the addresses whose transfers matter after `since`: of live and just ended intents."""
    # Each part has an index by chain; what is unsettled but not live is reversed, and not watched.
    live = AWAITING | (UNSETTLED & (PaymentIntent.status == IntentStatus.PROCESSING))
    query = PaymentIntent.select(PaymentIntent.address).where(
        PaymentIntent.chain_id == chain_id,
        PaymentIntent.token_address == token_address,
        live | (PaymentIntent.watch_until > since.time),
    )
    found: Iterable[Any] = query.tuples()
    return frozenset(address for (address,) in found)


def record(
    chain_id: int, token_address: str, transfers: Sequence[Transfer], *, of_one: bool = False
) -> set[str]:
    """Write down transfers, or that they are canonical again; return the intents concerned.

    A transfer of nothing, of another token than the intent was shown, or to nobody we know is
    passed over. A reorganization moves a transaction's logs, so that one transfer may stand
    where another stood. It takes its place; where that one was another intent's and counted, not
    if the caller settles `of_one` intent alone.
    """
    recipients = {transfer.recipient for transfer in transfers}
    paid = {
        intent.address: intent
        for intent in PaymentIntent.select().where(
            PaymentIntent.address.in_(recipients),
            PaymentIntent.chain_id == chain_id,
            PaymentIntent.token_address == token_address,
        )
    }
    booked = {intent.id: intent.amount_received for intent in paid.values()}
    counted = _counted(chain_id, {transfer.tx_hash for transfer in transfers})
    touched = set()
    for transfer in transfers:
        intent = paid.get(transfer.recipient)
        if intent is None:
            continue
        before = counted.get((transfer.tx_hash, transfer.log_index), intent.id)
        if of_one and before != intent.id:
            continue
        amount, dust = units.from_atomic(transfer.atomic_amount, intent.terms.decimals)
        if booked[intent.id] + amount > LARGEST_AMOUNT:
            log.error("transfer %s is of an impossible amount: not booked", transfer.tx_hash)
        elif amount or dust:
            _write(chain_id, intent, transfer, amount, dust)
            booked[intent.id] += amount
            touched |= {intent.id, before}
    return touched


def intents_of(intent_ids: Collection[str]) -> list[PaymentIntent]:
    """Return intents by their ids."""
    return list(PaymentIntent.select().where(PaymentIntent.id.in_(list(intent_ids))))


def booked_atomic(intent: PaymentIntent) -> int:
    """Return what an intent's canonical payments add up to, in the token's own units."""
    decimals = intent.terms.decimals
    booked = Payment.select().where(Payment.intent == intent, Payment.canonical == True)  # noqa: E712
    return sum(units.to_atomic(each.amount, decimals) + each.dust for each in booked)


def cold_intents(
    chain_id: int, ended_before: datetime, swept_before: datetime, limit: int
) -> list[PaymentIntent]:
    """Return ended intents whose logs are not asked for any more, those not swept for longest.

    Who was swept once is swept for good, though his logs may be asked for again: what came while
    they were not is found in no log.
    """
    ended = PaymentIntent.select().where(
        PaymentIntent.chain_id == chain_id, PaymentIntent.status.not_in(LIVE)
    )
    new = list(
        ended.where(
            PaymentIntent.swept_at.is_null(), PaymentIntent.watch_until <= ended_before
        ).limit(limit)
    )
    swept = ended.where(PaymentIntent.swept_at <= swept_before).order_by(PaymentIntent.swept_at)
    return new + list(swept.limit(limit - len(new)))


def watch_again(intent: PaymentIntent, now: datetime) -> None:
    """Ask for the logs of an ended intent's address again, as if it had just ended."""
    until = max(now, clock.now()) + WATCH_AFTER_END
    (
        PaymentIntent.update(watch_until=until)
        .where(PaymentIntent.id == intent.id, PaymentIntent.watch_until < until)
        .execute()
    )


def note_sweep(intent: PaymentIntent, balance: int, now: datetime) -> None:
    """Keep what an address held when it was looked at."""
    (
        PaymentIntent.update(swept_at=now, swept_balance=str(balance))
        .where(PaymentIntent.id == intent.id)
        .execute()
    )


def take_out_missing(
    chain_id: int,
    first: int,
    last: int,
    watched: Collection[str],
    transfers: Sequence[Transfer],
) -> set[str]:
    """Take out of the books what was in blocks `first`..`last` and is not there any more.

    `transfers` are all that those blocks hold for the `watched` addresses. Return the intents
    that lost a payment.
    """
    present = {(transfer.tx_hash, transfer.log_index) for transfer in transfers}
    written = (
        Payment.select(Payment, PaymentIntent)
        .join(PaymentIntent)
        .where(
            Payment.chain_id == chain_id,
            Payment.block_number.between(first, last),
            Payment.canonical == True,  # noqa: E712
        )
    )
    gone = [
        payment
        for payment in written
        if payment.intent.address in watched and (payment.tx_hash, payment.log_index) not in present
    ]
    if gone:
        ids_of_gone = [payment.id for payment in gone]
        Payment.update(canonical=False).where(Payment.id.in_(ids_of_gone)).execute()
    return {payment.intent_id for payment in gone}


def take_out_after(chain_id: int, number: int) -> set[str]:
    """Take out of the books what lay in blocks after `number`; return the intents that lost it."""
    above = (
        (Payment.chain_id == chain_id)
        & (Payment.block_number > number)
        & (Payment.canonical == True)  # noqa: E712
    )
    lost = {payment.intent_id for payment in Payment.select().where(above)}
    Payment.update(canonical=False).where(above).execute()
    return lost


def _counted(chain_id: int, tx_hashes: Collection[str]) -> dict[tuple[str, int], str]:
    """Return whose the canonical payments of some transactions are, by their place there."""
    written = Payment.select().where(
        Payment.chain_id == chain_id,
        Payment.tx_hash.in_(tx_hashes),
        Payment.canonical == True,  # noqa: E712
    )
    return {(each.tx_hash, each.log_index): each.intent_id for each in written}


def _write(
    chain_id: int, intent: PaymentIntent, transfer: Transfer, amount: int, dust: int
) -> None:
    columns = {
        Payment.intent: intent.id,
        Payment.sender: transfer.sender,
        Payment.amount: amount,
        Payment.dust: dust,
        Payment.block_number: transfer.block.number,
        Payment.block_hash: transfer.block.hash,
        Payment.block_time: transfer.block.time,
        Payment.canonical: True,
    }
    Payment.insert(
        {
            Payment.id: ids.new(ids.PAYMENT),
            Payment.chain_id: chain_id,
            Payment.tx_hash: transfer.tx_hash,
            Payment.log_index: transfer.log_index,
            Payment.seen_at: clock.now(),
            **columns,
        }
    ).on_conflict(
        conflict_target=[Payment.chain_id, Payment.tx_hash, Payment.log_index], update=columns
    ).execute()
