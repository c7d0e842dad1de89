"""Ticket types on the wire. Amounts are micro-units."""

from typing import Any

from marshmallow import fields, validate

from schemas.base import (
    NOT_BLANK,
    BaseSchema,
    Bool,
    Instant,
    Int,
    Text,
    Written,
    first_status,
    one_of,
)
from ticketing.constants import (
    DEFAULT_MAX_PER_ORDER,
    MAX_PER_ORDER,
    MAX_PRICE,
    MAX_SAFE_INTEGER,
    Availability,
    Obstacle,
    Publication,
)


def _name(**kwargs: Any) -> Text:
    return Text(validate=[validate.Length(1, 200), Written(NOT_BLANK)], **kwargs)


def _price(**kwargs: Any) -> Int:
    return Int(validate=validate.Range(0, MAX_PRICE), **kwargs)


def _chain_id(**kwargs: Any) -> Int:
    return Int(
        allow_none=True,
        validate=validate.Range(1, MAX_SAFE_INTEGER),
        metadata={"description": "An EIP-155 id; may be null when it costs nothing."},
        **kwargs,
    )


def _capacity(**kwargs: Any) -> Int:
    return Int(
        allow_none=True,
        validate=validate.Range(0, MAX_SAFE_INTEGER),
        metadata={"description": "Null: unlimited."},
        **kwargs,
    )


def _requires_key(**kwargs: Any) -> Bool:
    return Bool(
        metadata={"description": "Only a credential of role `paywall` or higher may preflight."},
        **kwargs,
    )


def _min_per_order(**kwargs: Any) -> Int:
    return Int(
        validate=validate.Range(1, MAX_PER_ORDER),
        metadata={"description": "Not above `max_per_order`."},
        **kwargs,
    )


def _max_per_order(**kwargs: Any) -> Int:
    return Int(validate=validate.Range(1, MAX_PER_ORDER), **kwargs)


def _sales_end_at(**kwargs: Any) -> Instant:
    return Instant(allow_none=True, metadata={"description": "After `sales_start_at`."}, **kwargs)


class TicketTypeCreateSchema(BaseSchema):
    """A new ticket type. `chain_id` may be left out when it costs nothing."""

    name = _name(required=True)
    price_amount = _price(required=True)
    status = first_status()
    transferable = Bool(load_default=True)
    requires_key = _requires_key(load_default=False)
    chain_id = _chain_id(load_default=None)
    capacity = _capacity(load_default=None)
    min_per_order = _min_per_order(load_default=1)
    max_per_order = _max_per_order(load_default=DEFAULT_MAX_PER_ORDER)
    sales_start_at = Instant(load_default=None, allow_none=True)
    sales_end_at = _sales_end_at(load_default=None)

    EXAMPLE = {
        "name": "General admission",
        "price_amount": 25_000_000,
        "status": "draft",
        "transferable": True,
        "requires_key": False,
        "chain_id": 8453,
        "capacity": 100,
        "min_per_order": 1,
        "max_per_order": 10,
        "sales_start_at": "2026-11-21T09:00:00Z",
        "sales_end_at": "2026-12-01T19:00:00Z",
    }


class TicketTypeChangeSchema(BaseSchema):
    """Fields of a ticket type to be changed; those left out stay as they are."""

    name = _name()
    price_amount = _price()
    transferable = Bool()
    requires_key = _requires_key()
    chain_id = _chain_id()
    capacity = _capacity()
    min_per_order = _min_per_order()
    max_per_order = _max_per_order()
    sales_start_at = Instant(allow_none=True)
    sales_end_at = _sales_end_at()

    EXAMPLE = {
        "name": "Late bird",
        "price_amount": 30_000_000,
        "transferable": False,
        "requires_key": True,
        "chain_id": 8453,
        "capacity": 150,
        "min_per_order": 1,
        "max_per_order": 4,
        "sales_start_at": "2026-11-21T09:00:00Z",
        "sales_end_at": "2026-12-01T19:00:00Z",
    }


class TicketTypeSchema(BaseSchema):
    """A ticket type as its organizer sees it."""

    id = fields.String(required=True)
    event_id = fields.String(required=True)
    name = fields.String(required=True)
    price_amount = fields.Integer(required=True)
    status = one_of(Publication, required=True)
    transferable = fields.Boolean(required=True)
    requires_key = fields.Boolean(required=True)
    chain_id = fields.Integer(required=True, allow_none=True)
    capacity = fields.Integer(required=True, allow_none=True)
    held = fields.Integer(required=True)
    sold = fields.Integer(required=True)
    available = fields.Integer(required=True, allow_none=True)
    min_per_order = fields.Integer(required=True)
    max_per_order = fields.Integer(required=True)
    sales_start_at = Instant(required=True, allow_none=True)
    sales_end_at = Instant(required=True, allow_none=True)
    obstacles = fields.List(
        one_of(Obstacle),
        required=True,
        metadata={"description": "What keeps people from buying right now."},
    )
    created_at = Instant(required=True)
    updated_at = Instant(required=True)

    EXAMPLE = {
        "id": "tkt_01hq3v5m8r2t6w9y1a4c7e0g3j",
        "event_id": "evt_01hq3v5m8r2t6w9y1a4c7e0g3j",
        "name": "General admission",
        "price_amount": 25_000_000,
        "status": "published",
        "transferable": True,
        "requires_key": False,
        "chain_id": 8453,
        "capacity": 100,
        "held": 2,
        "sold": 40,
        "available": 58,
        "min_per_order": 1,
        "max_per_order": 10,
        "sales_start_at": None,
        "sales_end_at": None,
        "obstacles": [],
        "created_at": "2026-11-21T09:00:00Z",
        "updated_at": "2026-11-21T09:00:00Z",
    }


class PublicTicketTypeSchema(BaseSchema):
    """A published ticket type as anybody may see it."""

    id = fields.String(required=True, attribute="ticket_type.id")
    name = fields.String(required=True, attribute="ticket_type.name")
    price_amount = fields.Integer(required=True, attribute="ticket_type.price_amount")
    currency = fields.String(required=True)
    decimals = fields.Integer(
        required=True,
        metadata={"description": "price_amount is in units of 10^-decimals of the currency."},
    )
    chain_id = fields.Integer(required=True, allow_none=True, attribute="ticket_type.chain_id")
    transferable = fields.Boolean(required=True, attribute="ticket_type.transferable")
    min_per_order = fields.Integer(required=True, attribute="ticket_type.min_per_order")
    max_per_order = fields.Integer(required=True, attribute="ticket_type.max_per_order")
    sales_start_at = Instant(required=True, allow_none=True, attribute="ticket_type.sales_start_at")
    sales_end_at = Instant(required=True, allow_none=True, attribute="ticket_type.sales_end_at")
    availability = one_of(Availability, required=True)

    EXAMPLE = {
        "id": "tkt_01hq3v5m8r2t6w9y1a4c7e0g3j",
        "name": "General admission",
        "price_amount": 25_000_000,
        "currency": "USDC",
        "decimals": 6,
        "chain_id": 8453,
        "transferable": True,
        "min_per_order": 1,
        "max_per_order": 10,
        "sales_start_at": None,
        "sales_end_at": None,
        "availability": "on_sale",
    }
