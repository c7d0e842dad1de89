"""Settlement: the state of an order follows from its payments.

`settle` computes an order's amounts, status and flags from its payments, under a lock. The worker,
purchase and cancel all use it. To settle again changes nothing. Locks are taken in the order of
db/locks.py. What moves several ticket types locks all their stock first: see orders/seats.py.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from peewee import Expression, ModelSelect

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.constants import LIVE, WATCH_AFTER_END, IntentStatus
from ticketing.db.connection import UNAVAILABLE, locked, savepoint, write_transaction
from ticketing.errors import IntentNotCancelable
from ticketing.models.chains import ChainState
from ticketing.models.events import Event
from ticketing.models.order_accounts import NOT_FINAL, OrderAccount
from ticketing.models.payment_intents import (
    AWAITING,
    EARLY,
    IS_HOME,
    KEPT,
    SET_ASIDE,
    UNSETTLED,
    PaymentIntent,
)
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import EventStock
from ticketing.services import chains, counters
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import accounts, admissions, finality, seats
from ticketing.services.orders.stock import Seats
from ticketing.services.payments import (
    adoption,
    balances,
    late_orders,
    payment_sums,
    payments,
    strays,
)

INTENTS_PER_TRANSACTION = 100

SET_ASIDE_FOR = timedelta(minutes=10)
"""How long an order that could not be settled waits for the next try."""

log = logging.getLogger(__name__)


def confirm_free(intent_id: str) -> PaymentIntent:
    """Confirm a free order, or expire it if its hold has ended."""
    with write_transaction():
        _keep_event_of(intent_id)
        (intent,) = lock([intent_id])
        if intent.status == IntentStatus.AWAITING_PAYMENT:
            expired = clock.now() > intent.expires_at
            status = IntentStatus.EXPIRED if expired else IntentStatus.CONFIRMED
            enter(intent, status, clock.now(), set_aside_until=None)
        return intent


def cancel(intent_id: str) -> PaymentIntent:
    """Cancel an intent and release its hold. A repeat changes nothing. IntentNotCancelable.

    While a signed transfer settles, it cannot be canceled: what arrives would be owed back.
    """
    with write_transaction():
        _keep_event_of(intent_id)
        (intent,) = lock([intent_id])
        if intent.status == IntentStatus.CANCELED:
            return intent
        if adoption.is_settling(intent):
            raise IntentNotCancelable(IntentNotCancelable.settling)
        if not _may_be_given_up(intent):
            raise IntentNotCancelable
        enter(intent, IntentStatus.CANCELED, clock.now())
        return intent


def withdraw(intent_id: str, wanted: Seats) -> bool:
    """Cancel an unpaid intent that another one replaces in this transaction.

    Return whether the other one may have its `idempotency_digest`: not if this one was paid, or a
    signed transfer may still pay it. One that has ended only gives the digest up. `wanted`: what
    the other one takes of the stocks. It is locked too, in one order with what is released.
    """
    _keep_event_of(intent_id)
    (intent,) = lock_rows([intent_id])
    if intent.status in (IntentStatus.EXPIRED, IntentStatus.CANCELED):
        write_changes(intent, {"idempotency_digest": None})
        return True
    if not _may_be_given_up(intent):
        return False
    seats.lock([intent], [wanted])
    enter(intent, IntentStatus.CANCELED, clock.now(), idempotency_digest=None, resale=False)
    return True


def _may_be_given_up(intent: PaymentIntent) -> bool:
    """Return whether a locked order awaits its payment, and none was seen or is on its way."""
    return intent.is_unpaid and not adoption.is_settling(intent) and not strays.has_open(intent)


def lock_tenant(tenant_id: str) -> None:
    """Lock a tenant until the transaction ends. It is the last lock in the order."""
    list(locked(Tenant.select(Tenant.id).where(Tenant.id == tenant_id)))


@contextmanager
def or_set_aside(intent_id: str, chain_id: int | None) -> Iterator[None]:
    """Run a block in a savepoint. If it fails, log, count, and set aside its intent."""
    try:
        with savepoint():
            yield
    except UNAVAILABLE:
        raise
    except Exception as error:
        # The error's message may contain what people wrote, so only its place is logged.
        place = "".join(traceback.format_tb(error.__traceback__))
        name = type(error).__name__
        log.error("order %s cannot be settled: %s; it is set aside\n%s", intent_id, name, place)
        counters.add(counters.SET_ASIDE, str(chain_id or 0))
        until = clock.now() + SET_ASIDE_FOR
        columns = {PaymentIntent.set_aside_until: until}
        PaymentIntent.update(columns).where(PaymentIntent.id == intent_id).execute()


def deep_enough(chain_id: int, cursor: Block) -> list[str]:
    """Return some intents with a payment that may be final now.

    And some that may be confirmed early, and some that were, if their payment may be final now.

    Each is selected by the block that it waits for. So a settlement changes each one, and the next
    call returns others: many that wait do not keep others from being selected.

    Example: a payment in block 100 needs 3 confirmations. It is final at cursor 102. With 1 early
    confirmation the order may be confirmed at cursor 100, and is settled again at 102.
    """
    asked = {"chain_id": chain_id, "number": cursor.number}
    early = finality.early_enough(chain_id, cursor).where(~SET_ASIDE)
    return (
        _ids(_paid.tuples(**asked))
        or [intent.id for intent in early.limit(INTENTS_PER_TRANSACTION)]
        or _ids(_confirmed_early.tuples(**asked))
        or _ids(_not_final.tuples(**asked))
    )


_DEPTH = OrderAccount.required_confirmations - 1


@Prepared
def _paid(chain_id: Any, number: Any) -> ModelSelect[PaymentIntent]:
    counted = OrderAccount.received - OrderAccount.refunded - OrderAccount.waived
    is_deep = PaymentIntent.paid_block + _DEPTH <= number
    return _some(chain_id, UNSETTLED & (counted >= KEPT) & is_deep)


@Prepared
def _confirmed_early(chain_id: Any, number: Any) -> ModelSelect[PaymentIntent]:
    return _some(chain_id, EARLY & (PaymentIntent.paid_block + _DEPTH <= number))


@Prepared
def _not_final(chain_id: Any, number: Any) -> ModelSelect[OrderAccount]:
    is_deep = NOT_FINAL & (OrderAccount.pending_block + _DEPTH <= number)
    query: ModelSelect[OrderAccount] = (
        OrderAccount.select(OrderAccount.intent)
        .join(PaymentIntent)
        .where(OrderAccount.chain_id == chain_id, is_deep, ~SET_ASIDE)
    )
    return query.limit(INTENTS_PER_TRANSACTION)


@Prepared
def _past_deadline(chain_id: Any, time: Any) -> ModelSelect[PaymentIntent]:
    is_past = AWAITING & (PaymentIntent.expires_at < time)
    return _some(chain_id, is_past & OrderAccount.search_to.is_null())


def _some(chain_id: Any, condition: Expression) -> ModelSelect[PaymentIntent]:
    query: ModelSelect[PaymentIntent] = (
        PaymentIntent.select(PaymentIntent.id)
        .join(OrderAccount, on=IS_HOME)
        .where(PaymentIntent.chain_id == chain_id, condition, ~SET_ASIDE)
    )
    return query.limit(INTENTS_PER_TRANSACTION)


def _ids(rows: Iterable[tuple[str]]) -> list[str]:
    return [intent_id for (intent_id,) in rows]


def past_deadline(chain_id: int, cursor: Block) -> list[str]:
    """Return some unpaid intents whose deadline has passed, and whose logs are not searched.

    Those that were set aside are left out, here and in `deep_enough`: they would be selected first
    for ever.
    """
    return _ids(_past_deadline.tuples(chain_id=chain_id, time=cursor.time))


def expire_free() -> int:
    """Expire free orders whose hold has ended. Return how many."""
    past = PaymentIntent.select(PaymentIntent.id).where(
        PaymentIntent.chain_id.is_null(),
        AWAITING,
        PaymentIntent.expires_at < clock.now(),
        ~SET_ASIDE | (PaymentIntent.set_aside_until <= clock.now()),
    )
    intent_ids = [intent.id for intent in past.limit(INTENTS_PER_TRANSACTION)]
    for intent_id in intent_ids:
        with write_transaction(), or_set_aside(intent_id, None):
            confirm_free(intent_id)
    return len(intent_ids)


def settle(intent: PaymentIntent, as_of: Block, *, may_expire: bool = True) -> None:
    """Set the state of one locked intent from the payments on its home. Call it in a transaction.

    `may_expire` False keeps a hold whose deadline has passed: the balance was not compared.

    Example: an order of 10 awaits its payment, and a payment of 10 was recorded in a final block.
    The order becomes `confirmed`: its seats are sold, its admissions are issued, and the facts are
    recorded. The next call computes the same sums and writes nothing. If the block is not final,
    but the order may be confirmed early, it becomes `confirmed` and `early`. A call when the block
    is final ends `early`, and records `intent.finalized`.
    """
    home = intent.home
    waived = payment_sums.waived(home)
    totals = payment_sums.totals_of(home, as_of)
    # First decide on a late transfer: if it is honoured, `add_up` counts an ended order as paid.
    transfer = payment_sums.covering(home, totals, waived)
    if (
        transfer is not None
        and not strays.owe(intent)
        and late_orders.take_seats(intent, transfer, home.chain_id)
    ):
        payments.honour(transfer)
        totals = payment_sums.totals_of(home, as_of)
    balance = payment_sums.balance(intent, as_of, totals, waived)
    status = balance.status
    if status is IntentStatus.EXPIRED and intent.status in LIVE and not may_expire:
        status = IntentStatus.AWAITING_PAYMENT
    early = status is IntentStatus.CONFIRMED and bool(intent.early) and not balance.is_deep
    if status is IntentStatus.PROCESSING and finality.is_early_enough(
        intent, balance.paid_block, as_of
    ):
        status, early = IntentStatus.CONFIRMED, True
    has_ended = status is IntentStatus.EXPIRED or balances.has_ended(intent)
    if has_ended and totals.awaits_decision:
        payments.refuse_undecided(home)
    enter(
        intent,
        status,
        max(as_of.time, clock.now()),
        books=balance.books(status),
        paid_block=balance.paid_block,
        early=early,
        flags=balance.flags,
        expires_at=balance.deadline,
        grace_until=balance.grace_until,
        set_aside_until=None,
    )


def enter(
    intent: PaymentIntent,
    status: IntentStatus,
    now: datetime,
    *,
    books: Mapping[str, Any] | None = None,
    **columns: Any,
) -> None:
    """Write a locked intent with its new status and `columns`, and what follows from the change.

    `books`: new columns of its home.
    """
    home = intent.home
    before, due_before, received_before = IntentStatus(intent.status), home.due_now, home.received
    was_early = intent.early
    columns["status"] = status
    if status is IntentStatus.CONFIRMED and intent.confirmed_at is None:
        columns["confirmed_at"] = clock.now()
    if status is not before:
        columns |= _ended_at(intent, status, now, columns)
    of_home = _with_rest(home, status, books or {})
    if accounts.differs(home, of_home):
        columns["books_version"] = intent.books_version + 1
    write_changes(intent, columns)
    if status is not before:
        # For an unpaid and canceled order, the balance is enough.
        given_up = status is IntentStatus.CANCELED and not home.received
        of_home |= accounts.state_of(intent)
        of_home["watch_until"] = (
            None if status in LIVE else now if given_up else now + WATCH_AFTER_END
        )
    if intent.chain_id is not None:
        accounts.write(home, of_home)
    happened = [] if status is before else facts.intent_entered(intent)
    if was_early and status is before and intent.final:
        happened.append(facts.intent_finalized(intent))
    if status is IntentStatus.AWAITING_PAYMENT and home.received > received_before:
        happened.append(facts.intent_part_paid(intent))
    match before, status:
        case (
            IntentStatus.AWAITING_PAYMENT | IntentStatus.PROCESSING | IntentStatus.EXPIRED,
            IntentStatus.CONFIRMED,
        ):
            sold = seats.sell(intent)
            happened += [*map(facts.admission_issued, admissions.issue(intent)), *sold]
        case (
            IntentStatus.AWAITING_PAYMENT | IntentStatus.PROCESSING,
            IntentStatus.EXPIRED | IntentStatus.CANCELED,
        ):
            seats.release(intent)
            write_changes(intent, {"pooled": 0})
        case IntentStatus.CONFIRMED, IntentStatus.REVERSED:
            admissions.suspend(intent)
        case IntentStatus.REVERSED, IntentStatus.CONFIRMED:
            admissions.restore(intent)
    feed.record_all(intent.tenant_id, [*happened, *facts.refund_due(home, due_before)])
    if status is not before:
        strays.follow(intent)


def _with_rest(
    home: OrderAccount, status: IntentStatus, books: Mapping[str, Any]
) -> dict[str, Any]:
    """Return new columns of a home, with what is left of them: it is open, or kept."""
    now = {name: getattr(home, name) for name in ("received", "refunded", "waived", "due")}
    now |= {name: value for name, value in books.items() if name in now}
    rest = now["received"] - now["refunded"] - now["waived"] - now["due"]
    is_live = status in LIVE
    return {**books, "open": rest if is_live else 0, "kept": 0 if is_live else rest}


def _ended_at(
    intent: PaymentIntent, status: IntentStatus, now: datetime, columns: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the column of an intent that says when it ended, if it ends."""
    if intent.chain_id is None:
        return {}
    if status is IntentStatus.CANCELED:
        return {"ended_at": now}
    if intent.ended_at is None and status is IntentStatus.EXPIRED:
        return {"ended_at": columns.get("expires_at", intent.expires_at)}
    return {}


def write_changes(intent: PaymentIntent, columns: dict[str, Any]) -> None:
    """Write the changes in one UPDATE, with the old status as a condition."""
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


def lock(intent_ids: Iterable[str]) -> Sequence[PaymentIntent]:
    """Lock intents, and the stock that they can move, until the transaction ends.

    They are returned in the order of their events, then of their ids.
    """
    intents = lock_rows(intent_ids)
    seats.lock(intents)
    accounts.read(intents)
    return intents


def lock_rows(intent_ids: Iterable[str]) -> Sequence[PaymentIntent]:
    """Lock intents only, in the order of their ids: what follows moves at most one ticket type.

    What moves none must use this: the cancelation of an event locks its stock before its sold
    orders, and would deadlock with who has locked such an order and wants the stock.
    """
    return lock_where(PaymentIntent.id.in_(list(intent_ids)))


def lock_ids(intent_ids: Iterable[str]) -> None:
    """Lock intents as `lock_rows` does, without reading them."""
    ids = PaymentIntent.select(PaymentIntent.id).where(PaymentIntent.id.in_(list(intent_ids)))
    list(locked(ids.order_by(PaymentIntent.id)).tuples())


def lock_where(condition: Expression) -> Sequence[PaymentIntent]:
    """Lock the intents that meet a condition, in the order of their ids, and nothing else.

    `capped_event` is read with them. It stays as it is until the transaction ends, because a lock
    of the event or of the chain was taken before.
    """
    of_event = EventStock.select(EventStock.event).where(EventStock.event == PaymentIntent.event)
    columns = (PaymentIntent, of_event.alias("capped_event"))
    query = PaymentIntent.select(*columns).where(condition)
    rows = locked(query.order_by(PaymentIntent.id))
    return sorted(rows, key=lambda intent: (intent.event_id, intent.id))


def lock_chain(chain_id: int, *, shared: bool = False) -> ChainState | None:
    """Lock the state of a chain. A `shared` lock prevents moves of the cursor."""
    query: Prepared[ChainState] = _shared_chain if shared else _chain
    return query.first(chain_id=chain_id)


@Prepared
def _chain(chain_id: Any) -> ModelSelect[ChainState]:
    return locked(ChainState.select().where(ChainState.chain_id == chain_id))


@Prepared
def _shared_chain(chain_id: Any) -> ModelSelect[ChainState]:
    return locked(ChainState.select().where(ChainState.chain_id == chain_id), shared=True)


def final_as_of(chain_id: int) -> Block:
    """Keep a chain's cursor in place, and return it. Payments are final as of this block."""
    return _cursor_or_none(lock_chain(chain_id, shared=True))


def _keep_event_of(intent_id: str) -> None:
    """Keep the event of an order from being canceled, where no chain is locked that does so."""
    of_intent = PaymentIntent.select(PaymentIntent.event).where(PaymentIntent.id == intent_id)
    list(locked(Event.select(Event.id).where(Event.id.in_(of_intent)), shared=True))


def _cursor_or_none(state: ChainState | None) -> Block:
    """Return a chain's cursor. Before the first read of a chain, no payment on it is final."""
    return chains.cursor_of(state) or Block(0, "", clock.now())
