"""Which order an id of a payout belongs to, and which id a payer's next payment of an order has.

Each payer has their own ids of an account, because the factory accepts an id once from each caller.
The next one is the first that this payer has not used: so what other people do with the same ids
moves nothing.

Example: P has paid id 0. P's next payment of the order has id 1. Q, who has paid nothing yet,
begins with id 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any, NamedTuple

from peewee import fn

from ticketing.chain import refunded_events
from ticketing.chain.answers import Transfer
from ticketing.chain.refunded_events import PaidRefund
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payouts import PassedId, Payout, PayoutEvent

READ_AFTER_END = timedelta(hours=72)
"""For how long the events of a list are read after its end."""

_IDS_AHEAD = 8
"""How many ids after an order's known ones are recognized. A restored backup may know too few."""


def id_of(account: OrderAccount, n: int) -> str:
    """Return the id of an account's payment by a payer who has used `n`: 0x and 64 hex digits."""
    terms = account.terms
    return refunded_events.payment_id(terms.chain_id, terms.token_address, account.intent_id, n)


def next_ids(accounts: Sequence[OrderAccount], payer: str) -> dict[int, str]:
    """Return the id of a payer's next payment of each account, by the account's id.

    An id is used once its event and the event's own Transfer are known, of whatever amount and to
    anyone, or once an administrator has said that it was used for something else.
    """
    intent_ids = list({account.intent_id for account in accounts})
    used: set[str] = set()
    for model in (PayoutEvent, PassedId):
        of_payer = model.select(model.payment_id).where(
            model.intent.in_(intent_ids), model.payer == payer
        )
        rows: Iterable[Any] = of_payer.tuples()
        used |= {payment_id for (payment_id,) in rows}
    return {
        account.id: next(each for n in count() if (each := id_of(account, n)) not in used)
        for account in accounts
    }


class Place(NamedTuple):
    """What the payouts of an account have in common."""

    tenant_id: str
    intent_id: str
    chain_id: int
    token_address: str


def place_of(account: OrderAccount) -> Place:
    """Return the place of an account. An order has one account at most at each."""
    terms = account.terms
    return Place(account.tenant_id, account.intent_id, terms.chain_id, terms.token_address)


def place_of_row(row: Payout | PayoutEvent) -> Place:
    """Return the place that a row belongs to."""
    return Place(row.tenant_id, row.intent_id, row.chain_id, row.token_address)


def owners_of_ids(accounts: Sequence[OrderAccount]) -> dict[str, int]:
    """Return the ids that may be of these accounts, each with its account's id."""
    known = _known_ids({account.intent_id for account in accounts})
    return {
        id_of(account, n): account.id
        for account in accounts
        for n in range(known.get(account.intent_id, 0) + 1 + _IDS_AHEAD)
    }


def _known_ids(intent_ids: Iterable[str]) -> dict[str, int]:
    """Return how many ids of each order were ever listed, used or passed over, at most."""
    known: dict[str, int] = {}
    for model in (Payout, PayoutEvent, PassedId):
        rows: Iterable[Any] = (
            model.select(model.intent, fn.COUNT(model.payment_id.distinct()))
            .where(model.intent.in_(list(intent_ids)))
            .group_by(model.intent)
            .tuples()
        )
        for intent_id, number in rows:
            known[intent_id] = known.get(intent_id, 0) + int(number)
    return known


def listed_ids(chain_id: int, time: datetime) -> list[str]:
    """Return the ids on lists that may still be paid in blocks since `time`, or were not read.

    Their events must be read.
    """
    valid = Payout.select(Payout.payment_id).where(
        Payout.chain_id == chain_id, Payout.valid_before > time - READ_AFTER_END
    )
    rows: Iterable[Any] = valid.distinct().tuples()
    return sorted(id_ for (id_,) in rows)


def note_events(paid: Iterable[PaidRefund], places: Mapping[str, Place], *, restored: bool) -> None:
    """Store final events with their own Transfers. One that is stored already changes nothing.

    `places`: the account of each id. An event without a Transfer in the token of its account is no
    payment: it moves no id, ends no list, and has no row. `restored`: it was read after a backup
    was restored, so its list may be unknown.
    """
    for each in paid:
        event, transfer = each.event, each.transfer
        place = places.get(event.id)
        if transfer is None or place is None:
            continue
        if event.token_address.lower() != place.token_address.lower():
            continue
        columns = {
            PayoutEvent.tx_hash: event.tx_hash,
            PayoutEvent.log_index: event.log_index,
            PayoutEvent.transfer_log: transfer.log_index,
            PayoutEvent.block_number: each.block.number,
            PayoutEvent.block_hash: each.block.hash,
            PayoutEvent.block_time: each.block.time,
            PayoutEvent.paid_to: event.to,
            PayoutEvent.paid_amount: str(event.atomic_amount),
            PayoutEvent.restored: restored,
            PayoutEvent.waits: True,
            PayoutEvent.unbooked: None,
            PayoutEvent.tried_at: None,
        }
        PayoutEvent.insert(
            {
                PayoutEvent.payer: event.payer,
                PayoutEvent.payment_id: event.id,
                PayoutEvent.tenant_id: place.tenant_id,
                PayoutEvent.intent: place.intent_id,
                PayoutEvent.chain_id: place.chain_id,
                PayoutEvent.token_address: place.token_address,
                **columns,
            }
        ).on_conflict(
            conflict_target=[PayoutEvent.payer, PayoutEvent.payment_id],
            update=columns,
            where=PayoutEvent.block_hash != each.block.hash,
        ).execute()


def transfers_for(
    account: OrderAccount,
    transfers: Sequence[Transfer],
    paid: Sequence[PaidRefund],
    owners: Mapping[str, int],
) -> list[Transfer]:
    """Return the transfers of one transaction that may count for an account.

    A Transfer that belongs to a `Refunded` event counts for the order of its id only, `paid` being
    the events of the transaction. `owners`: see `owners_of_ids`.

    Example: a list pays 5 for order A and 5 for order B, both to Ada. The first transfer counts for
    A only, although B is due to the same address.
    """
    others = {
        each.transfer.log_index
        for each in paid
        if each.transfer is not None and owners.get(each.event.id) != account.id
    }
    return [each for each in transfers if each.log_index not in others]
