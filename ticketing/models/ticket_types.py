"""Ticket types and their stock."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from peewee import (
    AnyField,
    BigIntegerField,
    BooleanField,
    ForeignKeyField,
    IntegerField,
    TextField,
)

from ticketing.constants import (
    CURRENCY,
    MICRO_UNIT_DECIMALS,
    Availability,
    Obstacle,
    ReturnPolicy,
    TicketTypeWarning,
)
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.chains import ChainState
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.waiting_list import SHORTEST_OFFER


class StockCount(NamedTuple):
    """How many tickets of a ticket type are sold, and its capacity (None: unlimited)."""

    capacity: int | None
    sold: int
    status: str

    @property
    def is_full(self) -> bool:
        """Whether all tickets are sold."""
        return self.capacity is not None and self.sold >= self.capacity

    def before(self, sold: int) -> "StockCount":
        """The count before `sold` tickets were sold. Negative: before they were taken back."""
        return self._replace(sold=self.sold - sold)


class VoucherPrice(NamedTuple):
    """What a seat costs with a voucher, in micro-units."""

    price_amount: int


class OrderedChainIdsField(AnyField):
    """Chain ids (EIP-155) in their order, stored as text: [8453, 10] is "8453,10"."""

    field_type = "TEXT"

    def db_value(self, value: Sequence[int] | None) -> str | None:
        """Convert chain ids to text."""
        return None if value is None else ",".join(map(str, value))

    def python_value(self, value: str | None) -> tuple[int, ...] | None:
        """Convert text to chain ids."""
        return tuple(map(int, value.split(","))) if value else None


class TicketType(BaseModel):
    """A class of admission: a price in micro-units, a chain, and a capacity (None: unlimited).

    Ticket types are shown by `position`. Those with the same `group_heading` are shown together.

    `free_price`: the buyer may pay more than `price_amount`, up to `max_price_amount` (None: as
    much as any price). `admission`: it lets somebody in. Otherwise it is handed out (a shirt, a
    meal), and does not count in the event's capacity. `requires_ticket`: an order of it needs at
    least one seat of admission. `require_voucher`: only a voucher that names it opens it.
    `hide_without_voucher`: it is not even shown without one.

    `returns`: whether holders may give seats back (a ReturnPolicy), of which the organizer keeps
    `return_fee_percent` percent. `offered`: seats that they give back, and that are still sold.
    `taken`: how many of these are in orders that wait for a swap: see services/payments/resales.py.
    `returned_wanted_at`: when an order of such seats was refused last, within a minute.

    `deposit_amount`: what comes back of the price of who came: services/payments/deposits.py.

    `allow_waitinglist`: people may wait for it once it is sold out. `waiting`: how many entries
    wait. `idle`: how many of these close the sale to nobody. While any other waits, nobody else can
    buy: see services/waiting_list.

    `chain_id` is the network that is proposed to buyers, `chain_ids` all on which they may pay.
    `several_chains` are these if there are several: `chain_id` is the first then.

    `event_changes` counts the times at which its event was taken off sale, or got or lost a
    capacity. A lock of this row therefore shows whether the event is still as it was read.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    event = ForeignKeyField(Event)
    event_id: str
    name = TextField()
    description = TextField(null=True)
    group_heading = TextField(null=True)
    position = IntegerField(default=0)
    price_amount = BigIntegerField()
    free_price = BooleanField(default=False)
    max_price_amount = BigIntegerField(null=True)
    admission = BooleanField(default=True)
    requires_ticket = BooleanField(default=False)
    require_voucher = BooleanField(default=False)
    hide_without_voucher = BooleanField(default=False)
    chain_id = BigIntegerField(null=True)
    several_chains = OrderedChainIdsField(null=True, column_name="chain_ids")
    transferable = BooleanField()
    requires_key = BooleanField(default=False)
    status = TextField()
    capacity = BigIntegerField(null=True)
    held = BigIntegerField(default=0)
    sold = BigIntegerField(default=0)
    returns = TextField(default=ReturnPolicy.NONE)
    return_fee_percent = IntegerField(default=0)
    offered = BigIntegerField(default=0)
    taken = BigIntegerField(default=0)
    returned_wanted_at = UtcDateTimeField(null=True)
    deposit_amount = BigIntegerField(default=0)
    allow_waitinglist = BooleanField(default=False)
    waiting = BigIntegerField(default=0)
    idle = BigIntegerField(default=0)
    min_per_order = IntegerField()
    max_per_order = IntegerField()
    sales_start_at = UtcDateTimeField(null=True)
    sales_end_at = UtcDateTimeField(null=True)
    event_changes = IntegerField(default=0)
    created_at = UtcDateTimeField()
    updated_at = UtcDateTimeField()

    # No columns: services.catalog sets these for responses.
    obstacles: Sequence[Obstacle]
    warnings: Sequence[TicketTypeWarning]
    availability: Availability
    held_until: datetime | None  # if it is held: when the first unpaid order ends
    waiting_list: bool  # whether people can wait for it now
    few_left: int | None  # how many can be bought, if they are few
    proposed_chain: ChainState | None = None  # of `chain_id`, if an order has read it
    usable_chains: Sequence[int]  # those of `chain_ids` on which it can be paid now
    voucher: VoucherPrice | None = None

    currency = CURRENCY
    decimals = MICRO_UNIT_DECIMALS

    class Meta:
        table_name = "ticket_types"

    @property
    def available(self) -> int | None:
        """How many tickets can still be held of the capacity. None: unlimited."""
        return None if self.capacity is None else self.capacity - self.held - self.sold

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody waits for what becomes free, and nobody else can buy it."""
        return bool(self.waiting > self.idle)

    @property
    def buyable(self) -> int | None:
        """How many tickets buyers can hold: none while somebody waits. None: unlimited."""
        return 0 if self.is_waited_for else self.available

    @property
    def in_pool(self) -> int:
        """How many seats are given back, and can be held."""
        return int(self.offered - self.taken)

    @property
    def return_terms(self) -> int | None:
        """The fee in percent with which an order of now can be given back. None: it cannot."""
        return self.return_fee_percent if self.returns == ReturnPolicy.WHEN_RESOLD else None

    @property
    def chain_ids(self) -> Sequence[int]:
        """The networks on which it can be paid, the proposed one first. Empty: none."""
        several: Sequence[int] | None = self.several_chains
        return several or (() if self.chain_id is None else (self.chain_id,))

    @chain_ids.setter
    def chain_ids(self, chain_ids: Sequence[int]) -> None:
        self.chain_id = chain_ids[0] if chain_ids else None
        self.several_chains = tuple(chain_ids) if len(chain_ids) > 1 else None

    def list_closes_at(self, event: Event) -> datetime:
        """When nobody can wait any more: an hour before the sale ends, or the doors open."""
        sales_end: datetime | None = self.sales_end_at
        ends = min(event.doors_open, event.over_at)
        return (ends if sales_end is None else min(ends, sales_end)) - 2 * SHORTEST_OFFER

    @property
    def count(self) -> StockCount:
        """What is sold, of how many."""
        return StockCount(self.capacity, self.sold, self.status)


class EventStock(BaseModel):
    """The stock of an event that has a capacity of its own, over all its ticket types.

    Lock it before the rows of its ticket types.
    """

    event = ForeignKeyField(Event, primary_key=True)
    event_id: str
    capacity = BigIntegerField()
    held = BigIntegerField()
    sold = BigIntegerField()
    waiting = BigIntegerField(default=0)

    # No column: services.orders.stock sets it. Somebody waits for what is left.
    is_waited_for: bool = False

    class Meta:
        table_name = "event_stock"

    @property
    def available(self) -> int:
        """How many seats can still be held."""
        return int(self.capacity - self.held - self.sold)

    @property
    def buyable(self) -> int:
        """How many seats buyers can hold: none while somebody waits for them."""
        return 0 if self.is_waited_for else self.available
