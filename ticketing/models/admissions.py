"""Admissions: one per seat."""

from peewee import ForeignKeyField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType


class Admission(BaseModel):
    """The right to enter once. `code` is the secret that the holder shows at the door."""

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    event = ForeignKeyField(Event)
    event_id: str
    ticket_type = ForeignKeyField(TicketType)
    ticket_type_id: str
    intent = ForeignKeyField(PaymentIntent)
    intent_id: str
    code = TextField(unique=True)
    status = TextField()
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "admissions"
