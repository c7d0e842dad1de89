"""Owe to locked orders what their seats release: a part, or all, of what a seat cost.

Voids, resales and deposits do so, each in one transaction. It locks the event, the chains, the
orders by id, and all seats of these orders by id.

Example: Ada's order of two seats at 20 keeps 40. One becomes void with a refund: `release` of 20.
When the block ends, the order is settled: it keeps 20, and owes 20.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ticketing.chain.answers import Block
from ticketing.db.connection import locked as locked_rows
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import event_locks
from ticketing.services.payments import settlement


@dataclass(frozen=True)
class Owing:
    """An event that cannot change, orders of it, and their seats, all locked."""

    event: Event
    orders: Mapping[str, PaymentIntent]
    seats: Sequence[Admission]
    cursors: Mapping[int, Block]
    released: dict[str, int] = field(default_factory=dict)

    def release(self, seat: Admission, amount: int) -> None:
        """Owe so many micro-units more of what a seat cost. Of a guest's seat, nothing is owed."""
        seat.released += amount
        seat.save(only=[Admission.released])
        if seat.intent_id is not None:
            self.released[seat.intent_id] = self.released.get(seat.intent_id, 0) + amount


@contextmanager
def locked(
    tenant_id: str, event_id: str, order_ids: Collection[str], guest_id: str | None = None
) -> Iterator[Owing]:
    """Lock orders of an event with their seats. In the end, settle those that released something.

    Call it first in a transaction. `guest_id`: a seat without an order that is locked, too.
    NotFound: the event does not exist.
    """
    event = event_locks.keep(tenant_id, event_id)
    of_orders = PaymentIntent.id.in_(list(order_ids)) & PaymentIntent.chain_id.is_null(False)
    rows: Iterable[Any] = PaymentIntent.select(PaymentIntent.chain_id).where(of_orders).tuples()
    chain_ids = sorted({chain_id for (chain_id,) in rows})
    cursors = {chain_id: settlement.final_as_of(chain_id) for chain_id in chain_ids}
    orders = {order.id: order for order in settlement.lock_rows(order_ids)}
    mine = (Admission.intent.in_(list(orders))) | (Admission.id == guest_id)
    seats = list(locked_rows(Admission.select().where(mine).order_by(Admission.id)))
    them = Owing(event, orders, seats, cursors)
    yield them
    for order_id, amount in sorted(them.released.items()):
        order = orders[order_id]
        settlement.write_changes(order, {"released": order.released + amount})
        if order.chain_id is not None:
            settlement.settle(order, cursors[order.chain_id])
