"""Schemas of what x402 clients order. Amounts are micro-units."""

from typing import Any

from marshmallow import fields, validates_schema

from schemas.base import (
    EXAMPLE_TOKEN,
    BaseSchema,
    Int,
    ListOf,
    Number,
    String,
    Text,
    YesNo,
    an_id,
    documented,
)
from schemas.checks import Length, Range
from schemas.intents import (
    PurchaseSchema,
    WantedItemSchema,
    check_items,
)
from schemas.locales import an_order_locale
from schemas.people import NewBuyerSchema
from schemas.questions import Answers
from ticketing.constants import CURRENCY, MAX_CODE_TYPED, MAX_ITEMS, MAX_PER_ORDER, MAX_SAFE_INTEGER

_EVENT, _TICKET = (f"{each}_01hq3v5m8r2t6w9y1a4c7e0g3j" for each in ("evt", "tkt"))
_ORIGIN = "https://tickets.example.org/v1/x402/tenants/acme"


class _OrderSchema(BaseSchema):
    """What every order of an x402 client may have."""

    buyer = fields.Nested(NewBuyerSchema, load_default=dict)
    max_amount = Int(
        50_000_000,
        "Reject the order if its total is higher.",
        load_default=None,
        validate=Range(0, MAX_SAFE_INTEGER),
    )
    answers = Answers(load_default=dict)
    locale = an_order_locale()
    voucher = Text(
        "SPONSOR-7K4D", "A voucher's code.", load_default=None, validate=Length(1, MAX_CODE_TYPED)
    )


class X402OrderSchema(_OrderSchema):
    """The order of an x402 client. It may be absent: then it is for one ticket."""

    MAY_BE_ABSENT = True

    quantity = Int(2, load_default=1, validate=Range(1, MAX_PER_ORDER))


class X402EventOrderSchema(_OrderSchema):
    """The order of an x402 client for some ticket types of one event, paid in one transfer."""

    items = fields.List(
        fields.Nested(WantedItemSchema),
        required=True,
        validate=Length(1, MAX_ITEMS, "items"),
        metadata=documented(
            [{"ticket_id": _TICKET, "quantity": 2}],
            "Distinct ticket types. Several only if the event has `carts`.",
        ),
    )

    @validates_schema
    def check_items(self, data: dict[str, Any], **_: Any) -> None:
        """Check what several items have together."""
        check_items(data["items"])


class X402SaleSchema(PurchaseSchema):
    """An order that is paid, or whose payment is on its way: then it has no admissions yet."""

    client_secret = String("cs_" + "5e" * 32, "Send it as a bearer token to use the intent.")


class X402NetworkSchema(BaseSchema):
    """A network on which x402 clients can pay."""

    network = String("eip155:8453", "CAIP-2.")
    asset = String(EXAMPLE_TOKEN, "The token.")


class X402ProductSchema(BaseSchema):
    """A ticket type that x402 clients can buy. For a free one, the network is null."""

    ticket_id = an_id("tkt_", attribute="ticket_type.id")
    ticket = String("Seat", attribute="ticket_type.name")
    unit_amount = Number(25_000_000, attribute="ticket_type.price_amount")
    min_per_order = Number(1, attribute="ticket_type.min_per_order")
    max_per_order = Number(10, attribute="ticket_type.max_per_order")
    network = String("eip155:8453", "The first of `networks`.", nullable=True)
    asset = String(EXAMPLE_TOKEN, "Its token.", nullable=True)
    networks = ListOf(
        X402NetworkSchema,
        "Where an x402 client can pay: all of an order on one of them. Empty if it is free.",
        example=[{"network": "eip155:8453", "asset": EXAMPLE_TOKEN}],
    )


class X402OfferSchema(X402ProductSchema):
    """What a ticket costs, and how an x402 client buys it. For a free one, the network is null."""

    event_id = an_id("evt_", attribute="ticket_type.event_id")
    event = String("Summer Concert", attribute="ticket_type.event.title")
    currency = String(CURRENCY)
    url = String(f"{_ORIGIN}/tickets/{_TICKET}/orders")
    how_to_buy = String("POST to `url` with an x402 client (version 2).")


class X402EventProductSchema(X402ProductSchema):
    """A ticket type of an event that x402 clients can buy, alone or with others."""

    admission = YesNo(
        True,
        "Whether it lets somebody in. False: it is handed out.",
        attribute="ticket_type.admission",
    )
    requires_ticket = YesNo(
        False,
        "Whether the order needs a ticket of admission, too.",
        attribute="ticket_type.requires_ticket",
    )
    free_price = YesNo(
        False,
        "Whether `price_amount` of an item may be more than this.",
        attribute="ticket_type.free_price",
    )
    max_price_amount = Number(
        None,
        "The most that `price_amount` may be. Null: no limit.",
        attribute="ticket_type.max_price_amount",
    )


class X402EventOfferSchema(BaseSchema):
    """What of an event x402 clients can buy, and how."""

    event_id = an_id("evt_", attribute="event.id")
    event = String("Summer Concert", attribute="event.title")
    carts = YesNo(True, "Whether one order may have several ticket types.", attribute="event.carts")
    currency = String(CURRENCY)
    tickets = ListOf(
        X402EventProductSchema, "The ticket types, 100 at most.", example=[], attribute="products"
    )
    url = String(f"{_ORIGIN}/events/{_EVENT}/orders")
    how_to_buy = String("POST `items` to `url` with an x402 client.")
