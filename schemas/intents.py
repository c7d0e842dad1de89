"""Schemas of payment intents and payments. Amounts are micro-units."""

from collections.abc import Mapping, Sequence
from typing import Any

from marshmallow import ValidationError, fields, post_load, validates_schema

from schemas.admissions import AdmissionSchema, BoughtAdmissionSchema
from schemas.base import (
    EXAMPLE_ADDRESS,
    EXAMPLE_PAYER,
    EXAMPLE_TOKEN,
    EXAMPLE_TX_HASH,
    BaseSchema,
    Choice,
    Int,
    ListOf,
    Moment,
    Number,
    PageQuery,
    Part,
    String,
    Text,
    YesNo,
    an_id,
    documented,
    one_of,
)
from schemas.checks import ALWAYS, Length, Range
from schemas.locales import a_locale, an_order_locale
from schemas.people import BuyerSchema, NewBuyerSchema
from schemas.questions import Answers
from schemas.refunds import PaidRefundSchema, PayeeSchema
from ticketing.constants import (
    CURRENCY,
    MAX_CODE_TYPED,
    MAX_ITEMS,
    MAX_PAYMENTS_SHOWN,
    MAX_PER_ORDER,
    MAX_PRICE,
    MAX_SAFE_INTEGER,
    Flag,
    IntentStatus,
)
from ticketing.errors import FieldMessage

EXAMPLE_PAYMENT_URI = (
    f"ethereum:{EXAMPLE_TOKEN}@8453/transfer?address={EXAMPLE_ADDRESS}&uint256=50000000"
)
_ID = "01hq3v5m8r2t6w9y1a4c7e0g3j"

NOT_WITH_ITEMS = FieldMessage("not_with_items", "Must not be used together with items.")
DISTINCT = FieldMessage("distinct", "Must have distinct ticket types.")
TOO_MANY_SEATS = FieldMessage(
    "seats", f"Must have at most {MAX_PER_ORDER} seats in all.", max=MAX_PER_ORDER
)


class WantedItemSchema(BaseSchema):
    """Seats of one ticket type that a buyer wants."""

    ticket_id = Text(f"tkt_{_ID}", required=True, validate=Length(1, 80))
    quantity = Int(2, load_default=1, validate=Range(1, MAX_PER_ORDER))
    price_amount = Int(
        30_000_000,
        "What you choose to pay for each, in micro-units, if the ticket type has `free_price`.",
        load_default=None,
        validate=Range(0, MAX_PRICE, "amount"),
    )


def check_items(items: Sequence[Mapping[str, Any]]) -> None:
    """Check what several items have together. ValidationError."""
    if len({item["ticket_id"] for item in items}) < len(items):
        raise ValidationError(DISTINCT, "items")
    if sum(item["quantity"] for item in items) > MAX_PER_ORDER:
        raise ValidationError(TOO_MANY_SEATS, "items")


class WantedSchema(BaseSchema):
    """What a buyer wants: either `items`, or `ticket_id` and `quantity` for one ticket type."""

    ticket_id = Text(
        f"tkt_{_ID}", "Required without `items`, not possible with them.", validate=Length(1, 80)
    )
    quantity = Int(
        validate=Range(1, MAX_PER_ORDER),
        metadata={**documented(2, "How many of `ticket_id`."), "default": 1},
    )
    items = fields.List(
        fields.Nested(WantedItemSchema),
        validate=Length(1, MAX_ITEMS, "items"),
        metadata=documented(
            [{"ticket_id": f"tkt_{_ID}", "quantity": 2}],
            "Distinct ticket types of one event, instead of `ticket_id` and `quantity`.",
        ),
    )

    def example(self) -> dict[str, Any]:
        """Return an example of the form for one ticket type."""
        return {name: value for name, value in super().example().items() if name != "items"}

    # Also if other fields are wrong: one response names all that is missing.
    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_presence(self, data: dict[str, Any], original: Any, **_: Any) -> None:
        """Check that something is wanted, in one form or the other."""
        if isinstance(original, Mapping) and not {"ticket_id", "items"} & original.keys():
            raise ValidationError(ALWAYS["required"], "ticket_id")

    @validates_schema
    def check_form(self, data: dict[str, Any], **_: Any) -> None:
        """Check that only one of both forms is used, and what several items have together."""
        items = data.get("items")
        if items is None:
            return
        for name in ("ticket_id", "quantity"):
            if name in data:
                raise ValidationError(NOT_WITH_ITEMS, name)
        check_items(items)

    @post_load
    def join_forms(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return both forms as `items`."""
        ticket_id, quantity = data.pop("ticket_id", None), data.pop("quantity", 1)
        one = {"ticket_id": ticket_id, "quantity": quantity, "price_amount": None}
        return {**data, "items": data.get("items", [one])}


class ItemSchema(BaseSchema):
    """The seats of one ticket type in an order."""

    ticket_id = an_id("tkt_", attribute="ticket_type_id")
    name = String("Standard")
    quantity = Number(2)
    list_amount = Number(25_000_000, "The price of one without a voucher, or the lowest one.")
    unit_amount = Number(25_000_000, "What one costs in this order.")
    amount = Number(50_000_000)
    deposit_amount = Number(0, "How much of one comes back to who came. It is part of its price.")


class UsedVoucherSchema(BaseSchema):
    """The voucher of an order."""

    id = an_id("vou_")
    code = String(
        "SPONSOR-7K4D",
        "Null for a credential with the role `read`.",
        nullable=True,
        attribute="shown_code",
    )


class ChainChoiceSchema(BaseSchema):
    """The network on which an order shall be paid."""

    chain_id = Int(137, required=True, validate=Range(1, MAX_SAFE_INTEGER))


class PreflightSchema(WantedSchema):
    """The order of a buyer."""

    voucher = Text(
        "SPONSOR-7K4D", "A voucher's code.", load_default=None, validate=Length(1, MAX_CODE_TYPED)
    )

    event_id = Text(f"evt_{_ID}", required=True, validate=Length(1, 80))
    chain_id = Int(
        8453,
        "The network on which the buyer pays, one of the ticket types' `chain_ids`. Default: the"
        " first that all of them share and that can be used.",
        load_default=None,
        validate=Range(1, MAX_SAFE_INTEGER),
    )
    buyer = fields.Nested(NewBuyerSchema, load_default=dict)
    max_amount = Int(
        50_000_000,
        "Reject the order if its total is higher.",
        load_default=None,
        validate=Range(0, MAX_SAFE_INTEGER),
    )
    answers = Answers(load_default=dict)
    locale = an_order_locale()


class PaymentOptionSchema(BaseSchema):
    """A network on which an order could be paid, with its terms, which never change."""

    chain_id = Number(8453)
    name = String("Base")
    token_address = String(EXAMPLE_TOKEN)
    symbol = String("USDC", "The token's symbol. Null: not known.", nullable=True)
    decimals = Number(6)
    atomic_amount = Number(50_000_000, "`amount` in the token's own units.")
    payment_uri = String(
        EXAMPLE_PAYMENT_URI,
        "EIP-681 link that pays what is missing there. Null if it is not `available`.",
        nullable=True,
    )
    required_confirmations = Number(30)
    available = YesNo(
        True,
        "Whether the order can be paid there now. Pay all of it on one network: the order moves"
        " there by itself. Also false if that network has received enough: pay nothing more.",
    )


class StraySchema(BaseSchema):
    """What an order received on a network, or in a token, that it is not paid in."""

    chain_id = Number(137)
    token_address = String(EXAMPLE_TOKEN)
    symbol = String("USDC", "Null: not known.", nullable=True)
    amount_received = Number(24_000_000, attribute="received")
    unassigned = Number(
        24_000_000,
        "It can still pay for the order: neither kept nor owed. It pays if all of the amount"
        " arrives on this network. It is owed when the order is paid otherwise, ends, or the"
        " buyer states a refund address for this network.",
        attribute="open",
    )
    refund_due = Number(0, attribute="due")
    refund_pending = Number(
        0, "The part of `refund_due` that is not final yet.", attribute="pending"
    )
    out_of_reach = Number(
        0, "Not owed yet: the organizer's wallet is not on this network, as far as we know."
    )
    waived = Number(0, "What the organizer decided not to send back.")
    asked_back = YesNo(
        False, "Whether the buyer stated a refund address here: it never pays for the order."
    )
    refund_address = String(None, "Where this money goes back to, on this network.")
    payee = Part(PayeeSchema)
    refunds = ListOf(PaidRefundSchema, "The refunds that were paid.", example=[])


class IntentSchema(BaseSchema):
    """A payment intent. For a free order, the chain's fields are null."""

    id = an_id("pi_")
    status = Choice(IntentStatus)
    flags = ListOf(one_of(Flag), example=[], attribute="flags_in_order")
    event_id = an_id("evt_")
    ticket_id = String(
        f"tkt_{_ID}", "Null for several items.", nullable=True, attribute="only_ticket_id"
    )
    locale = a_locale(
        "The language of its pages and mails. Null: the event's.", required=True, allow_none=True
    )
    quantity = Number(2, "The number of seats of all items.")
    unit_amount = Number(
        25_000_000, "Null for several items.", nullable=True, attribute="only_unit_amount"
    )
    items = ListOf(
        ItemSchema,
        "The seats by ticket type, in the order of the buyer.",
        example=[],
        attribute="shown_items",
    )
    voucher = Part(UsedVoucherSchema, nullable=True)
    discount_amount = Number(0, "How much less than the list prices it costs.")
    amount = Number(50_000_000)
    amount_received = Number(0)
    amount_due = Number(50_000_000)
    refund_due = Number(0)
    refund_pending = Number(
        0, "The part of `refund_due` that is not final yet.", attribute="home.pending"
    )
    refund_address = String(None, "Where money goes back to.", attribute="home.refund_address")
    payee = Part(PayeeSchema)
    refunds = ListOf(PaidRefundSchema, "The refunds that were paid.", example=[])
    currency = String(CURRENCY)
    chain_id = Number(8453, nullable=True)
    address = String(EXAMPLE_ADDRESS, "The payment address (EIP-55).", nullable=True)
    token_address = String(EXAMPLE_TOKEN, nullable=True)
    atomic_amount = Number(50_000_000, "`amount` in the token's own units.", nullable=True)
    payment_uri = String(
        EXAMPLE_PAYMENT_URI,
        "EIP-681 link that pays `amount_due`. Null if nothing is due.",
        nullable=True,
    )
    payment_options = ListOf(
        PaymentOptionSchema,
        "The networks on which its ticket types were sold when it was made, the proposed one"
        " first. Empty for a free order. The terms of `chain_id` are those of the order.",
        example=[],
    )
    strays = ListOf(
        StraySchema, "Money that arrived on other networks, or in other tokens.", example=[]
    )
    required_confirmations = Number(30, nullable=True, attribute="home.required_confirmations")
    confirmations = Number(0)
    final = YesNo(
        False,
        "Whether it is confirmed and its payment is final. Give out what cannot be taken back"
        " only when the order is final.",
    )
    expires_at = Moment(example="2026-11-21T09:15:00Z")
    created_at = Moment()
    confirmed_at = Moment(nullable=True)


class DuePaymentSchema(BaseSchema):
    """What is due of an order, for somebody else who pays. Nothing in it is personal."""

    status = Choice(IntentStatus)
    amount = Number(50_000_000)
    amount_due = Number(50_000_000, "0 once it is paid or has ended: do not pay any more.")
    currency = String(CURRENCY)
    payment_uri = String(
        EXAMPLE_PAYMENT_URI, "EIP-681 link that pays `amount_due`, or null.", nullable=True
    )
    required_confirmations = Number(30, nullable=True, attribute="home.required_confirmations")
    confirmations = Number(0)
    expires_at = Moment(example="2026-11-21T09:15:00Z")


class NewIntentSchema(IntentSchema):
    """An intent with its client secret. Only the response that creates it contains the secret."""

    client_secret = String("cs_" + "5e" * 32, "Send it as a bearer token to use the intent.")


class PurchaseSchema(IntentSchema):
    """A purchase: the intent and, once it is confirmed, the buyer's admissions."""

    admissions = ListOf(BoughtAdmissionSchema)
    online_join_url = String(
        "https://meet.example.org/launch", "Null until the order is final.", nullable=True
    )


class PaymentSchema(BaseSchema):
    """One token transfer to the payment address, on any network."""

    id = an_id("pay_")
    chain_id = Number(8453)
    token_address = String(EXAMPLE_TOKEN)
    tx_hash = String(EXAMPLE_TX_HASH)
    log_index = Number(12)
    block_number = Number(21_000_000)
    block_hash = String("0x" + "cd" * 32)
    block_time = Moment(example="2026-11-21T09:02:00Z")
    sender = String(EXAMPLE_PAYER)
    amount = Number(50_000_000)
    canonical = YesNo(description="False if a reorganization removed it.")


class AdminIntentSchema(IntentSchema):
    """An intent as its organizer sees it."""

    buyer = Part(BuyerSchema)
    forgiven = Number(0, "What is missing of the payments of a confirmed order, and was accepted.")


class AdminIntentDetailSchema(AdminIntentSchema):
    """An intent with its largest payments and its admissions."""

    payments = ListOf(
        PaymentSchema,
        f"The {MAX_PAYMENTS_SHOWN} largest, in the order of the chain."
        " `GET .../intents/{intent_id}/payments` lists all.",
    )
    payment_count = Number(1, "How many payments there are.")
    admissions = ListOf(AdmissionSchema)
    answers = fields.Dict(
        required=True,
        metadata=documented({"diet": "Vegetarian"}, "What the buyer answered, by identifier."),
    )


class IntentListQuery(PageQuery):
    """Filters of the list of intents."""

    status = one_of(IntentStatus, load_default=None, allow_none=False)
    event_id = Text(load_default=None, allow_none=False, validate=Length(1, 80))
    flag = one_of(Flag, load_default=None, allow_none=False)
    q = Text(
        description="The id of an order or of a ticket, a payment address, the hash of a payment's"
        " transaction, or the buyer's complete email address. The other filters do not apply. The"
        " newest come first, at most 100, on one page.",
        load_default=None,
        allow_none=False,
        validate=Length(1, 254),
    )
