"""Payment intents, their payments and admissions on the wire. Amounts are micro-units."""

from marshmallow import fields, validate

from schemas.base import BaseSchema, Instant, Int, PageQuery, Text, one_of
from ticketing.constants import (
    MAX_PER_ORDER,
    MAX_SAFE_INTEGER,
    AdmissionStatus,
    Flag,
    IntentStatus,
)

_ID = "01hq3v5m8r2t6w9y1a4c7e0g3j"


class BuyerSchema(BaseSchema):
    """Who buys, as far as they say."""

    email = Text(
        allow_none=True,
        validate=[validate.Length(3, 254), validate.Email()],
        metadata={"description": "An email address.", "pattern": "^[^\\u0000]+@[^\\u0000]+$"},
    )
    name = Text(allow_none=True, validate=validate.Length(1, 200))

    EXAMPLE = {"email": "ada@example.org", "name": "Ada"}


class PreflightSchema(BaseSchema):
    """What a buyer wants."""

    event_id = Text(required=True, validate=validate.Length(1, 80))
    ticket_id = Text(required=True, validate=validate.Length(1, 80))
    chain_id = Int(
        load_default=None,
        validate=validate.Range(1, MAX_SAFE_INTEGER),
        metadata={"description": "Refuse the order if the ticket type is not sold on this chain."},
    )
    quantity = Int(load_default=1, validate=validate.Range(1, MAX_PER_ORDER))
    buyer = fields.Nested(BuyerSchema, load_default=dict)
    max_amount = Int(
        load_default=None,
        validate=validate.Range(0, MAX_SAFE_INTEGER),
        metadata={"description": "Refuse the order if it costs more in all."},
    )

    EXAMPLE = {
        "event_id": f"evt_{_ID}",
        "ticket_id": f"tkt_{_ID}",
        "chain_id": 8453,
        "quantity": 2,
        "buyer": BuyerSchema.EXAMPLE,
        "max_amount": 50_000_000,
    }


class IntentSchema(BaseSchema):
    """A payment intent. What belongs to a chain is null for a free order."""

    id = fields.String(required=True)
    status = one_of(IntentStatus, required=True)
    flags = fields.List(one_of(Flag), required=True, attribute="flags_in_order")
    event_id = fields.String(required=True)
    ticket_id = fields.String(required=True, attribute="ticket_type_id")
    quantity = fields.Integer(required=True)
    unit_amount = fields.Integer(required=True)
    amount = fields.Integer(required=True)
    amount_received = fields.Integer(required=True)
    amount_due = fields.Integer(required=True)
    refund_due = fields.Integer(required=True)
    refund_pending = fields.Integer(
        required=True,
        metadata={"description": "The part of `refund_due` that is not final yet."},
    )
    currency = fields.String(required=True)
    chain_id = fields.Integer(required=True, allow_none=True)
    address = fields.String(
        required=True, allow_none=True, metadata={"description": "Pay here (EIP-55)."}
    )
    token_address = fields.String(required=True, allow_none=True)
    atomic_amount = fields.Integer(
        required=True,
        allow_none=True,
        metadata={"description": "`amount` in the token's own units."},
    )
    payment_uri = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "EIP-681 link that pays `amount_due`; null when nothing is."},
    )
    required_confirmations = fields.Integer(required=True, allow_none=True)
    confirmations = fields.Integer(required=True)
    expires_at = Instant(required=True)
    created_at = Instant(required=True)
    confirmed_at = Instant(required=True, allow_none=True)

    EXAMPLE = {
        "id": f"pi_{_ID}",
        "status": "awaiting_payment",
        "flags": [],
        "event_id": f"evt_{_ID}",
        "ticket_id": f"tkt_{_ID}",
        "quantity": 2,
        "unit_amount": 25_000_000,
        "amount": 50_000_000,
        "amount_received": 0,
        "amount_due": 50_000_000,
        "refund_due": 0,
        "refund_pending": 0,
        "currency": "USDC",
        "chain_id": 8453,
        "address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        "token_address": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "atomic_amount": 50_000_000,
        "payment_uri": (
            "ethereum:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913@8453/transfer"
            "?address=0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266&uint256=50000000"
        ),
        "required_confirmations": 30,
        "confirmations": 0,
        "expires_at": "2026-11-21T09:15:00Z",
        "created_at": "2026-11-21T09:00:00Z",
        "confirmed_at": None,
    }


class NewIntentSchema(IntentSchema):
    """An intent with its client secret, in the answer that creates it and never again."""

    client_secret = fields.String(
        required=True, metadata={"description": "Send it as a bearer token to act on the intent."}
    )

    EXAMPLE = {**IntentSchema.EXAMPLE, "client_secret": "cs_" + "5e" * 32}


class AdmissionSchema(BaseSchema):
    """An admission without its code."""

    id = fields.String(required=True)
    event_id = fields.String(required=True)
    ticket_id = fields.String(required=True, attribute="ticket_type_id")
    intent_id = fields.String(required=True)
    status = one_of(AdmissionStatus, required=True)
    created_at = Instant(required=True)

    EXAMPLE = {
        "id": f"adm_{_ID}",
        "event_id": f"evt_{_ID}",
        "ticket_id": f"tkt_{_ID}",
        "intent_id": f"pi_{_ID}",
        "status": "valid",
        "created_at": "2026-11-21T09:03:00Z",
    }


class HeldAdmissionSchema(AdmissionSchema):
    """An admission as its holder sees it."""

    code = fields.String(required=True, metadata={"description": "Shown at the door. Secret."})

    EXAMPLE = {**AdmissionSchema.EXAMPLE, "code": "5m8r2t6w9y1a4c7e0g3j"}


class PurchaseSchema(IntentSchema):
    """A purchase: the intent, and what its buyer gets once it is confirmed."""

    admissions = fields.List(fields.Nested(HeldAdmissionSchema), required=True)
    online_join_url = fields.String(required=True, allow_none=True)

    EXAMPLE = {
        **IntentSchema.EXAMPLE,
        "status": "confirmed",
        "amount_received": 50_000_000,
        "amount_due": 0,
        "payment_uri": None,
        "confirmations": 30,
        "confirmed_at": "2026-11-21T09:03:00Z",
        "admissions": [HeldAdmissionSchema.EXAMPLE],
        "online_join_url": "https://meet.example.org/launch",
    }


class PaymentSchema(BaseSchema):
    """One token transfer seen on the chain."""

    id = fields.String(required=True)
    chain_id = fields.Integer(required=True)
    tx_hash = fields.String(required=True)
    log_index = fields.Integer(required=True)
    block_number = fields.Integer(required=True)
    block_hash = fields.String(required=True)
    block_time = Instant(required=True)
    sender = fields.String(required=True)
    amount = fields.Integer(required=True)
    canonical = fields.Boolean(
        required=True, metadata={"description": "False after a reorganization removed it."}
    )

    EXAMPLE = {
        "id": f"pay_{_ID}",
        "chain_id": 8453,
        "tx_hash": "0x" + "ab" * 32,
        "log_index": 12,
        "block_number": 21_000_000,
        "block_hash": "0x" + "cd" * 32,
        "block_time": "2026-11-21T09:02:00Z",
        "sender": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        "amount": 50_000_000,
        "canonical": True,
    }


class AdminIntentSchema(IntentSchema):
    """An intent as its organizer sees it."""

    buyer = fields.Nested(BuyerSchema, required=True)

    EXAMPLE = {**IntentSchema.EXAMPLE, "buyer": BuyerSchema.EXAMPLE}


class AdminIntentDetailSchema(AdminIntentSchema):
    """An intent with its payments and admissions."""

    payments = fields.List(fields.Nested(PaymentSchema), required=True)
    admissions = fields.List(fields.Nested(AdmissionSchema), required=True)

    EXAMPLE = {
        **AdminIntentSchema.EXAMPLE,
        "payments": [PaymentSchema.EXAMPLE],
        "admissions": [AdmissionSchema.EXAMPLE],
    }


class IntentListQuery(PageQuery):
    """Filters of the list of intents."""

    status = one_of(IntentStatus, load_default=None, allow_none=False)
    event_id = Text(load_default=None, allow_none=False, validate=validate.Length(1, 80))
    flag = one_of(Flag, load_default=None, allow_none=False)


class AdmissionListQuery(PageQuery):
    """Filters of the list of admissions."""

    event_id = Text(load_default=None, allow_none=False, validate=validate.Length(1, 80))
    status = one_of(AdmissionStatus, load_default=None, allow_none=False)
