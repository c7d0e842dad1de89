"""Schemas of messages to the people of an event."""

from marshmallow import fields

from schemas.base import (
    BaseSchema,
    Choice,
    Instant,
    Items,
    ListOf,
    Moment,
    Number,
    String,
    Text,
    an_id,
    documented,
    one_of,
)
from schemas.checks import NOT_BLANK, Length
from ticketing.constants import MAX_PAGE
from ticketing.notification_types import Audience, MessageStatus

_SUBJECT = documented("Doors open an hour later")
_TEXT = documented("Please come at eight.", "Plain text. Links in it are text.")


class MessagePreviewSchema(BaseSchema):
    """What a message says."""

    subject = Text(required=True, validate=[Length(1, 120), NOT_BLANK], metadata=_SUBJECT)
    text = Text(required=True, validate=[Length(1, 5000), NOT_BLANK], metadata=_TEXT)


class MessageCreateSchema(MessagePreviewSchema):
    """A new message."""

    audience = one_of(
        Audience,
        "`holders` of tickets, `buyers` of orders, those who have `not_redeemed` theirs; or, of"
        " an event that is canceled, those whose tickets ended with it.",
        example="holders",
        load_default=Audience.HOLDERS,
    )
    ticket_ids = Items(
        Text(validate=Length(1, 80)),
        "Only people with these ticket types. Null: all.",
        example=None,
        load_default=None,
        allow_none=True,
        validate=Length(1, MAX_PAGE, "items"),
    )
    send_at = Instant("Null, or past: now.", example=None, load_default=None, allow_none=True)


class MessageSchema(BaseSchema):
    """A message to the people of an event."""

    id = an_id("msg_")
    event_id = an_id("evt_")
    subject = fields.String(required=True, metadata=_SUBJECT)
    text = fields.String(required=True, metadata=_TEXT)
    audience = Choice(Audience)
    ticket_ids = ListOf(fields.String(), example=None, attribute="ticket_id_list")
    send_at = Moment()
    status = Choice(MessageStatus, example=MessageStatus.SENT.value)
    recipients = Number(120, "Addresses. Each gets one mail, however many tickets it has.")
    sent = Number(118)
    failed = Number(2, "Not sent: refused, or no ticket any more when its turn came.")
    created_by = String("mem_01hq3v5m8r2t6w9y1a4c7e0g3j", "A member or an API key.")
    created_at = Moment()
