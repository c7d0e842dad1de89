"""The checkout surface: preflight, purchase, cancel."""

from typing import Any

from flask import g

from schemas.intents import IntentSchema, NewIntentSchema, PreflightSchema, PurchaseSchema
from ticketing import credentials
from ticketing.conflicts import (
    AboveMaximum,
    BelowMinimum,
    IntentCanceled,
    IntentNotCancelable,
    IntentReversed,
    NotPayable,
    OverMaxAmount,
    SalesEnded,
    SalesNotStarted,
    SoldOut,
)
from ticketing.constants import IntentStatus
from ticketing.errors import (
    ChainUnavailable,
    IntentExpired,
    KeyRequired,
    NotFound,
    PaymentRequired,
    TicketingError,
    TooManyFree,
    TooManyOrders,
    TooMuchUnpaid,
)
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import checkout
from ticketing.services.checkout import Order
from ticketing.services.orders import admissions, intents
from ticketing.web import auth, cors
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config, networks
from ticketing.web.idempotency import idempotent, idempotent_outside_transaction

_REFUSALS: dict[IntentStatus, type[TicketingError]] = {
    IntentStatus.AWAITING_PAYMENT: PaymentRequired,
    IntentStatus.EXPIRED: IntentExpired,
    IntentStatus.CANCELED: IntentCanceled,
    IntentStatus.REVERSED: IntentReversed,
}

blp = ApiBlueprint(
    "checkout",
    __name__,
    url_prefix="/v1/checkout/tenants/<tenant>",
    guard=auth.Buyer(open_view="preflight"),
    description="From wanting a ticket to holding one.",
)
cors.open_to_all(blp)


@blp.post("/preflight")
@idempotent
@blp.takes(PreflightSchema)
@blp.answers(201, NewIntentSchema)
@blp.refuses(
    NotFound,
    SoldOut,
    SalesNotStarted,
    SalesEnded,
    BelowMinimum,
    AboveMaximum,
    OverMaxAmount,
    NotPayable,
    KeyRequired,
    TooMuchUnpaid,
    TooManyOrders,
    TooManyFree,
)
def preflight(body: dict[str, Any], tenant: str) -> PaymentIntent:
    """Hold the tickets, fix the price and issue a payment address."""
    buyer = body.pop("buyer")
    client = () if "caller" in g else tuple(_digest(each) for each in networks())
    order = Order(
        **body, client=client, buyer_email=buyer.get("email"), buyer_name=buyer.get("name")
    )
    intent = _tell(checkout.preflight(tenant, order, config()))
    intent.client_secret = credentials.client_secret(config().keyring.current, intent.id)
    return intent


@blp.get("/intents/<intent_id>")
@blp.answers(200, IntentSchema)
@blp.refuses(NotFound)
def get_checkout_intent(tenant: str, intent_id: str) -> PaymentIntent:
    """Read an intent."""
    return _tell(intents.get(tenant, intent_id))


@blp.post("/intents/<intent_id>/purchase")
@idempotent_outside_transaction
@blp.answers(200, PurchaseSchema)
@blp.also_answers(202, PurchaseSchema, "Paid, not yet deep enough")
@blp.refuses(
    NotFound, PaymentRequired, IntentCanceled, IntentReversed, IntentExpired, ChainUnavailable
)
def purchase(tenant: str, intent_id: str) -> tuple[PaymentIntent, int]:
    """Execute the purchase: look at the chain now and settle. Never issues twice."""
    found = intents.get(tenant, intent_id)
    event = found.event
    intent = _tell(checkout.purchase(found, config()))
    refusal = _REFUSALS.get(IntentStatus(intent.status))
    if refusal is not None:
        raise refusal(intent=IntentSchema().dump(intent))
    confirmed = intent.status == IntentStatus.CONFIRMED
    intent.admissions = admissions.of_intent(intent)
    intent.online_join_url = event.online_join_url if confirmed else None
    return intent, 200 if confirmed else 202


@blp.post("/intents/<intent_id>/cancel")
@idempotent_outside_transaction
@blp.answers(200, IntentSchema)
@blp.refuses(NotFound, IntentNotCancelable, ChainUnavailable)
def cancel(tenant: str, intent_id: str) -> PaymentIntent:
    """Cancel an intent that has received nothing, and release its hold."""
    return _tell(checkout.cancel(intents.get(tenant, intent_id), config()))


def _digest(network: str) -> str:
    return credentials.keyed_digest(config().keyring.current, "held-by", network)


def _tell(intent: PaymentIntent) -> PaymentIntent:
    intents.tell([intent])
    return intent
