"""Ticket types and their stock."""

from collections.abc import Sequence

from peewee import BigIntegerField, BooleanField, ForeignKeyField, IntegerField, TextField

from ticketing.constants import CURRENCY, MICRO_UNIT_DECIMALS, Availability, Obstacle
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant


class TicketType(BaseModel):
    """A class of admission: a price in micro-units, a chain, and a capacity (None: unlimited)."""

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    event = ForeignKeyField(Event)
    event_id: str
    name = TextField()
    price_amount = BigIntegerField()
    chain_id = BigIntegerField(null=True)
    transferable = BooleanField()
    requires_key = BooleanField(default=False)
    status = TextField()
    capacity = BigIntegerField(null=True)
    held = BigIntegerField(default=0)
    sold = BigIntegerField(default=0)
    min_per_order = IntegerField()
    max_per_order = IntegerField()
    sales_start_at = UtcDateTimeField(null=True)
    sales_end_at = UtcDateTimeField(null=True)
    created_at = UtcDateTimeField()
    updated_at = UtcDateTimeField()

    # No columns: services.catalog sets these for responses.
    obstacles: Sequence[Obstacle]
    availability: Availability

    currency = CURRENCY
    decimals = MICRO_UNIT_DECIMALS

    class Meta:
        table_name = "ticket_types"

    @property
    def available(self) -> int | None:
        """How many tickets can still be held. None: unlimited."""
        return None if self.capacity is None else self.capacity - self.held - self.sold


class EventStock(BaseModel):
    """The stock of an event that has a capacity of its own, over all its ticket types.

    Lock it before the rows of its ticket types.
    """

    event = ForeignKeyField(Event, primary_key=True)
    event_id: str
    capacity = BigIntegerField()
    held = BigIntegerField()
    sold = BigIntegerField()

    class Meta:
        table_name = "event_stock"
