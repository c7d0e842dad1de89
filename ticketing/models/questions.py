"""Questions to buyers and attendees, and their answers."""

from __future__ import annotations

from collections.abc import Sequence

from peewee import BooleanField, ForeignKeyField, IntegerField, TextField

from ticketing.models.admissions import Admission
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant


class Question(BaseModel):
    """A question of an event, asked once for an order or once for each ticket (`ask`).

    `ticket_ids`: as in Voucher. None: all ticket types. An archived one is not asked any more.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    event = ForeignKeyField(Event)
    event_id: str
    identifier = TextField()
    question = TextField()
    help_text = TextField(null=True)
    type = TextField()
    required = BooleanField()
    ask = TextField()
    position = IntegerField()
    ticket_ids = TextField(null=True)
    show_at_door = BooleanField()
    archived_at = UtcDateTimeField(null=True)
    created_at = UtcDateTimeField()
    updated_at = UtcDateTimeField()

    # No column: services.orders.questions sets it.
    options: Sequence[QuestionOption]

    class Meta:
        table_name = "questions"
        indexes = ((("event", "identifier"), True),)

    @property
    def archived(self) -> bool:
        """Whether it is not asked any more."""
        return self.archived_at is not None

    @property
    def ticket_id_list(self) -> list[str] | None:
        """The ids of the ticket types that it is asked for. None: all."""
        return None if self.ticket_ids is None else self.ticket_ids.split()

    def is_for(self, ticket_ids: Sequence[str]) -> bool:
        """Return whether it is asked for one of these ticket types."""
        wanted = self.ticket_id_list
        return wanted is None or not set(wanted).isdisjoint(ticket_ids)


class QuestionOption(BaseModel):
    """One of the answers to choose from."""

    id = TextField(primary_key=True)
    question = ForeignKeyField(Question)
    question_id: str
    position = IntegerField()
    label = TextField()

    class Meta:
        table_name = "question_options"


class Answer(BaseModel):
    """The answer to a question, of an order or of an admission. It is personal data."""

    id = TextField(primary_key=True)
    question = ForeignKeyField(Question)
    question_id: str
    intent = ForeignKeyField(PaymentIntent, null=True)
    intent_id: str | None
    admission = ForeignKeyField(Admission, null=True)
    admission_id: str | None
    value = TextField()
    answered_at = UtcDateTimeField()

    class Meta:
        table_name = "answers"
