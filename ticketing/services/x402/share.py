"""How orders of x402 clients are held: a short time, and only a share of the seats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from peewee import SQL, ModelSelect, fn

from ticketing.config import Config
from ticketing.db.connection import write_transaction
from ticketing.errors import X402ShareHeld
from ticketing.models.items import IntentItem
from ticketing.models.payment_intents import AWAITING, PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.services.channels import Person
from ticketing.services.orders.holds import Held
from ticketing.services.payments import settlement
from ticketing.services.waiting_room.entrance import Entrance
from ticketing.services.wallets.named_addresses import NamedAddress

HOLD = timedelta(minutes=5)
"""The longest hold of an order that an x402 client makes."""

AFTER_A_REFUSAL = timedelta(seconds=30)
"""How long such an order is held after a refused payment: for another signature."""

SHARE = 10
"""Unpaid x402 orders hold at most one of so many seats of a ticket type."""

# SQLite uses the partial index only with its own condition.
_BY_X402 = PaymentIntent.x402 == SQL("TRUE")


@Prepared
def _unpaid(event_id: Any, ticket_type_id: Any) -> ModelSelect[PaymentIntent]:
    # Not the column itself: without statistics, SQLite reads all orders of the type.
    is_of_type = IntentItem.ticket_type.concat("") == ticket_type_id
    return (
        PaymentIntent.select(fn.SUM(IntentItem.quantity))
        .join(IntentItem, on=(IntentItem.intent == PaymentIntent.id))
        .where(PaymentIntent.event == event_id, is_of_type, _BY_X402, AWAITING)
    )


class X402(Person):
    """An x402 client. `digest` is that of its Idempotency-Key, if it has one.

    `named`: the address of its order, if it was told that before. Then its payer has signed, and
    has the money.
    """

    def __init__(
        self,
        client: Sequence[str],
        entrance: Entrance | None,
        digest: str | None,
        body_digest: str,
        named: NamedAddress | None = None,
    ) -> None:
        super().__init__(client, entrance=entrance)
        self.named = named
        self._marks = {"x402": True, "idempotency_digest": digest, "body_digest": body_digest}

    def check(self, held: Held) -> None:
        """Check the share of each ticket type, whose row is locked, with this order. X402ShareHeld.

        At least one seat is allowed, and once the payer has signed, one order. Without a capacity,
        of the ticket type or the event, all are.

        Example: a ticket type has 200 seats, its event 100. Unpaid x402 orders may hold 10 of them.
        """
        super().check(held)
        for line in held.lines:
            limits = held.capacities(line)
            if limits:
                ((unpaid,),) = _unpaid.tuples(
                    event_id=line.ticket_type.event_id, ticket_type_id=line.ticket_type.id
                )
                least = 1 if self.named is None else line.quantity
                if (unpaid or 0) + line.quantity > max(least, min(limits) // SHARE):
                    raise X402ShareHeld

    def hold(self, held: Held, config: Config) -> timedelta:
        """Return for how long the order is held: programs are quick."""
        return min(super().hold(held, config), HOLD)

    def columns(self) -> Mapping[str, Any]:
        """Return what shows that the order is one of x402, and of which request."""
        return {**super().columns(), **self._marks}


def end_soon(intent: PaymentIntent, now: datetime) -> None:
    """Shorten the hold of an order whose payment was refused. `now`: the time for its deadline.

    Else who signs without the money could keep a share of the seats for as long as who pays.
    """
    end = now + AFTER_A_REFUSAL
    with write_transaction():
        (locked,) = settlement.lock_rows([intent.id])
        if locked.is_unpaid and locked.expires_at > end:
            settlement.write_changes(locked, {"hold_until": end, "expires_at": end})
    intent.hold_until = intent.expires_at = locked.expires_at
