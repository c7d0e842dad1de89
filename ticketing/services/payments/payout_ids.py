"""Which order an id of a payout belongs to, which id is an order's next one, which were seen."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from peewee import Case, fn

from ticketing.chain import refunded_events
from ticketing.chain.answers import Transfer
from ticketing.chain.refunded_events import PaidRefund
from ticketing.models.payouts import SEEN, Payout, Unbooked
from ticketing.models.stray_accounts import Account

READ_AFTER_END = timedelta(hours=72)
"""For how long a payer's events are read after the end of its last list."""

_IDS_AHEAD = 8
"""How many ids after an order's next one are recognised. A restored backup may know too few."""


def id_of(account: Account, n: int) -> str:
    """Return the id of an account's payment after `n` others were seen: 0x and 64 hex digits."""
    terms = account.terms
    return refunded_events.payment_id(terms.chain_id, terms.token_address, account.intent_id, n)


def seen_payments(accounts: Sequence[Account]) -> dict[str, int]:
    """Return of how many payments of each account the events were seen, booked or not.

    It is the `n` of an account's next id.
    """
    places = {place_of(each): each.id for each in accounts}
    counts = dict.fromkeys(places.values(), 0)
    columns = (Payout.intent, Payout.chain_id, Payout.token_address)
    rows: Iterable[Any] = (
        Payout.select(*columns, fn.COUNT(Payout.payment_id))
        .where(Payout.intent.in_(list({each.intent_id for each in accounts})), SEEN)
        .group_by(*columns)
        .tuples()
    )
    for *place, count in rows:
        if tuple(place) in places:
            counts[places[tuple(place)]] = count
    return counts


def place_of(account: Account) -> tuple[Any, ...]:
    """Return what its payouts have in common: the order, the chain, and the token."""
    return account.intent_id, account.chain_id, account.token_address


def owners_of_ids(accounts: Sequence[Account]) -> dict[str, str]:
    """Return the ids that may be of these accounts, each with its account's id."""
    seen = seen_payments(accounts)
    return {
        id_of(account, n): account.id
        for account in accounts
        for n in range(seen[account.id] + 1 + _IDS_AHEAD)
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
    account: Account,
    transfers: Sequence[Transfer],
    paid: Sequence[PaidRefund],
    owners: Mapping[str, str],
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
