"""Which order an id of a payout belongs to, which id is an order's next one, which were seen."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from peewee import Case, fn

from ticketing.chain import refunded_events
from ticketing.chain.answers import Transfer
from ticketing.chain.refunded_events import PaidRefund
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payouts import SEEN, Payout, Unbooked

READ_AFTER_END = timedelta(hours=72)
"""For how long a payer's events are read after the end of its last list."""

_IDS_AHEAD = 8
"""How many ids after an order's next one are recognised. A restored backup may know too few."""


def id_of(intent: PaymentIntent, n: int) -> str:
    """Return the id of an order's payment after `n` others were seen: 0x and 64 hex digits."""
    terms = intent.terms
    return refunded_events.payment_id(terms.chain_id, terms.token_address, intent.id, n)


def seen_payments(intents: Sequence[PaymentIntent]) -> dict[str, int]:
    """Return of how many payments of each order the events were seen, booked or not.

    It is the `n` of an order's next id.
    """
    counts = dict.fromkeys((intent.id for intent in intents), 0)
    rows: Iterable[Any] = (
        Payout.select(Payout.intent, fn.COUNT(Payout.payment_id))
        .where(Payout.intent.in_(list(counts)), SEEN)
        .group_by(Payout.intent)
        .tuples()
    )
    return {**counts, **dict(rows)}


def owners_of_ids(intents: Sequence[PaymentIntent]) -> dict[str, str]:
    """Return the ids that may be of these orders, each with its order's id."""
    seen = seen_payments(intents)
    return {
        id_of(intent, n): intent.id
        for intent in intents
        for n in range(seen[intent.id] + 1 + _IDS_AHEAD)
    }


def listed_payers(chain_id: int, time: datetime) -> list[str]:
    """Return the payers of lists that may still be paid in blocks since `time`, or were not read.

    Their events must be read.
    """
    valid = Payout.select(Payout.payer).where(
        Payout.chain_id == chain_id, Payout.valid_before > time - READ_AFTER_END
    )
    rows: Iterable[Any] = valid.distinct().tuples()
    return sorted(payer for (payer,) in rows)


def note_seen(chain_id: int, paid: Iterable[PaidRefund]) -> None:
    """Store the events of listed payments that are final. One that is stored changes nothing."""
    for each in paid:
        _note_seen(chain_id, each)


def _note_seen(chain_id: int, paid: PaidRefund) -> None:
    event, transfer = paid.event, paid.transfer
    is_token = fn.LOWER(Payout.token_address) == event.token_address.lower()
    reason = Unbooked.NO_TRANSFER if transfer is None else Unbooked.NOTHING_DUE
    columns = {
        Payout.tx_hash: event.tx_hash,
        Payout.log_index: event.log_index,
        Payout.transfer_log: None if transfer is None else transfer.log_index,
        Payout.block_number: paid.block.number,
        Payout.block_hash: paid.block.hash,
        Payout.block_time: paid.block.time,
        Payout.paid_to: event.to,
        Payout.paid_amount: str(event.atomic_amount),
        Payout.waits: Case(None, [(is_token, transfer is not None)], False),
        Payout.unbooked: Case(None, [(is_token, str(reason))], str(Unbooked.OTHER_TOKEN)),
        Payout.tried_at: None,
    }
    is_new = Payout.tx_hash.is_null() | (Payout.block_hash != paid.block.hash)
    Payout.update(columns).where(
        Payout.payer == event.payer,
        Payout.payment_id == event.id,
        Payout.chain_id == chain_id,
        is_new,
    ).execute()


def transfers_for(
    intent: PaymentIntent,
    transfers: Sequence[Transfer],
    paid: Sequence[PaidRefund],
    owners: Mapping[str, str],
) -> list[Transfer]:
    """Return the transfers of one transaction that may count for an order.

    A Transfer that belongs to a `Refunded` event counts for the order of its id only, `paid` being
    the events of the transaction. `owners`: see `owners_of_ids`.

    Example: a list pays 5 for order A and 5 for order B, both to Ada. The first transfer counts for
    A only, although B is due to the same address.
    """
    others = {
        each.transfer.log_index
        for each in paid
        if each.transfer is not None and owners.get(each.event.id) != intent.id
    }
    return [each for each in transfers if each.log_index not in others]
