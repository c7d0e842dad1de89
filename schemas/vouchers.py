"""Schemas of vouchers. Amounts are micro-units."""

from typing import Any

from marshmallow import fields

from schemas.base import (
    BaseSchema,
    Choice,
    Fields,
    Instant,
    Int,
    Items,
    ListOf,
    Moment,
    Number,
    PageQuery,
    Part,
    String,
    Text,
    an_id,
    one_of,
    optional,
    shown,
)
from schemas.checks import CODE, CODE_PREFIX, NOT_BLANK, Length, Range
from schemas.ticket_types import PublicTicketTypeSchema
from ticketing.constants import (
    MAX_CODE_TYPED,
    MAX_PER_ORDER,
    MAX_PRICE,
    MAX_TICKET_TYPES_OF_VOUCHER,
    MAX_USAGES,
    MAX_VOUCHERS_AT_ONCE,
    PriceMode,
    VoucherStatus,
)

_CODE = "SPONSOR-7K4D"
FIELDS: Fields = {
    "max_usages": Int(
        1,
        "For how many seats it is good, over all orders.",
        load_default=1,
        validate=Range(1, MAX_USAGES),
    ),
    "min_usages": Int(
        1,
        "The fewest seats of one order. Must not be above `max_usages`.",
        load_default=1,
        validate=Range(1, MAX_PER_ORDER),
    ),
    "valid_until": Instant(load_default=None, allow_none=True),
    "price_mode": one_of(
        PriceMode,
        "`set`: a seat costs `value`, or its list price if that is lower. `subtract`: `value`"
        " less. `percent`: so many percent less. `none`: it only opens ticket types.",
        example="percent",
        load_default=PriceMode.NONE,
    ),
    "value": Int(
        20,
        "Micro-units, or whole percent from 1 to 100. Null with `none`.",
        load_default=None,
        allow_none=True,
        validate=Range(0, MAX_PRICE),
    ),
    "ticket_ids": Items(
        Text(validate=Length(1, 80)),
        "Ticket types of this event. Null: all without `require_voucher`.",
        example=None,
        load_default=None,
        allow_none=True,
        validate=Length(1, MAX_TICKET_TYPES_OF_VOUCHER, "items"),
    ),
    "tag": Text(
        "sponsors",
        "To find and to count vouchers together.",
        load_default=None,
        allow_none=True,
        validate=[Length(1, 50), NOT_BLANK],
    ),
    "comment": Text(
        None,
        "For you. It is kept when people are erased: write no names.",
        load_default=None,
        allow_none=True,
        validate=[Length(1, 500), NOT_BLANK],
    ),
}
"""All fields that organizers set, besides the code."""


class VoucherCreateSchema(BaseSchema):
    """The request to create a voucher."""

    code = Text(
        _CODE,
        "Letters a to z, digits and hyphens. It is stored in upper case. Null: a random one.",
        load_default=None,
        allow_none=True,
        validate=CODE,
    )

    class Meta:
        include = FIELDS


class VoucherBatchCreateSchema(BaseSchema):
    """The request to create vouchers with random codes."""

    count = Int(2, required=True, validate=Range(1, MAX_VOUCHERS_AT_ONCE))
    prefix = Text(
        "SPONSOR",
        "Each code begins with it and a hyphen.",
        load_default=None,
        allow_none=True,
        validate=CODE_PREFIX,
    )

    class Meta:
        include = FIELDS


class VoucherChangeSchema(BaseSchema):
    """The fields of a voucher to change. Missing fields do not change. The code is fixed."""

    class Meta:
        include = optional(FIELDS)


class AuditedVoucherSchema(BaseSchema):
    """A voucher without its code, as the audit log has it."""

    id = an_id("vou_")
    event_id = an_id("evt_")
    held = Number(1, "Usages of unpaid orders.")
    redeemed = Number(0, "Usages of sold seats.")
    status = Choice(VoucherStatus)
    created_at = Moment()
    updated_at = Moment()

    class Meta:
        include = {
            **shown(FIELDS),
            "ticket_ids": ListOf(fields.String(), example=None, attribute="ticket_type_ids"),
        }


class VoucherSchema(AuditedVoucherSchema):
    """A voucher as its organizer sees it."""

    code = String(
        _CODE, "Null for a credential with the role `read`.", nullable=True, attribute="shown_code"
    )


class VoucherListQuery(PageQuery):
    """Filters of the list of vouchers."""

    status = one_of(VoucherStatus, load_default=None, allow_none=False)
    tag = Text(load_default=None, allow_none=False, validate=Length(1, 50))
    q = Text(
        description="Text in the comment, or in the code if the credential sees codes.",
        load_default=None,
        allow_none=False,
        validate=Length(1, 100),
    )


class NewCodeSchema(BaseSchema):
    """A new voucher of a batch."""

    id = an_id("vou_")
    code = String(_CODE)


class VoucherBatchSchema(BaseSchema):
    """The vouchers of a batch."""

    count = Number(2)
    tag = String("sponsors", nullable=True)
    vouchers = ListOf(NewCodeSchema)


class AuditedVoucherBatchSchema(BaseSchema):
    """A batch without its codes, as the audit log has it. `id` is the event's."""

    id = an_id("evt_")
    count = Number(2)
    tag = String("sponsors", nullable=True)
    voucher_ids = ListOf(fields.String(), example=[])


class VoucherTicketsQuery(PageQuery):
    """A code, and which page of ticket types to return."""

    voucher = Text(
        _CODE, "The code, in any case.", required=True, validate=Length(1, MAX_CODE_TYPED)
    )


class VoucherPriceSchema(BaseSchema):
    """What a seat costs with the voucher."""

    price_amount = Number(20_000_000)


class VoucherTicketTypeSchema(PublicTicketTypeSchema):
    """A published ticket type as somebody with a voucher sees it."""

    voucher: Any = Part(
        VoucherPriceSchema, "Null: the voucher is not for this ticket type.", nullable=True
    )
