"""Schemas of receipts, and of who an order is billed to. Amounts are micro-units."""

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from schemas.base import (
    EXAMPLE_TOKEN,
    EXAMPLE_TX_HASH,
    BaseSchema,
    Instant,
    Text,
    an_id,
    documented,
    one_of,
)
from schemas.checks import NOT_BLANK, Length
from schemas.intents import ItemSchema, PaymentSchema
from schemas.refunds import PaidRefundSchema
from ticketing.constants import (
    CURRENCY,
    MAX_BILLING,
    MAX_PAYMENTS_SHOWN,
    RECEIPT_NOTICE,
    IntentStatus,
)
from ticketing.errors import FieldMessage

TOO_LONG = FieldMessage(
    "billing_length",
    f"name, address and tax_id must have at most {MAX_BILLING} characters together.",
    max=MAX_BILLING,
)


class BillingChangeSchema(BaseSchema):
    """Who an order is billed to. A missing or null field is not on the receipt."""

    name = Text(
        load_default=None,
        allow_none=True,
        validate=[Length(1, 200), NOT_BLANK],
        metadata=documented("Lovelace Engines Ltd."),
    )
    address = Text(
        load_default=None,
        allow_none=True,
        validate=[Length(1, MAX_BILLING), NOT_BLANK],
        metadata=documented("12 St James's Square\nLondon"),
    )
    tax_id = Text(
        load_default=None,
        allow_none=True,
        validate=[Length(1, 50), NOT_BLANK],
        metadata=documented("GB123456789"),
    )

    @validates_schema
    def check_length(self, data: dict[str, Any], **_: Any) -> None:
        """Check how long all is together."""
        if sum(len(text or "") for text in data.values()) > MAX_BILLING:
            raise ValidationError(TOO_LONG, "address")


class PartySchema(BaseSchema):
    """Who the order is billed to. Without a billing, the name is the buyer's."""

    name = fields.String(required=True, allow_none=True, metadata=documented("Ada"))
    address = fields.String(required=True, allow_none=True)
    tax_id = fields.String(required=True, allow_none=True)


class BillingSchema(PartySchema):
    """Who an order is billed to, as its buyer wrote it."""

    intent_id = an_id("pi_")


class SellerSchema(BaseSchema):
    """The organizer."""

    name = fields.String(required=True, metadata=documented("Acme Events"))
    legal_address = fields.String(required=True, allow_none=True)
    tax_id = fields.String(required=True, allow_none=True)


class SoldEventSchema(BaseSchema):
    """The event of a receipt."""

    id = an_id("evt_")
    title = fields.String(required=True, metadata=documented("Launch Night"))
    venue = fields.String(required=True, allow_none=True)
    start_at = Instant(required=True)
    timezone = fields.String(required=True, metadata=documented("Europe/Berlin"))


class ReceiptRefundSchema(PaidRefundSchema):
    """A transfer that paid money back."""

    chain_id = fields.Integer(required=True, metadata=documented(8453))
    block_number = fields.Integer(required=True, allow_none=True, metadata=documented(21_000_100))
    block_hash = fields.String(
        required=True, allow_none=True, metadata=documented("0x" + "ef" * 32)
    )
    tx_hash = fields.String(required=True, metadata=documented(EXAMPLE_TX_HASH))


class ReceiptAccountSchema(BaseSchema):
    """What an order received on one network, in one token, and where that is now.

    `received` is the sum of `kept`, `open`, `refund_due`, `out_of_reach`, `refunded` and `waived`.
    It is also the sum of the amounts of `payments`, and of `other_payments_amount`.
    """

    chain_id = fields.Integer(required=True, metadata=documented(8453))
    network = fields.String(required=True, metadata=documented("Base"))
    token_address = fields.String(required=True, metadata=documented(EXAMPLE_TOKEN))
    symbol = fields.String(
        required=True, allow_none=True, metadata=documented("USDC", "Null: not known.")
    )
    is_home = fields.Boolean(
        required=True, metadata={"description": "Whether the order is paid on this network."}
    )
    received = fields.Integer(required=True, metadata=documented(50_000_000))
    kept = fields.Integer(
        required=True, metadata=documented(50_000_000, "What the tickets were paid with.")
    )
    open = fields.Integer(
        required=True, metadata=documented(0, "Not decided yet: the order may be paid with it.")
    )
    refund_due = fields.Integer(required=True, metadata=documented(0, "Owed to the buyer."))
    out_of_reach = fields.Integer(
        required=True,
        metadata=documented(0, "Not owed yet: the organizer's wallet is not on this network."),
    )
    refunded = fields.Integer(required=True, metadata=documented(0, "Paid back."))
    waived = fields.Integer(
        required=True, metadata=documented(0, "What the organizer wrote off, and does not pay.")
    )
    payments = fields.List(
        fields.Nested(PaymentSchema),
        required=True,
        metadata={
            "description": f"Of all payments of the order, the {MAX_PAYMENTS_SHOWN} largest that"
            " are on this network, in the order of the chain."
        },
    )
    other_payments = fields.Integer(
        required=True,
        attribute="others",
        metadata=documented(0, "How many payments are not in the list."),
    )
    other_payments_amount = fields.Integer(
        required=True, attribute="others_amount", metadata=documented(0)
    )
    refunds = fields.List(fields.Nested(ReceiptRefundSchema), required=True)


class ReceiptSchema(BaseSchema):
    """A receipt. It is not signed: the transactions are the proof.

    `list_total` less `discount_amount` is `amount`, the sum of the `items`.
    """

    number = an_id("pi_", attribute="intent.id")
    notice = fields.String(required=True, metadata=documented(RECEIPT_NOTICE))
    as_of = Instant(required=True)
    status = one_of(IntentStatus, required=True, attribute="intent.status")
    final = fields.Boolean(
        required=True,
        attribute="intent.final",
        metadata={"description": "Whether the order is confirmed by final payments."},
    )
    ordered_at = Instant(required=True, attribute="intent.created_at")
    confirmed_at = Instant(required=True, allow_none=True, attribute="intent.confirmed_at")
    seller = fields.Nested(SellerSchema, required=True)
    buyer = fields.Nested(PartySchema, required=True)
    event = fields.Nested(SoldEventSchema, required=True)
    items = fields.List(fields.Nested(ItemSchema), required=True, attribute="intent.shown_items")
    currency = fields.String(
        required=True, attribute="intent.currency", metadata=documented(CURRENCY)
    )
    list_total = fields.Integer(
        required=True, metadata=documented(50_000_000, "What it costs without the discount.")
    )
    discount_amount = fields.Integer(
        required=True, attribute="intent.discount_amount", metadata=documented(0)
    )
    voucher_code = fields.String(
        required=True,
        allow_none=True,
        metadata=documented(None, "The code of the voucher that was used."),
    )
    amount = fields.Integer(
        required=True, attribute="intent.amount", metadata=documented(50_000_000)
    )
    released_amount = fields.Integer(
        required=True,
        attribute="intent.released",
        metadata=documented(
            0, "What the order does not keep of `amount`: of tickets that were taken back."
        ),
    )
    accounts = fields.List(
        fields.Nested(ReceiptAccountSchema),
        required=True,
        metadata={
            "description": "One for each network and token. The one that the order is paid on is"
            " the first. A free order has none."
        },
    )
