"""What a buyer wants to order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ticketing.models.ticket_types import TicketType
from ticketing.services.channels import Channel
from ticketing.services.orders import stored_texts
from ticketing.services.orders.lines import Wanted


@dataclass(frozen=True)
class Order:
    """The order of a buyer. `max_amount` is the highest total they accept, in micro-units.

    `wanted`: distinct ticket types of one event. `by`: who orders, and how. `voucher`: a code, as
    typed. `locale`: the language of its pages and mails. None: the event's. `answers` are those of
    the event's questions, by id or identifier. `read`: its only ticket type, if that was read a
    moment ago. It is locked and checked later.
    """

    event_id: str
    wanted: Sequence[Wanted]
    by: Channel = field(default_factory=Channel)
    chain_id: int | None = None
    max_amount: int | None = None
    voucher: str | None = None
    buyer_email: str | None = None
    buyer_name: str | None = None
    locale: str | None = None
    answers: Mapping[str, object] = field(default_factory=dict)
    read: TicketType | None = None

    @property
    def text_bytes(self) -> int:
        """How many bytes it stores of its buyer."""
        return stored_texts.size(self.buyer_name, self.buyer_email, self.answers)
