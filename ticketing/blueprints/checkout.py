"""The checkout surface: preflight, purchase, cancel, and where a refund shall go."""

from typing import Any

from flask import Response, g, jsonify

from schemas.intents import (
    ChainChoiceSchema,
    DuePaymentSchema,
    IntentSchema,
    NewIntentSchema,
    PreflightSchema,
    PurchaseSchema,
)
from schemas.order_emails import EmailChangeSchema
from schemas.payers import PayerReportSchema
from schemas.receipts import BillingChangeSchema, BillingSchema, ReceiptSchema
from schemas.refunds import RefundAddressSchema
from ticketing import credentials
from ticketing.constants import IntentStatus
from ticketing.errors import (
    AboveMaximum,
    AlreadyPaying,
    BelowMinimum,
    BillingClosed,
    CapacityChanged,
    ChainUnavailable,
    EmailClosed,
    EmailPutBack,
    EventOver,
    HoldExtended,
    HoldNotExtendable,
    IntentCanceled,
    IntentExpired,
    IntentNotCancelable,
    IntentReversed,
    Invalid,
    InWaitingRoom,
    KeyRequired,
    MailNotConfigured,
    NeedsTicket,
    NetworkUnavailable,
    NoCommonNetwork,
    NotFound,
    NothingReceived,
    NotPayable,
    OneTypeOnly,
    OverMaxAmount,
    PaymentRequired,
    RefundAddressFixed,
    ReturnedUnpaid,
    SalesEnded,
    SalesNotStarted,
    SignatureRequired,
    SoldOut,
    TextsUnavailable,
    TooManyChanges,
    TooManyFree,
    TooManyGuesses,
    TooManyHolds,
    TooManyOrders,
    TooManyPayers,
    TooMuchText,
    TooMuchUnpaid,
    VoucherHeld,
    VoucherInvalid,
    VoucherNotApplicable,
    VoucherRequired,
)
from ticketing.models.billing import Billing
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import checkout
from ticketing.services.channels import Channel, Person
from ticketing.services.order_requests import Order
from ticketing.services.orders import billing, buyer_emails, intent_versions, intents, receipts
from ticketing.services.orders.lines import all_wanted
from ticketing.services.orders.receipts import Receipt
from ticketing.services.payments import hold_extensions, home_choice, payer_proofs, refund_addresses
from ticketing.web import cors, guesses, secret_guards, waiting_room
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.conditional import may_have_changed, of_tag
from ticketing.web.context import address, config, limited_client, tenant_of_path
from ticketing.web.idempotency import (
    idempotent,
    idempotent_outside_transaction,
    never_stored,
    nothing_changed,
)
from ticketing.web.repeated import IN_ORDER, client_secret_again, order_again

blp = ApiBlueprint(
    "checkout",
    __name__,
    url_prefix="/v1/checkout/tenants/<tenant>",
    guard=secret_guards.Buyer(
        open_view="preflight",
        secret_views=frozenset({"state_refund_address", "write_billing", "send_to_email"}),
        pay_views=frozenset({"get_payment", "tell_payer"}),
        tag_views=frozenset({"get_checkout_intent", "get_payment"}),
    ),
    description="Order tickets, pay for them, and get admissions.",
)
cors.open_to_all(blp)

_dump = IntentSchema().dump
_dump_payment = DuePaymentSchema().dump


def _admissions_again(stored: dict[str, Any]) -> dict[str, Any]:
    intent = checkout.purchased(tenant_of_path().id, stored["id"], config())
    again: dict[str, Any] = PurchaseSchema(only=("admissions", "online_join_url")).dump(intent)
    return again | order_again(stored)


def _billing_again(stored: dict[str, Any]) -> dict[str, Any]:
    found = billing.of(stored["intent_id"])
    return {} if found is None else BillingSchema().dump(found)


@blp.post("/preflight")
@idempotent
@blp.arguments(PreflightSchema)
@blp.response(201, NewIntentSchema)
@blp.headers(request=[waiting_room.PARAMETER], response={})
@blp.raises(
    NotFound,
    SoldOut,
    SalesNotStarted,
    SalesEnded,
    EventOver,
    BelowMinimum,
    AboveMaximum,
    OverMaxAmount,
    NotPayable,
    OneTypeOnly,
    NeedsTicket,
    NetworkUnavailable,
    NoCommonNetwork,
    KeyRequired,
    VoucherHeld,
    VoucherInvalid,
    VoucherNotApplicable,
    VoucherRequired,
    TooManyGuesses,
    TextsUnavailable,
    TooMuchText,
    TooMuchUnpaid,
    TooManyOrders,
    ReturnedUnpaid,
    TooManyFree,
    CapacityChanged,
    InWaitingRoom,
)
@never_stored("client_secret", IN_ORDER, shown_again=client_secret_again)
def preflight(body: dict[str, Any], tenant: str) -> PaymentIntent:
    """Hold the tickets, fix the price, and issue a payment address."""
    buyer = body.pop("buyer")
    order = Order(
        wanted=all_wanted(body.pop("items")),
        **body,
        by=_channel(),
        buyer_email=buyer.get("email"),
        buyer_name=buyer.get("name"),
    )
    with guesses.counted(order.voucher):
        return checkout.preflight(tenant, order, config())


def _channel() -> Channel:
    client = limited_client()
    if not client:
        return Channel()
    return Person(client, address(), entrance=waiting_room.limited_entrance())


@blp.get("/intents/<intent_id>")
@may_have_changed
@blp.response(200, IntentSchema)
@blp.raises(NotFound)
def get_checkout_intent(tenant: str, intent_id: str) -> Response:
    """Read an intent. While you wait for a payment, send its last ETag: 304 until it changes."""

    def body() -> bytes:
        return jsonify(_dump(intents.read(tenant, intent_id))).get_data()

    # The tag is read first: so a body may be newer than its tag, but never older.
    return of_tag(intent_versions.tag(tenant, intent_id, g.get("link_generation")), body)


@blp.get("/intents/<intent_id>/payment")
@may_have_changed
@blp.response(200, DuePaymentSchema)
@blp.raises(NotFound)
def get_payment(tenant: str, intent_id: str) -> Response:
    """Read what is due, with the secret of a payment link. It says nothing about the buyer.

    While you wait for a payment, send its last ETag: 304 until something changes.
    """
    # The order's own tag is a digest of more than is shown, such as where a refund goes: who knows
    # the rest could try addresses until the digest is the same.
    version = intent_versions.tag(tenant, intent_id, g.get("link_generation"))
    tag = credentials.keyed_digest(config().keyring.current, "payment-tag", version)

    def body() -> bytes:
        return jsonify(_dump_payment(intents.read(tenant, intent_id))).get_data()

    return of_tag(tag[:24], body)


@blp.post("/intents/<intent_id>/purchase")
@idempotent_outside_transaction
@blp.response(200, PurchaseSchema)
@blp.alt_response(202, schema=PurchaseSchema, description="Paid, but not final yet")
@blp.raises(
    NotFound, PaymentRequired, IntentCanceled, IntentReversed, IntentExpired, ChainUnavailable
)
@never_stored("admissions", "online_join_url", IN_ORDER, shown_again=_admissions_again)
def purchase(tenant: str, intent_id: str) -> tuple[PaymentIntent, int]:
    """Complete the purchase: read the chain now and settle. Repeats issue nothing twice."""
    found = g.get("intent") or intents.get(tenant, intent_id)
    intent = checkout.purchase(found, config(), limited_client())
    if not intent.has_changed:
        nothing_changed()
    return intent, 200 if intent.status == IntentStatus.CONFIRMED else 202


@blp.post("/intents/<intent_id>/cancel")
@idempotent_outside_transaction
@blp.response(200, IntentSchema)
@blp.raises(NotFound, IntentNotCancelable, ChainUnavailable)
@never_stored(IN_ORDER, shown_again=order_again)
def cancel(tenant: str, intent_id: str) -> PaymentIntent:
    """Cancel an intent that has received nothing, and release its tickets."""
    intent = checkout.cancel(tenant, intent_id, config(), limited_client())
    if not intent.has_changed:
        nothing_changed()
    return intent


@blp.post("/intents/<intent_id>/hold")
@idempotent
@blp.response(200, IntentSchema)
@blp.raises(NotFound, HoldExtended, HoldNotExtendable, TooManyHolds, TooMuchUnpaid)
@never_stored(IN_ORDER, shown_again=order_again)
def extend_hold(tenant: str, intent_id: str) -> PaymentIntent:
    """Hold an unpaid intent for 60 minutes after it was made, once: for a buyer with an exchange.

    A withdrawal from an exchange often takes longer than the usual hold. The new deadline is
    `expires_at`. Refused while other orders hold more than half of the unsold tickets.
    """
    return hold_extensions.extend(tenant, intent_id, config())


@blp.post("/intents/<intent_id>/chain")
@idempotent
@blp.arguments(ChainChoiceSchema)
@blp.response(200, IntentSchema)
@blp.raises(
    NotFound,
    Invalid,
    AlreadyPaying,
    NetworkUnavailable,
    IntentExpired,
    IntentCanceled,
)
@never_stored(IN_ORDER, shown_again=order_again)
def choose_chain(body: dict[str, Any], tenant: str, intent_id: str) -> PaymentIntent:
    """Move an intent that awaits its payment to another of its `payment_options`.

    It is needed only to pay a part on that network: who pays all of it there need not ask.
    """
    return home_choice.choose(tenant, intent_id, body["chain_id"], config())


@blp.post("/intents/<intent_id>/refund-address")
@idempotent_outside_transaction
@blp.arguments(RefundAddressSchema)
@blp.response(200, IntentSchema)
@blp.raises(
    NotFound,
    Invalid,
    NothingReceived,
    SignatureRequired,
    RefundAddressFixed,
    TooManyChanges,
    ChainUnavailable,
)
@never_stored(IN_ORDER, shown_again=order_again)
def state_refund_address(body: dict[str, Any], tenant: str, intent_id: str) -> PaymentIntent:
    """State where money that is owed goes, once something was received: 5 times in 24 hours.

    The buyer gets a mail. The address counts when they press the button in it, or after 24 hours
    (`payee.waits_until`), three times in 30 days. Until then the money is on no list. The address
    that counts already takes back what waits. Money on another network has an address of its own:
    send its `chain_id`. If that money is `unassigned`, this asks for it back, for good.
    """
    return refund_addresses.state(g.intent, config=config(), **body)


@blp.post("/intents/<intent_id>/payers")
@idempotent
@blp.arguments(PayerReportSchema)
@blp.response(204)
@blp.raises(NotFound, Invalid, TooManyPayers)
def tell_payer(body: dict[str, Any], tenant: str, intent_id: str) -> None:
    """Tell which account pays, when its wallet has answered the transaction's hash: 10 an order.

    Send it at once: it counts until two minutes after the payment's block. If the chain then shows
    that this account sent the transaction itself, a refund goes back to it without asking the
    buyer. Contracts and exchanges show nothing so. A payment counts without it, too. The secret of
    a payment link can do it.
    """
    payer_proofs.tell(tenant, intent_id, **body)


@blp.post("/intents/<intent_id>/email")
@idempotent
@blp.arguments(EmailChangeSchema)
@blp.response(200, IntentSchema)
@blp.raises(NotFound, MailNotConfigured, EmailClosed, EmailPutBack, TooManyChanges)
@never_stored(IN_ORDER, shown_again=order_again)
def send_to_email(body: dict[str, Any], tenant: str, intent_id: str) -> PaymentIntent:
    """Say where the mails of the order go, and get the one that is needed now: 5 times in 24 hours.

    That is the tickets of a confirmed order, or how to pay for one that waits. The same address
    gets it again. The address before gets a mail that says so, without the new address. If it is
    the buyer's, the mail has a button that puts it back.
    """
    return buyer_emails.send_to(g.intent, body["email"], config())


@blp.post("/intents/<intent_id>/billing")
@idempotent
@blp.arguments(BillingChangeSchema)
@blp.response(200, BillingSchema)
@blp.raises(NotFound, BillingClosed)
@never_stored("name", "address", "tax_id", shown_again=_billing_again)
def write_billing(body: dict[str, Any], tenant: str, intent_id: str) -> Billing:
    """Write who the order is billed to, for its receipt, until 90 days after the event.

    It replaces what was written before. It is erased with the buyer.
    """
    return billing.write(tenant, intent_id, **body)


@blp.get("/intents/<intent_id>/receipt")
@blp.response(200, ReceiptSchema)
@blp.raises(NotFound)
def get_receipt(tenant: str, intent_id: str) -> Receipt:
    """Read the receipt of an order. It is not a tax invoice. The transactions are the proof."""
    return receipts.get(tenant, intent_id, config())
