"""Settlement: from the payments seen on a chain to the state of the intents they pay.

Whoever calls (the worker, a purchase, a cancelation), an intent's amounts, status and flags
follow from its payments through `_settle`, under the intent's lock; calling it again changes
nothing. Locks are taken in one order: the chain, intents by id, ticket types.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from peewee import Expression

from ticketing import clock
from ticketing.chain.answers import Block, Transfer
from ticketing.chain.registry import Chain
from ticketing.conflicts import IntentNotCancelable
from ticketing.constants import LIVE, WATCH_AFTER_END, AdmissionStatus, IntentStatus
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import ChainUnavailable
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import AWAITING, UNSETTLED, PaymentIntent
from ticketing.services import chains, counters
from ticketing.services.chains import ChainView
from ticketing.services.orders import admissions, intents, stock
from ticketing.services.payments import balances, block_history, payments

INTENTS_PER_TRANSACTION = 100


class CursorMoved(Exception):
    """Another worker has read this chain further: what was just read is not needed."""


def confirm_free(intent_id: str) -> PaymentIntent:
    """Confirm an order of nothing to pay, or expire it if its hold has ended."""
    with write_transaction():
        (intent,) = _lock([intent_id])
        if intent.status == IntentStatus.AWAITING_PAYMENT:
            expired = clock.now() > intent.expires_at
            status = IntentStatus.EXPIRED if expired else IntentStatus.CONFIRMED
            _enter(intent, status, clock.now())
        return intent


def settle_view(intent: PaymentIntent, seen: ChainView, *, to_drop: bool = False) -> PaymentIntent:
    """Bring the books of one intent to what was seen of it just now, and settle it.

    What the worker has read meanwhile stands above what was read here. ChainUnavailable if its
    hold would be dropped, now or by the caller (`to_drop`), while its address holds more than
    the books tell.
    """
    with write_transaction():
        terms = intent.terms
        cursor = chains.cursor_of(_chain_state(terms.chain_id, shared=True))
        (intent,) = _lock([intent.id])
        before = intent.status
        if cursor is not None:
            gone_back = seen.after is not None and cursor.number < seen.after.number
            if gone_back or cursor.number >= seen.as_of.number:
                seen = replace(seen, as_of=cursor, transfers=[])
            above = [each for each in seen.transfers if each.block.number > cursor.number]
            seen = replace(seen, after=cursor, transfers=above)
        payments.record(terms.chain_id, terms.token_address, seen.transfers, of_one=True)
        payments.take_out_missing(
            terms.chain_id,
            seen.after.number + 1 if seen.after else 0,
            seen.as_of.number,
            [terms.address],
            seen.transfers,
        )
        _settle(intent, seen.as_of)
        drops = intent.status == IntentStatus.EXPIRED != before
        if (drops or to_drop) and (
            seen.balance is None or seen.balance > payments.booked_atomic(intent)
        ):
            raise ChainUnavailable
        return intent


def cancel(intent_id: str) -> PaymentIntent:
    """Cancel an intent and release its hold. Again: nothing changes. IntentNotCancelable."""
    with write_transaction():
        (intent,) = _lock([intent_id])
        if intent.status == IntentStatus.CANCELED:
            return intent
        if intent.status != IntentStatus.AWAITING_PAYMENT or intent.amount_received > 0:
            raise IntentNotCancelable
        _enter(intent, IntentStatus.CANCELED, clock.now())
        return intent


def give_back(intent: PaymentIntent, book: Callable[[PaymentIntent], int]) -> PaymentIntent:
    """Book a refund under the intent's lock and settle it.

    `book` is given the intent as it is now, and returns what it has written down, in micro-units.
    """
    with write_transaction():
        cursor = chains.cursor_of(_chain_state(intent.terms.chain_id, shared=True))
        (intent,) = _lock([intent.id])
        _write_changes(intent, {"refunded": intent.refunded + book(intent)})
        if cursor is None:
            raise ChainUnavailable("The worker has not looked at this chain yet.")
        _settle(intent, cursor)
        return intent


def start_reading(chain: Chain, cursor: Block) -> None:
    """Begin to read a chain after `cursor`, unless it is being read already."""
    with write_transaction():
        state = _chain_state(chain.chain_id)
        if chains.cursor_of(state) is None:
            _move_cursor(chain.chain_id, cursor)


def record_range(
    chain: Chain,
    first: int,
    last: Block,
    watched: Collection[str],
    transfers: Sequence[Transfer],
) -> None:
    """Book all that blocks `first`..`last` hold for the watched addresses, and move the cursor.

    What was booked in these blocks and is not there any more is taken out. CursorMoved if the
    cursor does not stand right before `first`.
    """
    with write_transaction():
        cursor = chains.cursor_of(_chain_state(chain.chain_id))
        if cursor is None or cursor.number != first - 1:
            raise CursorMoved(f"chain {chain.chain_id} is being read by another worker")
        touched = payments.record(chain.chain_id, chain.token_address, transfers)
        touched |= payments.take_out_missing(chain.chain_id, first, last.number, watched, transfers)
        for intent in _lock(touched):
            _settle(intent, last)
        _move_cursor(chain.chain_id, last)


def rewind(chain: Chain, ancestor: Block) -> None:
    """Go back to the last block that a reorganization left, and take out what it removed.

    The blocks after `ancestor` are read again; what they hold now is put back then.
    """
    with write_transaction():
        cursor = chains.cursor_of(_chain_state(chain.chain_id))
        if cursor is None or cursor.number < ancestor.number:
            raise CursorMoved(f"chain {chain.chain_id} is being read by another worker")
        touched = payments.take_out_after(chain.chain_id, ancestor.number)
        # Time does not go back: a grace is counted from when the payment was last seen there.
        as_of = replace(ancestor, time=cursor.time)
        for intent in _lock(touched):
            _settle(intent, as_of)
            # What it lost may come back in any block: from now on its logs are asked for again.
            payments.watch_again(intent, as_of.time)
        block_history.forget_after(chain.chain_id, ancestor.number)
        _move_cursor(chain.chain_id, ancestor)


def settle(chain_id: int, intent_ids: Collection[str]) -> int:
    """Settle intents whose place in time may have changed, as of the cursor.

    Return how many have another status now.
    """
    moved = 0
    with write_transaction():
        cursor = chains.cursor_of(_chain_state(chain_id, shared=True))
        if cursor is not None:
            for intent in _lock(intent_ids):
                before = intent.status
                _settle(intent, cursor)
                moved += intent.status != before
    return moved


def record_found(intent: PaymentIntent, transfers: Sequence[Transfer]) -> None:
    """Book transfers to one intent that lie at or below the cursor, and settle it."""
    terms = intent.terms
    with write_transaction():
        cursor = chains.cursor_of(_chain_state(terms.chain_id, shared=True))
        (intent,) = _lock([intent.id])
        if cursor is not None:
            known = [each for each in transfers if each.block.number <= cursor.number]
            payments.record(terms.chain_id, terms.token_address, known, of_one=True)
            _settle(intent, cursor)


def deep_enough(chain_id: int, cursor: Block) -> list[str]:
    """Return some intents whose payment is final by now."""
    return _ids(
        chain_id,
        UNSETTLED
        & (PaymentIntent.amount_received - PaymentIntent.refunded >= PaymentIntent.amount)
        & (PaymentIntent.paid_block + PaymentIntent.required_confirmations - 1 <= cursor.number),
    )


def past_deadline(chain_id: int, cursor: Block) -> list[str]:
    """Return some intents whose deadline has passed unpaid."""
    return _ids(chain_id, AWAITING & (PaymentIntent.expires_at < cursor.time))


def expire_free() -> int:
    """Expire orders of nothing to pay whose hold has ended. Return how many."""
    past = PaymentIntent.select(PaymentIntent.id).where(
        PaymentIntent.chain_id.is_null(), AWAITING, PaymentIntent.expires_at < clock.now()
    )
    found = [intent.id for intent in past.limit(INTENTS_PER_TRANSACTION)]
    for intent_id in found:
        confirm_free(intent_id)
    return len(found)


def _ids(chain_id: int, condition: Expression) -> list[str]:
    query = PaymentIntent.select(PaymentIntent.id).where(
        PaymentIntent.chain_id == chain_id, condition
    )
    return [intent.id for intent in query.limit(INTENTS_PER_TRANSACTION)]


def _settle(intent: PaymentIntent, as_of: Block) -> None:
    """Bring one locked intent to the state that its payments give it."""
    sums = balances.add_up(intent, intents.payments_of(intent), as_of)
    status = sums.status
    if sums.is_newly_paid_late and stock.hold_again(intent.ticket_type_id, intent.quantity):
        status = sums.paid_status
    _enter(
        intent,
        status,
        max(as_of.time, clock.now()),
        amount_received=sums.received,
        refund_due=sums.refund_due(status),
        paid_block=sums.paid_block,
        flags=sums.flags,
        expires_at=sums.deadline,
        grace_until=sums.grace_until,
    )


def _enter(intent: PaymentIntent, status: IntentStatus, now: datetime, **columns: Any) -> None:
    """Write a locked intent with its new status, and what the move causes."""
    before = IntentStatus(intent.status)
    columns["status"] = status
    if status is IntentStatus.CONFIRMED and intent.confirmed_at is None:
        columns["confirmed_at"] = clock.now()
    if status is not before and status not in LIVE and intent.chain_id is not None:
        columns["watch_until"] = now + WATCH_AFTER_END
    _write_changes(intent, columns)
    if status is not before:
        counters.add(counters.ENTERED, status)
    match before, status:
        case (
            IntentStatus.AWAITING_PAYMENT | IntentStatus.PROCESSING | IntentStatus.EXPIRED,
            IntentStatus.CONFIRMED,
        ):
            stock.sell(intent.ticket_type_id, intent.quantity)
            admissions.issue(intent)
        case (
            IntentStatus.AWAITING_PAYMENT | IntentStatus.PROCESSING,
            IntentStatus.EXPIRED | IntentStatus.CANCELED,
        ):
            stock.release(intent.ticket_type_id, intent.quantity)
        case IntentStatus.CONFIRMED, IntentStatus.REVERSED:
            admissions.set_status(intent, AdmissionStatus.SUSPENDED)
        case IntentStatus.REVERSED, IntentStatus.CONFIRMED:
            admissions.set_status(intent, AdmissionStatus.VALID)


def _write_changes(intent: PaymentIntent, columns: dict[str, Any]) -> None:
    """Write what differs in one UPDATE, guarded by the status that the decision was made on."""
    changes = {name: value for name, value in columns.items() if getattr(intent, name) != value}
    if not changes:
        return
    written = (
        PaymentIntent.update(changes)
        .where(PaymentIntent.id == intent.id, PaymentIntent.status == intent.status)
        .execute()
    )
    if written != 1:
        raise AssertionError(f"{intent.id} was not locked")
    for name, value in changes.items():
        setattr(intent, name, value)


def _lock(intent_ids: Iterable[str]) -> Sequence[PaymentIntent]:
    query = PaymentIntent.select().where(PaymentIntent.id.in_(list(intent_ids)))
    return list(locked(query.order_by(PaymentIntent.id)))


def _chain_state(chain_id: int, *, shared: bool = False) -> ChainState | None:
    state: ChainState | None = locked(
        ChainState.select().where(ChainState.chain_id == chain_id), shared=shared
    ).first()
    return state


def _move_cursor(chain_id: int, cursor: Block) -> None:
    block_history.remember(chain_id, cursor)
    (
        ChainState.update(
            block_number=cursor.number,
            block_hash=cursor.hash,
            block_time=cursor.time,
            looked_at=clock.now(),
        )
        .where(ChainState.chain_id == chain_id)
        .execute()
    )
