"""What organizers write to the people of an event."""

from peewee import ForeignKeyField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant


class Message(BaseModel):
    """A message to the people of an event. Its mails follow from it: `mails.message_id`.

    `ticket_ids`: as in Voucher. `recipients`: how many addresses it goes to, as counted when it was
    written, and again when its mails were planned. `sent` and `failed`: of these, once all ended.
    `planned_at`: when all of its mails were planned. `created_by`: the id of a member or a key.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    event = ForeignKeyField(Event)
    event_id: str
    subject = TextField()
    text = TextField()
    ticket_ids = TextField(null=True)
    audience = TextField()
    send_at = UtcDateTimeField()
    status = TextField()
    recipients = IntegerField()
    sent = IntegerField(default=0)
    failed = IntegerField(default=0)
    planned_at = UtcDateTimeField(null=True)
    created_by = TextField()
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "messages"

    @property
    def ticket_id_list(self) -> list[str] | None:
        """The ids of the ticket types whose holders it is for. None: all."""
        return None if self.ticket_ids is None else self.ticket_ids.split()
