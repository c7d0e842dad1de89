"""Store what the chain shows of listed payouts, and book it as refunds.

Events are read by the ids of lists, whoever paid, in blocks that are final, from the time of the
first list on. The events of a range and the cursor are stored in one transaction, so a worker that
was stopped goes on where it was. Then each payment that waits is booked as a refund of the order
that its id names, up to what is due. What is not due yet is tried again.

A payment with the id, payee and amount of a row that was ever listed is booked, whoever sent it and
whatever the buyer has stated since. Another payment with an id that was listed for this payer holds
the order back, until an administrator says what it was: see `paid_elsewhere`. What strangers pay
otherwise changes nothing.

Example: P has a list with (id 0, Ada, 5). If P or Q pays (id 0, Ada, 5), it is booked. If P pays
(id 0, Bob, 5) or (id 0, Ada, 4), the order is held back. If Q does, nothing changes.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from peewee import Expression, fn

from ticketing import clock
from ticketing.chain import units
from ticketing.chain.answers import Block, Transfer
from ticketing.chain.refunded_events import PaidRefund
from ticketing.chain.registry import Chain
from ticketing.constants import EPOCH
from ticketing.db.connection import write_transaction
from ticketing.errors import ChainUnavailable
from ticketing.models.order_accounts import TO_REFUND, OrderAccount
from ticketing.models.payment_intents import IS_HOME, PaymentIntent
from ticketing.models.payouts import PassedId, Payout, PayoutCursor, PayoutEvent, Unbooked
from ticketing.models.refunds import Refund
from ticketing.services import chains
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import accounts
from ticketing.services.payments import (
    block_history,
    chain_settlement,
    payments,
    payout_ids,
    refund_settlement,
    restored_payouts,
    settlement,
)
from ticketing.services.payments.booking import CursorMoved, Hashes
from ticketing.services.payments.payout_ids import Place

AGAIN = timedelta(minutes=1)
"""How often a payment that waits is tried while something is due."""

BOOKED_PER_PASS = 100

MATCHED = fn.EXISTS(
    Payout.select(Payout.payment_id).where(
        Payout.payment_id == PayoutEvent.payment_id,
        Payout.recipient == PayoutEvent.paid_to,
        Payout.atomic_amount == PayoutEvent.paid_amount,
    )
)
"""Payments with the id, the payee and the amount of a row that was listed, for whatever payer."""

MAY_COUNT = MATCHED | PayoutEvent.restored
"""Payments that are booked. After a restored backup the list may be lost: payees.py decides."""

PASSED_OVER = fn.EXISTS(
    PassedId.select(PassedId.payment_id).where(
        PassedId.payer == PayoutEvent.payer, PassedId.payment_id == PayoutEvent.payment_id
    )
)
"""Payments that were for something else, on an administrator's word."""

_LISTED = fn.EXISTS(
    Payout.select(Payout.payment_id).where(
        Payout.payer == PayoutEvent.payer, Payout.payment_id == PayoutEvent.payment_id
    )
)
_BOOKED = fn.EXISTS(
    Refund.select(Refund.id).where(
        Refund.intent == PayoutEvent.intent,
        Refund.chain_id == PayoutEvent.chain_id,
        Refund.tx_hash == PayoutEvent.tx_hash,
        Refund.log_index == PayoutEvent.transfer_log,
        Refund.block_hash == PayoutEvent.block_hash,
        Refund.canonical,
    )
)

log = logging.getLogger(__name__)


# Also what may still pay for the order, if another account is its home.
_CAN_BE_PAID_BACK = TO_REFUND | ((OrderAccount.open > 0) & ~IS_HOME)


def cursor(chain_id: int) -> Block | None:
    """Return the last block up to which events were read. None before the first list."""
    row: PayoutCursor | None = PayoutCursor.get_or_none(PayoutCursor.chain_id == chain_id)
    return None if row is None else Block(row.block_number, row.block_hash, row.block_time)


def can_be_paid(chain_id: int) -> Expression:
    """Return the condition that a row of a list was not paid yet, and can be."""
    used = PayoutEvent.select(PayoutEvent.payment_id).where(
        PayoutEvent.payer == Payout.payer, PayoutEvent.payment_id == Payout.payment_id
    )
    has_not_ended = Payout.valid_before >= ended_before(chain_id)
    found: Expression = ~fn.EXISTS(used) & has_not_ended
    return found


def ended_before(chain_id: int) -> datetime:
    """Return the time before which lists of a chain have ended.

    A list has ended when a final block, up to which the events were read, and the server's clock
    are both past its end: a node that invents a late block ends no list.
    """
    read = cursor(chain_id)
    return EPOCH if read is None else min(read.time, clock.now())


def is_listed(account: OrderAccount) -> bool:
    """Return whether a locked account is on a list that can still be paid, or was paid just now.

    Of a payment that was seen, the debt is not reduced yet, or it may return to the chain.
    """
    terms = account.terms
    of_account = Payout.select().where(
        Payout.intent == account.intent_id,
        Payout.chain_id == terms.chain_id,
        Payout.token_address == terms.token_address,
    )
    is_payable = of_account.where(can_be_paid(terms.chain_id)).exists()
    return bool(is_payable or undecided([account]))


def ids_to_read(chain_id: int, time: datetime) -> list[str] | None:
    """Return the ids whose events must be read in blocks since `time`. None: all.

    After a restored backup all are read for a while: see restored_payouts.py.
    """
    if restored_payouts.is_restored(chain_id):
        return None
    return payout_ids.listed_ids(chain_id, time)


def begin(chain_id: int, block: Block) -> None:
    """Read events from `block` on, because there will be a list. Call it with the chain locked.

    While the events of other lists are read, nothing changes: the new ones are read with them.
    """
    read = cursor(chain_id)
    if read is None or ids_to_read(chain_id, read.time) == []:
        _move_cursor(chain_id, block)


def places_of(chain_id: int, ids: Collection[str]) -> dict[str, Place]:
    """Return the account of each id that is on a list, or after a restored backup on none.

    Ids of other services are left out.
    """
    found: dict[str, Place] = {}
    asked = sorted(ids)
    for start in range(0, len(asked), 500):
        of_some = Payout.payment_id.in_(asked[start : start + 500])
        for row in Payout.select().where(Payout.chain_id == chain_id, of_some):
            found[row.payment_id] = payout_ids.place_of_row(row)
    if restored_payouts.is_restored(chain_id):
        unknown = set(ids) - found.keys()
        found |= restored_payouts.places_of(chain_id, unknown)
    return found


def seen_blocks(chain_id: int, after: int) -> list[int]:
    """Return the blocks after block `after` with an event that was seen."""
    seen = PayoutEvent.select(PayoutEvent.block_number).where(
        PayoutEvent.chain_id == chain_id, PayoutEvent.block_number > after
    )
    rows: Iterable[Any] = seen.distinct().order_by(PayoutEvent.block_number).tuples()
    return [number for (number,) in rows]


def go_back(chain: Chain, at: Block, read: Block, to: Block, hashes: Hashes) -> None:
    """After a reorganization, read again from block `to`. Forget events in replaced blocks.

    `at` is the worker's cursor, `read` the cursor of events. `hashes` are the current ones of the
    blocks with events after `to`. CursorMoved.
    """
    with write_transaction():
        _lock(chain, at, read)
        for number, block_hash in hashes.items():
            PayoutEvent.delete().where(
                PayoutEvent.chain_id == chain.chain_id,
                PayoutEvent.block_number == number,
                PayoutEvent.block_hash != block_hash,
            ).execute()
        _move_cursor(chain.chain_id, to)


def store(
    chain: Chain,
    at: Block,
    read: Block,
    last: Block,
    paid: Sequence[PaidRefund],
    places: Mapping[str, Place],
) -> None:
    """Store events in blocks up to `last`, and move the cursor of events there from `read`.

    `at` is the worker's cursor. `places`: the account of each id. CursorMoved if the worker has
    gone back before that block, or if another worker has moved the cursor of events.
    """
    with write_transaction():
        _lock(chain, at, read)
        is_restored = restored_payouts.is_restored(chain.chain_id)
        payout_ids.note_events(paid, places, restored=is_restored)
        if last.number > read.number:
            _move_cursor(chain.chain_id, last)


def _lock(chain: Chain, at: Block, read: Block) -> None:
    now = chains.cursor_of(settlement.lock_chain(chain.chain_id))
    is_linked = now is not None and (now == at or block_history.has(chain.chain_id, at))
    if not is_linked or cursor(chain.chain_id) != read:
        raise CursorMoved(f"chain {chain.chain_id}: the events of payers are being read elsewhere")


def _move_cursor(chain_id: int, block: Block) -> None:
    columns = {"block_number": block.number, "block_hash": block.hash, "block_time": block.time}
    (
        PayoutCursor.insert(chain_id=chain_id, **columns)
        .on_conflict(conflict_target=[PayoutCursor.chain_id], update=columns)
        .execute()
    )


def book_waiting(chain_id: int) -> None:
    """Book the payments of a chain that wait, and whose orders are due something now.

    At most BOOKED_PER_PASS, each in a transaction of its own.
    """
    waits = (PayoutEvent.chain_id == chain_id) & PayoutEvent.waits
    if not PayoutEvent.select().where(waits).exists():
        return
    _note_booked(chain_id)
    for event, account in _waiting(chain_id):
        # Noted first: an order that cannot be settled must not be tried at each look.
        PayoutEvent.update(tried_at=clock.now()).where(_is(event)).execute()
        chain_settlement.reduce_due_of_each([account], partial(_book, event))
    _note_untried(chain_id)


def _waiting(chain_id: int) -> Sequence[tuple[PayoutEvent, OrderAccount]]:
    """Return payments that wait, with their accounts."""
    is_time = PayoutEvent.tried_at.is_null() | (PayoutEvent.tried_at < clock.now() - AGAIN)
    waits = PayoutEvent.select().where(
        PayoutEvent.chain_id == chain_id, PayoutEvent.waits, is_time, MAY_COUNT, ~PASSED_OVER
    )
    query = (
        waits.join(OrderAccount, on=accounts.at_place(PayoutEvent))
        .join(PaymentIntent)
        .where(_CAN_BE_PAID_BACK)
    )
    return _with_accounts(query.order_by(PayoutEvent.payment_id).limit(BOOKED_PER_PASS))


def _note_untried(chain_id: int) -> None:
    """Note why payments do not count that are not tried: nothing is due, or nobody listed them.

    What strangers pay otherwise has no reason: it is nobody's mistake.
    """
    waits = PayoutEvent.select().where(
        PayoutEvent.chain_id == chain_id,
        PayoutEvent.waits,
        PayoutEvent.unbooked.is_null(),
        MAY_COUNT | _LISTED,
        ~PASSED_OVER,
    )
    untried = ~_CAN_BE_PAID_BACK | ~MAY_COUNT
    query = (
        waits.join(OrderAccount, on=accounts.at_place(PayoutEvent))
        .join(PaymentIntent)
        .where(untried)
    )
    for event, account in _with_accounts(query.limit(BOOKED_PER_PASS)):
        _note_unbooked(event, account)


def _with_accounts(events: Iterable[PayoutEvent]) -> list[tuple[PayoutEvent, OrderAccount]]:
    rows = list(events)
    of_place = _of_places(rows)
    return [
        (row, of_place[place])
        for row in rows
        if (place := payout_ids.place_of_row(row)) in of_place
    ]


def _of_places(rows: Sequence[PayoutEvent]) -> dict[Place, OrderAccount]:
    """Return the accounts that some payments belong to, by their place."""
    intents = payments.intents_of({row.intent_id for row in rows})
    accounts.read(intents)
    return {payout_ids.place_of(each): each for intent in intents for each in intent.accounts}


def undecided(accounts: Sequence[OrderAccount]) -> dict[int, str]:
    """Return the accounts with a payment that counts and is not settled, and its transaction.

    Such an order must be on no list: its next payment would have another id, and pay it again. The
    payment is not booked yet, or it was taken back by a reorganization and may return.

    Example: a list of 150 orders was paid, and the worker has booked 100. The other 50 are here.
    """
    is_taken_back = PayoutEvent.unbooked.is_null() & ~PayoutEvent.waits & ~_BOOKED
    found = {}
    for event, account in _events_of(accounts, MAY_COUNT, PayoutEvent.waits | is_taken_back):
        if not event.waits or _may_count(account, event):
            found[account.id] = event.tx_hash
    return found


def paid_elsewhere(accounts: Sequence[OrderAccount]) -> dict[int, PayoutEvent]:
    """Return the accounts that real money holds back, with its payment.

    Somebody paid it with an id of the account, and it is not what was listed: another payee, or
    another amount. It is of a payer for whom that id was listed, or it was read after a backup was
    restored, and went to an address that may not get refunds of this order. It ends once an
    administrator settles it, or says that it was for something else.
    """
    found = {}
    for event, account in _events_of(accounts, ~MATCHED, ~_BOOKED, PayoutEvent.restored | _LISTED):
        if not (event.restored and refund_settlement.may_receive(account, _transfer(event))):
            found[account.id] = event
    return found


def _events_of(
    accounts: Sequence[OrderAccount], *conditions: Any
) -> Iterator[tuple[PayoutEvent, OrderAccount]]:
    of_place = {payout_ids.place_of(account): account for account in accounts}
    intent_ids = list({account.intent_id for account in accounts})
    rows = PayoutEvent.select().where(PayoutEvent.intent.in_(intent_ids), ~PASSED_OVER, *conditions)
    for row in rows.order_by(PayoutEvent.block_number):
        account = of_place.get(payout_ids.place_of_row(row))
        if account is not None:
            yield row, account


def _may_count(account: OrderAccount, event: PayoutEvent) -> bool:
    try:
        return refund_settlement.would_count(account, _transfer(event), _payee_of(event)) > 0
    except ChainUnavailable:
        return True  # it is recorded in another block


def _payee_of(event: PayoutEvent) -> str | None:
    """Return whom a payment may pay because it was listed. None: by the rules of payees.py only."""
    is_matched = PayoutEvent.select().where(_is(event), MATCHED).exists()
    return str(event.paid_to) if is_matched else None


def _note_booked(chain_id: int) -> None:
    """Note which payments are booked because somebody named the transaction."""
    rows = list(
        PayoutEvent.select().where(
            PayoutEvent.chain_id == chain_id,
            PayoutEvent.waits,
            PayoutEvent.unbooked.is_null() | (PayoutEvent.unbooked != str(Unbooked.SURPLUS)),
            _BOOKED,
        )
    )
    for row, account in _with_accounts(rows):
        _note_counted(row, account)


def _note_counted(event: PayoutEvent, account: OrderAccount) -> None:
    """Note that a payment counts. A surplus waits: more may be due later."""
    booked = Refund.select(fn.SUM(Refund.amount)).where(
        Refund.intent == event.intent_id,
        Refund.chain_id == event.chain_id,
        Refund.tx_hash == event.tx_hash,
        Refund.log_index == event.transfer_log,
        Refund.canonical,
    )
    value = units.from_atomic(int(event.paid_amount), account.terms.decimals)[0]
    has_surplus = int(booked.scalar() or 0) < value
    reason = str(Unbooked.SURPLUS) if has_surplus else None
    PayoutEvent.update(waits=has_surplus, unbooked=reason).where(_is(event)).execute()


def _is(event: PayoutEvent) -> Expression:
    found: Expression = (PayoutEvent.payer == event.payer) & (
        PayoutEvent.payment_id == event.payment_id
    )
    return found


def _book(event: PayoutEvent, account: OrderAccount, as_of: Block) -> dict[str, int]:
    """Count a payment as a refund of its locked account. Return its new `refunded`, or nothing.

    The chain is locked, so the event stays where it is. Its Transfer counts for no other order: see
    payout_ids.transfers_for.
    """
    is_same = (PayoutEvent.block_hash == event.block_hash) & PayoutEvent.waits
    if not PayoutEvent.select().where(_is(event), is_same, ~PASSED_OVER).exists():
        return {}
    if event.block_number > account.terms.final_up_to(as_of.number) or not account.returnable_now:
        return {}
    transfer = _transfer(event)
    settlement.lock_tenant(account.tenant_id)
    try:
        counted = refund_settlement.count(account, [transfer], _payee_of(event), may_grow=True)
    except ChainUnavailable:
        # It is recorded in a block that was replaced, which the worker has not taken back yet.
        return {}
    if not counted:
        _note_unbooked(event, account)
        return {}
    _note_counted(event, account)
    fact = facts.refund_settled(account, counted, transfer.tx_hash, automatic=True)
    feed.record(account.tenant_id, *fact)
    return {"refunded": account.refunded + counted}


def _transfer(event: PayoutEvent) -> Transfer:
    return Transfer(
        tx_hash=event.tx_hash,
        log_index=event.transfer_log,
        block=Block(event.block_number, event.block_hash, event.block_time),
        sender=event.payer,
        recipient=event.paid_to,
        atomic_amount=int(event.paid_amount),
    )


def _note_unbooked(event: PayoutEvent, account: OrderAccount) -> None:
    """Note why a payment does not count now. The buyer may still state its address."""
    if event.unbooked == Unbooked.SURPLUS:
        return
    may_count = _payee_of(event) is not None or (
        event.restored and refund_settlement.may_receive(account, _transfer(event))
    )
    reason = Unbooked.NOTHING_DUE if may_count else Unbooked.OTHER_PAYMENT
    if event.unbooked != reason:
        PayoutEvent.update(unbooked=reason).where(_is(event)).execute()
        log.warning("order %s: a listed refund does not count: %s", account.intent_id, reason)
