"""Schemas of the arguments of MCP tools, and of results that no other surface has."""

from marshmallow import fields

from schemas.admissions import AdmissionListQuery
from schemas.base import (
    BaseSchema,
    Bool,
    Int,
    ListOf,
    Number,
    PageQuery,
    String,
    Text,
    an_email,
    one_of,
)
from schemas.checks import UUID, VISIBLE, Length, Range
from schemas.events import PublicEventListQuery, PublicEventSchema
from schemas.intents import ItemSchema, NewIntentSchema, PreflightSchema
from schemas.sales import SalesQuery
from schemas.scans import MAX_QR
from schemas.waiting_list import JoinSchema
from ticketing.constants import CURRENCY, MAX_SAFE_INTEGER, MICRO_UNIT_DECIMALS, RefundStatus

_ID = "01hq3v5m8r2t6w9y1a4c7e0g3j"
MIN_KEY, MAX_KEY = 32, 255


def _an_id(prefix: str, description: str | None = None) -> Text:
    return Text(f"{prefix}{_ID}", description, required=True, validate=Length(1, 80))


class TenantSchema(BaseSchema):
    """The organizer."""

    tenant = Text("acme", "The organizer's slug or id.", required=True, validate=Length(1, 80))


class FindEventsSchema(PageQuery):
    """Which events of all organizers to find."""

    q = Text(
        "jazz",
        "Text in the title, ASCII letters in any case.",
        load_default=None,
        allow_none=True,
        validate=Length(1, 200),
    )


class FoundEventSchema(PublicEventSchema):
    """An event, and whose it is."""

    tenant = String("acme", "The `tenant` that the other tools take.", attribute="tenant.slug")
    organizer = String("Acme Events", attribute="tenant.name")


class ListEventsSchema(TenantSchema, PublicEventListQuery):
    """Which events to list."""


class GetEventSchema(TenantSchema):
    """Which event to read."""

    event_id = _an_id("evt_", "The event's id or slug.")


class ListTicketsSchema(GetEventSchema, PageQuery):
    """Which ticket types to list."""


class JoinWaitingListSchema(TenantSchema, JoinSchema):
    """Who waits for what."""


class QuoteArgumentsSchema(TenantSchema, PreflightSchema):
    """What to quote."""

    class Meta:
        exclude = ("buyer", "max_amount", "chain_id", "answers")


class OrderTicketSchema(TenantSchema, PreflightSchema):
    """What to order, and for whom."""

    buyer_name = Text(load_default=None, allow_none=True, validate=Length(1, 200))
    buyer_email = an_email("ada@example.org", description="Where the tickets are sent, too.")
    idempotency_key = Text(
        "5b7c2f0e9d1a4c6b8e3f5a7d9c0b2e4f",
        "A random secret of your own. Send the same one again after a lost answer: the same order"
        " comes back.",
        load_default=None,
        allow_none=True,
        validate=[Length(MIN_KEY, MAX_KEY), VISIBLE],
    )
    waiting_room_token = Text(
        None,
        "The newest `token` of an error waiting_room: it keeps a place.",
        load_default=None,
        allow_none=True,
        validate=Length(1, 200),
    )

    class Meta:
        exclude = ("buyer",)


class OrderedSchema(NewIntentSchema):
    """An order, and where an x402 client would order and pay in one call."""

    x402_url = String(
        "https://tickets.example.org/v1/x402/tenants/acme/tickets/tkt_/orders", required=False
    )


class BuyTicketSchema(OrderTicketSchema):
    """What to buy by x402, and for whom. The signature says on which network."""

    class Meta:
        exclude = ("buyer", "chain_id")


class OrderSecretSchema(TenantSchema):
    """An order, and the secret that opens it."""

    intent_id = _an_id("pi_", "The `id` of the order.")
    client_secret = Text(
        "cs_" + "5e" * 32,
        "From the answer to order_ticket.",
        required=True,
        validate=Length(1, 200),
    )


class GetTicketSchema(TenantSchema):
    """A ticket, and the code that opens it."""

    admission_id = _an_id("adm_", "The `id` in `admissions` of the order.")
    code = Text(
        "5m8r2t6w9y1a4c7e0g3j", "The `code` beside that id.", required=True, validate=Length(1, 100)
    )


class SalesArgumentsSchema(TenantSchema, SalesQuery):
    """Which sales to count."""

    event_id = Text(
        description="Required unless `by` is `day`.",
        load_default=None,
        allow_none=True,
        validate=Length(1, 80),
    )


class ListAttendeesSchema(TenantSchema, AdmissionListQuery):
    """Which attendees to list."""

    redeemed = Bool(description="Whether they have entered.", load_default=None)


class OwedRefundsSchema(TenantSchema, PageQuery):
    """Which refunds to list."""

    status = one_of(RefundStatus, load_default=RefundStatus.DUE)
    min_amount = Int(
        10_000, "Leave out refunds of less, in micro-units.", validate=Range(1, MAX_SAFE_INTEGER)
    )


class CheckInSchema(GetEventSchema):
    """Whom to let in. Exactly one of `code` and `qr`."""

    nonce = Text(
        "6f0c1d1e-8a55-4b0e-9d3c-2b1f0e9d8c7b",
        "A UUID of your own. The same one again gets the same answer, and admits nobody twice.",
        required=True,
        validate=UUID,
    )
    code = Text("5m8r2t6w9y1a4c7e0g3j", "The admission's code.", validate=Length(1, 100))
    qr = Text("T1:AB0-ZK...", "Or the text of its QR code.", validate=Length(1, MAX_QR))


class QuoteSchema(BaseSchema):
    """What an order would cost now. Nothing is held."""

    event_id = String(attribute="event.id")
    event_title = String(attribute="event.title")
    ticket_id = String(nullable=True, attribute="only_line.ticket_type.id", dump_default=None)
    ticket_name = String(nullable=True, attribute="only_line.ticket_type.name", dump_default=None)
    quantity = Number()
    unit_amount = Number(nullable=True, attribute="only_line.unit_amount", dump_default=None)
    items = ListOf(ItemSchema, attribute="shown_items")
    amount = Number()
    currency = fields.Constant(CURRENCY)
    decimals = fields.Constant(MICRO_UNIT_DECIMALS)
    chain_id = Number(nullable=True)
