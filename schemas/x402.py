"""Schemas of what x402 clients order. Amounts are micro-units."""

from marshmallow import fields

from schemas.base import EXAMPLE_TOKEN, BaseSchema, Int, an_id, documented
from schemas.checks import Range
from schemas.intents import BuyerSchema, PurchaseSchema
from schemas.questions import Answers
from ticketing.constants import CURRENCY, MAX_PER_ORDER, MAX_SAFE_INTEGER

_TICKET = "tkt_01hq3v5m8r2t6w9y1a4c7e0g3j"


class X402OrderSchema(BaseSchema):
    """The order of an x402 client. It may be absent: then it is for one ticket."""

    MAY_BE_ABSENT = True

    quantity = Int(load_default=1, validate=Range(1, MAX_PER_ORDER), metadata=documented(2))
    buyer = fields.Nested(BuyerSchema, load_default=dict)
    max_amount = Int(
        load_default=None,
        validate=Range(0, MAX_SAFE_INTEGER),
        metadata=documented(50_000_000, "Reject the order if its total is higher."),
    )
    answers = Answers(load_default=dict)


class X402SaleSchema(PurchaseSchema):
    """An order that is paid, or whose payment is on its way: then it has no admissions yet."""

    client_secret = fields.String(
        required=True,
        metadata=documented("cs_" + "5e" * 32, "Send it as a bearer token to use the intent."),
    )


class X402OfferSchema(BaseSchema):
    """What a ticket costs, and how an x402 client buys it. For a free one, the chain is null."""

    event_id = an_id("evt_", attribute="ticket_type.event_id")
    ticket_id = an_id("tkt_", attribute="ticket_type.id")
    event = fields.String(
        required=True, attribute="ticket_type.event.title", metadata=documented("Summer Concert")
    )
    ticket = fields.String(required=True, attribute="ticket_type.name", metadata=documented("Seat"))
    unit_amount = fields.Integer(
        required=True, attribute="ticket_type.price_amount", metadata=documented(25_000_000)
    )
    currency = fields.String(required=True, metadata=documented(CURRENCY))
    min_per_order = fields.Integer(
        required=True, attribute="ticket_type.min_per_order", metadata=documented(1)
    )
    max_per_order = fields.Integer(
        required=True, attribute="ticket_type.max_per_order", metadata=documented(10)
    )
    network = fields.String(
        required=True, allow_none=True, metadata=documented("eip155:8453", "CAIP-2.")
    )
    asset = fields.String(
        required=True, allow_none=True, metadata=documented(EXAMPLE_TOKEN, "The token.")
    )
    url = fields.String(
        required=True,
        metadata=documented(
            f"https://tickets.example.org/v1/x402/tenants/acme/tickets/{_TICKET}/orders"
        ),
    )
    how_to_buy = fields.String(
        required=True, metadata=documented("POST to `url` with an x402 client (version 2).")
    )
