"""Who orders, and how: what that changes of an order. The caller of checkout passes its channel.

The box office (box_office.py), x402 (x402/share.py) and offers of the waiting list
(waiting_list/offers.py) have channels of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from peewee import ModelSelect

from ticketing.config import Config
from ticketing.constants import HOLD_UNDER_PRESSURE
from ticketing.db.connection import one_at_a_time
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.services.orders import client_limits, crowds, lines
from ticketing.services.orders.holds import Held
from ticketing.services.orders.lines import Line
from ticketing.services.payments import settlement
from ticketing.services.waiting_room.entrance import Entrance
from ticketing.services.wallets.named_addresses import NamedAddress


class Channel:
    """A program with a credential. It has no limits.

    `client`: digests of the networks that the order is counted for, from narrow to wide.
    `can_answer`: the buyer can answer the questions of the event before the order. `comes_first`:
    it may have what others wait for. `named`: the order's address, if its buyer was told it before.
    `ends_by`: when it must end, if it holds seats that were given back.
    """

    client: Sequence[str] = ()
    can_answer = True
    comes_first = False
    named: NamedAddress | None = None
    ends_by: datetime | None = None

    def replaced(self) -> PaymentIntent | None:
        """Return the unpaid order that this one replaces, if any."""
        return None

    def enter(self, event: Event, tenant_id: str) -> None:
        """Check whether it may order now, before the transaction. InWaitingRoom."""

    def begin(self, wanted: Sequence[Line], text_bytes: int, config: Config) -> None:
        """Take what locks it needs by name, and check its limits, first in the transaction.

        `text_bytes`: how much text the order stores of its buyer.
        """

    def check(self, held: Held) -> None:
        """Check what the order would hold, with its ticket types locked."""

    def hold(self, held: Held, config: Config) -> timedelta:
        """Return for how long the order is held.

        Seats that were given back are held for HOLD_UNDER_PRESSURE: each keeps its holder waiting.
        So are others for a client with limits, while orders hold more than half of the unsold
        tickets, of a ticket type or of the event.
        """
        is_short = held.is_pooled or (bool(self.client) and held.is_scarce)
        return min(config.hold, HOLD_UNDER_PRESSURE) if is_short else config.hold

    def columns(self) -> Mapping[str, Any]:
        """Return what it writes into the order."""
        return {
            "held_by": self.client[0] if self.client else None,
            "held_by_site": self.client[1] if len(self.client) > 1 else None,
            "idempotency_digest": None,
        }


@Prepared
def _of_form(digest: Any, former: Any) -> ModelSelect[PaymentIntent]:
    return PaymentIntent.select().where(PaymentIntent.idempotency_digest.in_([digest, former]))


class Person(Channel):
    """Somebody without a credential, on a page, by the API or by MCP.

    `address`: the client's IPv4 address or IPv6 /64, by which it can belong to a crowd of the
    event. `form`: digests of the hidden key of the form that was sent, one for each SECRET_KEY, the
    current one first. What the same form ordered before, and is not paid, is replaced. `entrance`:
    that of the event's waiting room. None: this order does not wait in it.
    """

    def __init__(
        self,
        client: Sequence[str],
        address: str | None = None,
        *,
        form: Sequence[str] = (),
        entrance: Entrance | None = None,
    ) -> None:
        self.client = client
        self._address, self._form, self._entrance = address, form, entrance
        self._uses: Sequence[client_limits.Use] = ()
        self._digest: str | None = None

    def replaced(self) -> PaymentIntent | None:
        """Return the unpaid order that the same form made before.

        Example: Ada orders the last 2 tickets, goes back, corrects her email address, and sends the
        form again. Without this, her own first order would be why nothing is left.
        """
        found = self._of_form()
        is_replaceable = found is not None and found.is_unpaid and not found.link_generation
        return found if is_replaceable else None

    def enter(self, event: Event, tenant_id: str) -> None:
        """Check whether it is their turn in the waiting room. InWaitingRoom."""
        if (entrance := self._entrance_of(event)) is not None:
            entrance.check(event, tenant_id)

    def begin(self, wanted: Sequence[Line], text_bytes: int, config: Config) -> None:
        """Cancel what the order replaces, and check the limits of its client."""
        ticket_type = wanted[0].ticket_type
        event, crowd_seats = ticket_type.event, 0
        if self.client and (crowd := crowds.find(event, self._address)) is not None:
            self.client, crowd_seats = (crowds.digest(event, crowd, config),), crowd["seats"]
        client_limits.take_turn(self.client, config)
        if (entrance := self._entrance_of(event)) is not None:
            entrance.begin(event, ticket_type.tenant_id)
        self._digest, self.ends_by = self._replace(wanted)
        if self.client:
            self._uses = client_limits.check(
                self.client,
                event.id,
                lines.seats(wanted),
                lines.free_seats(wanted),
                config,
                text_bytes=text_bytes,
                crowd_seats=crowd_seats,
            )

    def check(self, held: Held) -> None:
        """Check the client's share. TooMuchUnpaid, ReturnedUnpaid."""
        client_limits.check_share(self._uses, held)
        if held.is_pooled and self.ends_by is None:
            client_limits.check_returned(self.client, held.lines[0].ticket_type.event_id)

    def columns(self) -> Mapping[str, Any]:
        """Return the digest of the form, by which its next order replaces this one."""
        return {**super().columns(), "idempotency_digest": self._digest}

    def _replace(self, wanted: Sequence[Line]) -> tuple[str | None, datetime | None]:
        """Cancel what the same form ordered before, if it is unpaid.

        Return the new order's digest: None if it has no form, or if the order before keeps it. And
        when the seats of that must be free, if they were given back: a correction must not hold
        them any longer.
        """
        if not self._form:
            return None, None
        # The same form may come from two networks at once, which take turns of their own. The
        # oldest digest is the one that all hosts know while SECRET_KEY changes.
        one_at_a_time(f"form {self._form[-1]}")
        found = self._of_form()
        if found is None:
            return self._form[0], None
        ends_by = found.hold_until if found.is_unpaid and found.pooled else None
        is_withdrawn = not found.link_generation and settlement.withdraw(
            found.id, lines.stocks_of(wanted)
        )
        # Otherwise the form's browser has the link that ended, or the order is paid.
        return (self._form[0], ends_by) if is_withdrawn else (None, None)

    def _entrance_of(self, event: Event) -> Entrance | None:
        """Return the entrance. None for what replaces an order: it had passed."""
        if event.is_queueing and self.replaced() is not None:
            return None
        return self._entrance

    def _of_form(self) -> PaymentIntent | None:
        if not self._form:
            return None
        found: PaymentIntent | None = _of_form.first(digest=self._form[0], former=self._form[-1])
        return found
