"""Schemas of ticket types. Amounts are micro-units."""

from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError, fields, post_load, validates_schema

from schemas.base import (
    BaseSchema,
    Bool,
    Choice,
    Fields,
    Instant,
    Int,
    Items,
    ListOf,
    Moment,
    Number,
    String,
    Text,
    YesNo,
    an_id,
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
    MAX_RETURN_FEE_PERCENT,
    MAX_SAFE_INTEGER,
    MAX_TICKET_CHAINS,
    MICRO_UNIT_DECIMALS,
    Availability,
    Obstacle,
    Publication,
    ReturnPolicy,
    TicketTypeWarning,
)
from ticketing.errors import FieldMessage

NOT_BOTH = FieldMessage("chain_id_or_ids", "Write either chain_id or chain_ids.")
DISTINCT = FieldMessage("distinct_chains", "Must have distinct networks.")

PUBLIC_FIELDS: Fields = {
    "name": Text("General admission", required=True, validate=[Length(1, 200), NOT_BLANK]),
    "description": Text(
        "With a drink.", load_default=None, allow_none=True, validate=Length(0, 1000)
    ),
    "group_heading": Text(
        "Festival passes",
        "Shown once, above ticket types that follow each other and share it.",
        load_default=None,
        allow_none=True,
        validate=[Length(1, 100), NOT_BLANK],
    ),
    "position": Int(
        1,
        "Lists are in this order, then in the order of creation. Default: that of the event's"
        " last ticket type.",
        validate=Range(0, MAX_POSITION),
    ),
    "price_amount": Int(
        25_000_000,
        "Micro-units. With `free_price`: the least.",
        required=True,
        validate=Range(0, MAX_PRICE, "amount"),
    ),
    "free_price": Bool(
        description="Whether the buyer may pay more than `price_amount`. That is then 0, or"
        f" at least {LEAST_FREE_PRICE}.",
        load_default=False,
    ),
    "max_price_amount": Int(
        None,
        "Only with `free_price`: the most that a buyer may pay. Not below `price_amount`. Null:"
        f" {MAX_PRICE}.",
        load_default=None,
        allow_none=True,
        validate=Range(LEAST_FREE_PRICE, MAX_PRICE, "amount"),
    ),
    "admission": Bool(
        description="Whether it lets somebody in. Otherwise it is handed out, and does not count"
        " in the event's capacity. It cannot change after the first order or guest.",
        load_default=True,
    ),
    "requires_ticket": Bool(
        description="An order of it needs a ticket of admission too.", load_default=False
    ),
    "chain_id": Int(
        8453,
        "An EIP-155 id: the first of `chain_ids`. May be null if the price is 0, and not for the"
        " buyer to choose. To write it is to write `chain_ids` with it alone.",
        load_default=None,
        allow_none=True,
        validate=Range(1, MAX_SAFE_INTEGER),
    ),
    "chain_ids": Items(
        Int(validate=Range(1, MAX_SAFE_INTEGER)),
        "The networks (EIP-155 ids) on which buyers may pay, the proposed one first. Write either"
        " this or `chain_id`.",
        example=[8453, 137],
        validate=Length(1, MAX_TICKET_CHAINS, "items"),
    ),
    "transferable": Bool(load_default=True),
    "min_per_order": Int(
        1, "Must not be above `max_per_order`.", load_default=1, validate=Range(1, MAX_PER_ORDER)
    ),
    "max_per_order": Int(
        DEFAULT_MAX_PER_ORDER, load_default=DEFAULT_MAX_PER_ORDER, validate=Range(1, MAX_PER_ORDER)
    ),
    "returns": one_of(
        ReturnPolicy,
        "Whether holders can give a ticket back: `when_resold`, it is sold on when nothing else"
        " is left, and only then they get their money. It counts for later orders.",
        example="when_resold",
        load_default=ReturnPolicy.NONE,
    ),
    "return_fee_percent": Int(
        10,
        "What the organizer keeps of a ticket that was given back.",
        load_default=0,
        validate=Range(0, MAX_RETURN_FEE_PERCENT),
    ),
    "deposit_amount": Int(
        10_000_000,
        "How much of the price comes back to who came, in micro-units. Not above `price_amount`."
        " It counts for later orders.",
        load_default=0,
        validate=Range(0, MAX_PRICE, "amount"),
    ),
    "allow_waitinglist": Bool(
        True,
        "Whether people can wait for it once it is sold out. While anybody waits, nobody else can"
        " buy it.",
        load_default=False,
    ),
    "sales_start_at": Instant(load_default=None, allow_none=True),
    "sales_end_at": Instant("Must be after `sales_start_at`.", load_default=None, allow_none=True),
}
"""The fields that organizers set and the public sees."""

FIELDS: Fields = {
    **PUBLIC_FIELDS,
    "capacity": Int(
        100,
        "Null: unlimited.",
        load_default=None,
        allow_none=True,
        validate=Range(0, MAX_SAFE_INTEGER),
    ),
    "requires_key": Bool(
        description="Preflight requires a credential with role `paywall` or higher.",
        load_default=False,
    ),
    "require_voucher": Bool(
        False, "It is only sold with a voucher that names it.", load_default=False
    ),
    "hide_without_voucher": Bool(
        False,
        "Without a voucher that names it, nobody sees that it exists. This also sets"
        " `require_voucher`.",
        load_default=False,
    ),
}
"""All fields that organizers set."""

_SHOWN_CHAINS: Fields = {
    "chain_ids": ListOf(
        fields.Integer(),
        "The networks on which buyers may pay, the proposed one first. Empty: none is stated.",
        example=[8453, 137],
    )
}


class _Networks(BaseSchema):
    """The checks of `chain_id` and `chain_ids`."""

    @validates_schema(pass_original=True)
    def check_networks(self, data: dict[str, Any], original: Any, **_: Any) -> None:
        """Check that one of both is written, and no network twice."""
        chain_ids = data.get("chain_ids")
        if chain_ids is None:
            return
        if isinstance(original, Mapping) and "chain_id" in original:
            raise ValidationError(NOT_BOTH, "chain_ids")
        if len(set(chain_ids)) < len(chain_ids):
            raise ValidationError(DISTINCT, "chain_ids")

    @post_load
    def drop_default(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Remove the default of `chain_id` if `chain_ids` says it."""
        if "chain_ids" in data:
            data.pop("chain_id", None)
        return data

    def example(self) -> dict[str, Any]:
        """Return an example with one of both."""
        return {name: value for name, value in super().example().items() if name != "chain_ids"}


class TicketTypeCreateSchema(_Networks):
    """The request to create a ticket type. A network is optional if the price is 0."""

    status = first_status()

    class Meta:
        include = FIELDS


class TicketTypeChangeSchema(_Networks):
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
    status = Choice(Publication)
    held = Number(2)
    sold = Number(40)
    available = Number(58, nullable=True)
    waiting = Number(0, "How many entries of its waiting list wait.")
    obstacles = ListOf(one_of(Obstacle), "Why nobody can buy right now. Empty: on sale.")
    warnings = ListOf(
        one_of(TicketTypeWarning),
        "`fee_exceeds_price`: on this network, to collect a payment may cost more than the price."
        " It is on sale all the same. `mail_not_configured`: nobody can join its waiting list,"
        " because the service cannot send mail. `facilitator_unavailable`: programs cannot buy it"
        " by x402, because the facilitator of a network cannot be used.",
        example=[],
    )
    created_at = Moment()
    updated_at = Moment()

    class Meta:
        include = {**shown(FIELDS), **_SHOWN_CHAINS}


class PublicTicketTypeSchema(BaseSchema):
    """A published ticket type as the public sees it."""

    id = an_id("tkt_")
    currency = String(CURRENCY)
    decimals = Number(
        MICRO_UNIT_DECIMALS, "`price_amount` is in units of 10^-decimals of the currency."
    )
    availability = Choice(
        Availability,
        "`held`: nothing is left, but unpaid orders hold some of it, which may come back.",
    )
    waiting_list = YesNo(False, "Whether one can join its waiting list now.")
    held_until = Moment(
        "Of `held`: when the first of these orders ends. Null: all of them are paid.", example=None
    )

    class Meta:
        include = {**shown(PUBLIC_FIELDS), **_SHOWN_CHAINS}
