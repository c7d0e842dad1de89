"""Pay an order without a network fee: read what to sign, and send the signature."""

from typing import Any

from schemas.gasless import PayerQuery, SignedTransferSchema, ToSignSchema
from schemas.intents import DuePaymentSchema
from ticketing.constants import IntentStatus
from ticketing.errors import (
    ChainUnavailable,
    GaslessNotEnabled,
    IntentCanceled,
    IntentExpired,
    IntentReversed,
    Invalid,
    NotFound,
    PaymentSent,
    TransferOutdated,
    TransferRefused,
    X402CallsUsed,
)
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.x402 import gasless
from ticketing.web import cors, secret_guards
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config
from ticketing.web.idempotency import idempotent_outside_transaction

blp = ApiBlueprint(
    "gasless",
    __name__,
    url_prefix="/v1/checkout/tenants/<tenant>",
    guard=secret_guards.Buyer(pay_views=frozenset({"get_what_to_sign", "pay_without_fee"})),
    description="Pay an order with a signature. The operator's facilitator pays the network's fee.",
)
cors.open_to_all(blp)

_ENDED = (GaslessNotEnabled, IntentExpired, IntentCanceled, IntentReversed, X402CallsUsed)


@blp.get("/intents/<intent_id>/gasless")
@blp.arguments(PayerQuery, location="query")
@blp.response(200, ToSignSchema)
@blp.raises(NotFound, PaymentSent, *_ENDED)
def get_what_to_sign(query: dict[str, Any], tenant: str, intent_id: str) -> dict[str, Any]:
    """Read what a payer signs for exactly what is due now. This stores nothing.

    It is good for 5 minutes, or until the hold ends. Whatever a payer signs for the same sum of an
    order, the token takes only one of it. The secret of a payment link can do it too.
    """
    return {"typed_data": gasless.to_sign(tenant, intent_id, query["payer"], config())}


@blp.post("/intents/<intent_id>/gasless")
@idempotent_outside_transaction
@blp.arguments(SignedTransferSchema)
@blp.response(200, DuePaymentSchema)
@blp.alt_response(202, schema=DuePaymentSchema, description="On its way, or not final yet")
@blp.raises(NotFound, TransferOutdated, TransferRefused, Invalid, ChainUnavailable, *_ENDED)
def pay_without_fee(body: dict[str, str], tenant: str, intent_id: str) -> tuple[PaymentIntent, int]:
    """Send a signed transfer. It is settled once; a repeat changes nothing.

    202: it is on its way, and nobody should sign again. After `transfer_outdated` and
    `transfer_refused` nothing was paid: read again what to sign.
    """
    intent = gasless.pay(tenant, intent_id, body, config())
    return intent, 200 if intent.status == IntentStatus.CONFIRMED else 202
