"""People who wait for seats of a ticket type that is sold out."""

from peewee import ForeignKeyField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType


class WaitingListEntry(BaseModel):
    """Somebody who wants to wait for `quantity` seats: see ticketing/waiting_list.py.

    Places are in the order of `confirmed_at`. `intent` is the order that was made as an offer, held
    until `offer_expires_at`. `mailbox`: the address in the form in which two of one mailbox are the
    same (services/mail/recipients.py): it has one open entry of a ticket type. `client` and
    `client_site`: digests of the networks from which they joined. All of these are null once the
    person was erased.

    `passed_over_at`: when seats were free for the first time that it could not get. `idle_since`:
    since when it closes the sale to nobody (null: it does, while it waits). See
    services/waiting_list/passed_over.py.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    event = ForeignKeyField(Event)
    event_id: str
    ticket_type = ForeignKeyField(TicketType)
    ticket_type_id: str
    quantity = IntegerField()
    email = TextField(null=True)
    mailbox = TextField(null=True)
    name = TextField(null=True)
    locale = TextField(null=True)
    status = TextField()
    client = TextField(null=True)
    client_site = TextField(null=True)
    intent = ForeignKeyField(PaymentIntent, null=True)
    intent_id: str | None
    created_at = UtcDateTimeField()
    confirmed_at = UtcDateTimeField(null=True)
    offered_at = UtcDateTimeField(null=True)
    offer_expires_at = UtcDateTimeField(null=True)
    passed_over_at = UtcDateTimeField(null=True)
    idle_since = UtcDateTimeField(null=True)

    # No column: services.waiting_list sets it for responses. Of those who wait, from 1.
    place: int | None

    class Meta:
        table_name = "waiting_list_entries"

    @property
    def ticket_id(self) -> str:
        """The id of the ticket type, as the API names it."""
        return self.ticket_type_id
