"""Schemas of the box office: a device at the door that sells."""

from schemas.base import EXAMPLE_ID, BaseSchema, Int, ListOf, String, Text
from schemas.checks import Length, Range
from schemas.intents import NewIntentSchema
from schemas.ticket_types import PublicTicketTypeSchema
from ticketing.constants import MAX_PER_ORDER, MAX_SAFE_INTEGER


class BoxOfficeSchema(BaseSchema):
    """What a device can sell now."""

    ticket_types = ListOf(PublicTicketTypeSchema)


class BoxOfficeOrderSchema(BaseSchema):
    """What somebody at the door buys."""

    ticket_id = Text(f"tkt_{EXAMPLE_ID}", required=True, validate=Length(1, 80))
    quantity = Int(2, load_default=1, validate=Range(1, MAX_PER_ORDER))
    chain_id = Int(
        8453,
        "The network. Null: the first that can be used.",
        load_default=None,
        allow_none=True,
        validate=Range(1, MAX_SAFE_INTEGER),
    )


class SoldSchema(NewIntentSchema):
    """An order of the box office, with what its buyer reads from the screen."""

    network = String("Base", "Null: it is free.", nullable=True)
    address_qr = String(
        "data:image/png;base64,iVBORw0KGgo=",
        "A picture of the address. Every wallet reads it.",
        nullable=True,
    )
    payment_qr = String(
        "data:image/png;base64,iVBORw0KGgo=",
        "A picture of `payment_uri`: amount and address.",
        nullable=True,
    )
    order_qr = String(
        "data:image/png;base64,iVBORw0KGgo=",
        "A picture of the link of the order's page, for its buyer. Null without PUBLIC_URL.",
        nullable=True,
    )
