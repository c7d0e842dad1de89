"""Schemas of waiting lists."""

from schemas.base import (
    EXAMPLE_ID,
    BaseSchema,
    Choice,
    Int,
    Moment,
    Number,
    PageQuery,
    String,
    Text,
    an_email,
    an_id,
    one_of,
)
from schemas.checks import Length, Range
from schemas.locales import an_order_locale
from ticketing.waiting_list import MAX_QUANTITY, UNCONFIRMED_FOR, EntryStatus


class JoinSchema(BaseSchema):
    """The wish to wait for a ticket type that is sold out."""

    event_id = Text(f"evt_{EXAMPLE_ID}", required=True, validate=Length(1, 80))
    ticket_id = Text(f"tkt_{EXAMPLE_ID}", required=True, validate=Length(1, 80))
    quantity = Int(2, "How many seats.", load_default=1, validate=Range(1, MAX_QUANTITY))
    email = an_email("ada@example.org", required=True)
    name = Text("Ada Lovelace", load_default=None, allow_none=True, validate=Length(1, 200))
    locale = an_order_locale()


class JoinedSchema(BaseSchema):
    """What everybody gets who wants to wait: whether the address waits already is not said."""

    ticket_id = an_id("tkt_")
    quantity = Number(2)
    confirm_within = Number(
        int(UNCONFIRMED_FOR.total_seconds()),
        "Seconds. The place counts from the moment when the address is confirmed, on the page"
        " that the mail opens.",
        dump_default=int(UNCONFIRMED_FOR.total_seconds()),
    )
    mailed_at = Moment(
        "When the mail was planned: now, or up to four hours ago, if it was asked for before.",
        example="2026-11-21T20:00:00.000000Z",
    )


class AuditedEntrySchema(BaseSchema):
    """A place on a waiting list, without its person."""

    id = an_id("wle_")
    event_id = an_id("evt_")
    ticket_id = an_id("tkt_")
    quantity = Number(2)
    status = Choice(EntryStatus)
    intent_id = an_id("pi_", allow_none=True)


class EntrySchema(AuditedEntrySchema):
    """A place on a waiting list, as its organizer sees it."""

    email = String("ada@example.org", nullable=True)
    name = String("Ada Lovelace", nullable=True)
    locale = String("de", nullable=True)
    place = Number(
        3, "Of those who wait for the ticket type, from 1. Null: not waiting.", nullable=True
    )
    created_at = Moment()
    confirmed_at = Moment(nullable=True)
    offered_at = Moment(nullable=True)
    offer_expires_at = Moment(nullable=True)


class EntryListQuery(PageQuery):
    """Which places of a waiting list to return."""

    status = one_of(EntryStatus, load_default=None)
