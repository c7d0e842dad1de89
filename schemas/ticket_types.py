"""Schemas of ticket types. Amounts are micro-units."""

from marshmallow import fields

from schemas.base import (
    BaseSchema,
    Bool,
    Fields,
    Instant,
    Int,
    Text,
    an_id,
    documented,
    first_status,
    one_of,
    optional,
    shown,
)
from schemas.checks import NOT_BLANK, Length, Range
from ticketing.constants import (
    CURRENCY,
    DEFAULT_MAX_PER_ORDER,
    LEAST_FREE_PRICE,
    MAX_PER_ORDER,
    MAX_POSITION,
    MAX_PRICE,
    MAX_SAFE_INTEGER,
    MICRO_UNIT_DECIMALS,
    Availability,
    Obstacle,
    Publication,
    TicketTypeWarning,
)

PUBLIC_FIELDS: Fields = {
    "name": Text(
        required=True,
        validate=[Length(1, 200), NOT_BLANK],
        metadata=documented("General admission"),
    ),
    "description": Text(
        load_default=None,
        allow_none=True,
        validate=Length(0, 1000),
        metadata=documented("With a drink."),
    ),
    "group_heading": Text(
        load_default=None,
        allow_none=True,
        validate=[Length(1, 100), NOT_BLANK],
        metadata=documented(
            "Festival passes", "Shown once, above ticket types that follow each other and share it."
        ),
    ),
    "position": Int(
        validate=Range(0, MAX_POSITION),
        metadata=documented(
            1,
            "Lists are in this order, then in the order of creation. Default: that of the event's"
            " last ticket type.",
        ),
    ),
    "price_amount": Int(
        required=True,
        validate=Range(0, MAX_PRICE, "amount"),
        metadata=documented(25_000_000, "Micro-units. With `free_price`: the least."),
    ),
    "free_price": Bool(
        load_default=False,
        metadata={
            "description": "Whether the buyer may pay more than `price_amount`. That is then 0, or"
            f" at least {LEAST_FREE_PRICE}."
        },
    ),
    "max_price_amount": Int(
        load_default=None,
        allow_none=True,
        validate=Range(LEAST_FREE_PRICE, MAX_PRICE, "amount"),
        metadata=documented(
            None,
            "Only with `free_price`: the most that a buyer may pay. Not below `price_amount`. Null:"
            f" {MAX_PRICE}.",
        ),
    ),
    "admission": Bool(
        load_default=True,
        metadata={
            "description": "Whether it lets somebody in. Otherwise it is handed out, and does not"
            " count in the event's capacity. It cannot change after the first order or guest."
        },
    ),
    "requires_ticket": Bool(
        load_default=False,
        metadata={"description": "An order of it needs a ticket of admission too."},
    ),
    "chain_id": Int(
        load_default=None,
        allow_none=True,
        validate=Range(1, MAX_SAFE_INTEGER),
        metadata=documented(
            8453, "An EIP-155 id. May be null if the price is 0, and not for the buyer to choose."
        ),
    ),
    "transferable": Bool(load_default=True),
    "min_per_order": Int(
        load_default=1,
        validate=Range(1, MAX_PER_ORDER),
        metadata=documented(1, "Must not be above `max_per_order`."),
    ),
    "max_per_order": Int(
        load_default=DEFAULT_MAX_PER_ORDER,
        validate=Range(1, MAX_PER_ORDER),
        metadata=documented(DEFAULT_MAX_PER_ORDER),
    ),
    "sales_start_at": Instant(load_default=None, allow_none=True),
    "sales_end_at": Instant(
        load_default=None,
        allow_none=True,
        metadata={"description": "Must be after `sales_start_at`."},
    ),
}
"""The fields that organizers set and the public sees."""

FIELDS: Fields = {
    **PUBLIC_FIELDS,
    "capacity": Int(
        load_default=None,
        allow_none=True,
        validate=Range(0, MAX_SAFE_INTEGER),
        metadata=documented(100, "Null: unlimited."),
    ),
    "requires_key": Bool(
        load_default=False,
        metadata={"description": "Preflight requires a credential with role `paywall` or higher."},
    ),
    "require_voucher": Bool(
        load_default=False,
        metadata=documented(False, "It is only sold with a voucher that names it."),
    ),
    "hide_without_voucher": Bool(
        load_default=False,
        metadata=documented(
            False,
            "Without a voucher that names it, nobody sees that it exists."
            " This also sets `require_voucher`.",
        ),
    ),
}
"""All fields that organizers set."""


class TicketTypeCreateSchema(BaseSchema):
    """The request to create a ticket type. `chain_id` is optional if the price is 0."""

    status = first_status()

    class Meta:
        include = FIELDS


class TicketTypeChangeSchema(BaseSchema):
    """The fields of a ticket type to change. Missing fields do not change."""

    class Meta:
        include = optional(FIELDS)


class TicketTypePlaceSchema(BaseSchema):
    """Where a ticket type is shown among those of its event: 0 is the first place."""

    place = Int(required=True, validate=Range(0, MAX_POSITION))


class TicketTypeSchema(BaseSchema):
    """A ticket type as its organizer sees it."""

    id = an_id("tkt_")
    event_id = an_id("evt_")
    status = one_of(Publication, required=True)
    held = fields.Integer(required=True, metadata=documented(2))
    sold = fields.Integer(required=True, metadata=documented(40))
    available = fields.Integer(required=True, allow_none=True, metadata=documented(58))
    obstacles = fields.List(
        one_of(Obstacle),
        required=True,
        metadata={"description": "Why nobody can buy right now. Empty: on sale."},
    )
    warnings = fields.List(
        one_of(TicketTypeWarning),
        required=True,
        metadata=documented(
            [],
            "`fee_exceeds_price`: on this network, to collect a payment may cost more than the"
            " price. It is on sale all the same.",
        ),
    )
    created_at = Instant(required=True)
    updated_at = Instant(required=True)

    class Meta:
        include = shown(FIELDS)


class PublicTicketTypeSchema(BaseSchema):
    """A published ticket type as the public sees it."""

    id = an_id("tkt_")
    currency = fields.String(required=True, metadata=documented(CURRENCY))
    decimals = fields.Integer(
        required=True,
        metadata=documented(
            MICRO_UNIT_DECIMALS, "`price_amount` is in units of 10^-decimals of the currency."
        ),
    )
    availability = one_of(
        Availability,
        required=True,
        metadata={
            "description": "`held`: nothing is left, but unpaid orders hold some of it, which may"
            " come back."
        },
    )
    held_until = Instant(
        required=True,
        allow_none=True,
        metadata=documented(
            None, "Of `held`: when the first of these orders ends. Null: all of them are paid."
        ),
    )

    class Meta:
        include = shown(PUBLIC_FIELDS)
