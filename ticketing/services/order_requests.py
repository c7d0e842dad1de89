"""What a buyer wants to order, and where the order comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from ticketing.models.ticket_types import TicketType
from ticketing.services.orders import stored_texts
from ticketing.services.orders.holds import Held
from ticketing.services.orders.lines import Wanted
from ticketing.services.waiting_room.entrance import Entrance
from ticketing.services.wallets.named_addresses import NamedAddress


@dataclass(frozen=True)
class Channel:
    """Where orders come from, if that makes a difference. The caller says which.

    No order is held longer than `longest_hold`. `check` gets what an order would hold, with its
    ticket types locked, and raises an error if that is too much. `marks` are columns of the intent.
    `asks`: the buyer can answer the questions of the event before the order. `named`: the address
    of the order, if its buyer was told it before.
    """

    longest_hold: timedelta
    check: Callable[[Held], None]
    marks: Mapping[str, Any]
    asks: bool = True
    named: NamedAddress | None = None


@dataclass(frozen=True)
class Order:
    """The order of a buyer. `max_amount` is the highest total they accept, in micro-units.

    `wanted`: distinct ticket types of one event. `voucher`: a code, as typed. `client`: digests of
    the client's networks, from narrow to wide, for order limits. Empty if the request has a
    credential: then no order limits apply. `channel` is None for a person's order. `form`: digests
    of the hidden key of the form that was sent, one for each SECRET_KEY, the current one first.
    What the same form ordered before, and is not paid, is replaced.
    `locale`: the language of its pages and mails. None: the event's.
    `answers` are those of the event's questions, by id or identifier.
    `offered_for`: how long the order is held, if it is an offer to somebody who waited.
    `entrance`: that of the event's waiting room. None: this order does not wait in it.
    `address`: the client's IPv4 address or IPv6 /64, by which it can belong to a crowd of the
    event. `crowd_seats`: how many seats that may order, once it is known.
    `read`: its only ticket type, if that was read a moment ago. It is locked and checked later.
    """

    event_id: str
    wanted: Sequence[Wanted]
    chain_id: int | None = None
    max_amount: int | None = None
    voucher: str | None = None
    client: Sequence[str] = ()
    buyer_email: str | None = None
    buyer_name: str | None = None
    locale: str | None = None
    channel: Channel | None = None
    form: Sequence[str] = ()
    answers: Mapping[str, object] = field(default_factory=dict)
    offered_for: timedelta | None = None
    entrance: Entrance | None = None
    read: TicketType | None = None
    address: str | None = None
    crowd_seats: int = 0

    @property
    def text_bytes(self) -> int:
        """How many bytes it stores of its buyer."""
        return stored_texts.size(self.buyer_name, self.buyer_email, self.answers)
