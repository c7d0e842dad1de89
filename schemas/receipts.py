"""Schemas of receipts, and of who an order is billed to. Amounts are micro-units."""

from typing import Any

from marshmallow import ValidationError, validates_schema

from schemas.base import (
    EXAMPLE_TOKEN,
    EXAMPLE_TX_HASH,
    BaseSchema,
    Choice,
    ListOf,
    Moment,
    Number,
    Part,
    String,
    Text,
    YesNo,
    an_id,
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
        "Lovelace Engines Ltd.",
        load_default=None,
        allow_none=True,
        validate=[Length(1, 200), NOT_BLANK],
    )
    address = Text(
        "12 St James's Square\nLondon",
        load_default=None,
        allow_none=True,
        validate=[Length(1, MAX_BILLING), NOT_BLANK],
    )
    tax_id = Text(
        "GB123456789", load_default=None, allow_none=True, validate=[Length(1, 50), NOT_BLANK]
    )

    @validates_schema
    def check_length(self, data: dict[str, Any], **_: Any) -> None:
        """Check how long all is together."""
        if sum(len(text or "") for text in data.values()) > MAX_BILLING:
            raise ValidationError(TOO_LONG, "address")


class PartySchema(BaseSchema):
    """Who the order is billed to. Without a billing, the name is the buyer's."""

    name = String("Ada", nullable=True)
    address = String(nullable=True)
    tax_id = String(nullable=True)


class BillingSchema(PartySchema):
    """Who an order is billed to, as its buyer wrote it."""

    intent_id = an_id("pi_")


class SellerSchema(BaseSchema):
    """The organizer."""

    name = String("Acme Events")
    legal_address = String(nullable=True)
    tax_id = String(nullable=True)


class SoldEventSchema(BaseSchema):
    """The event of a receipt."""

    id = an_id("evt_")
    title = String("Launch Night")
    venue = String(nullable=True)
    start_at = Moment()
    timezone = String("Europe/Berlin")


class ReceiptRefundSchema(PaidRefundSchema):
    """A transfer that paid money back."""

    chain_id = Number(8453)
    block_number = Number(21_000_100, nullable=True)
    block_hash = String("0x" + "ef" * 32, nullable=True)
    tx_hash = String(EXAMPLE_TX_HASH)


class ReceiptAccountSchema(BaseSchema):
    """What an order received on one network, in one token, and where that is now.

    `received` is the sum of `kept`, `open`, `refund_due`, `out_of_reach`, `refunded` and `waived`.
    It is also the sum of the amounts of `payments`, and of `other_payments_amount`.
    """

    chain_id = Number(8453)
    network = String("Base")
    token_address = String(EXAMPLE_TOKEN)
    symbol = String("USDC", "Null: not known.", nullable=True)
    is_home = YesNo(description="Whether the order is paid on this network.")
    received = Number(50_000_000)
    kept = Number(50_000_000, "What the tickets were paid with.")
    open = Number(0, "Not decided yet: the order may be paid with it.")
    refund_due = Number(0, "Owed to the buyer.")
    out_of_reach = Number(0, "Not owed yet: the organizer's wallet is not on this network.")
    refunded = Number(0, "Paid back.")
    waived = Number(0, "What the organizer wrote off, and does not pay.")
    payments = ListOf(
        PaymentSchema,
        f"Of all payments of the order, the {MAX_PAYMENTS_SHOWN} largest that"
        " are on this network, in the order of the chain.",
    )
    other_payments = Number(0, "How many payments are not in the list.", attribute="others")
    other_payments_amount = Number(0, attribute="others_amount")
    refunds = ListOf(ReceiptRefundSchema)


class ReceiptSchema(BaseSchema):
    """A receipt. It is not signed: the transactions are the proof.

    `list_total` less `discount_amount` is `amount`, the sum of the `items`.
    """

    number = an_id("pi_", attribute="intent.id")
    notice = String(RECEIPT_NOTICE)
    as_of = Moment()
    status = Choice(IntentStatus, attribute="intent.status")
    final = YesNo(
        description="Whether the order is confirmed by final payments.", attribute="intent.final"
    )
    ordered_at = Moment(attribute="intent.created_at")
    confirmed_at = Moment(nullable=True, attribute="intent.confirmed_at")
    seller = Part(SellerSchema)
    buyer = Part(PartySchema)
    event = Part(SoldEventSchema)
    items = ListOf(ItemSchema, attribute="intent.shown_items")
    currency = String(CURRENCY, attribute="intent.currency")
    list_total = Number(50_000_000, "What it costs without the discount.")
    discount_amount = Number(0, attribute="intent.discount_amount")
    voucher_code = String(None, "The code of the voucher that was used.")
    amount = Number(50_000_000, attribute="intent.amount")
    released_amount = Number(
        0,
        "What the order does not keep of `amount`: of tickets that were taken back.",
        attribute="intent.released",
    )
    accounts = ListOf(
        ReceiptAccountSchema,
        "One for each network and token. The one that the order is paid on is the first. A free"
        " order has none.",
    )
