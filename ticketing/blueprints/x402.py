"""The surface of x402 clients: a POST orders a ticket, the same POST with a payment buys it."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any, TypeVar

from flask import Response, request

from schemas.base import BaseSchema
from schemas.x402 import (
    X402EventOfferSchema,
    X402EventOrderSchema,
    X402OfferSchema,
    X402OrderSchema,
    X402SaleSchema,
)
from ticketing.errors import (
    AboveMaximum,
    BelowMinimum,
    CapacityChanged,
    ChainUnavailable,
    EventOver,
    IntentReversed,
    InvalidPayment,
    InWaitingRoom,
    KeyRequired,
    NeedsTicket,
    NetworkUnavailable,
    NoCommonNetwork,
    NotFound,
    NotPayable,
    OneTypeOnly,
    OrderEnded,
    OverMaxAmount,
    ReturnedUnpaid,
    SalesEnded,
    SalesNotStarted,
    SoldOut,
    TooManyAddresses,
    TooManyFree,
    TooManyGuesses,
    TooManyOrders,
    TooMuchText,
    TooMuchUnpaid,
    VoucherHeld,
    VoucherInvalid,
    VoucherNotApplicable,
    VoucherRequired,
    X402CallsUsed,
    X402NotEnabled,
    X402PaymentRequired,
    X402ShareHeld,
)
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.orders.lines import Wanted, all_wanted
from ticketing.services.x402 import ordering, paying, payment_header
from ticketing.services.x402.asked import Asked
from ticketing.services.x402.ordering import Product, Shelf
from ticketing.services.x402.sales import Sale
from ticketing.web import cors, guesses, problems, secret_guards, waiting_room
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller_or_none, client, config, tenant_of_path
from ticketing.web.idempotency import key_digests

PAYMENT, REQUIRED, RECEIPT = "PAYMENT-SIGNATURE", "PAYMENT-REQUIRED", "PAYMENT-RESPONSE"

_HEADERS = {
    "PAYMENT-REQUIRED": {
        "description": (
            "What to sign (x402, version 2): base64 of JSON. `accepts` has an entry for each"
            " network of the order that can be used, its present one first. Pay all of it on one of"
            " them, and echo that entry as `accepted`: its `extra.claim` proves that the payment is"
            " yours."
        ),
        "required": True,
        "schema": {"type": "string"},
    },
    "PAYMENT-RESPONSE": {
        "description": "The transaction that paid: base64 of JSON. A free order has none.",
        "schema": {"type": "string"},
    },
}

blp = ApiBlueprint(
    "x402",
    __name__,
    response_headers=_HEADERS,
    url_prefix="/v1/x402/tenants/<tenant>",
    guard=secret_guards.Shopper(),
    description="Sell to x402 clients: they pay by a signed transfer, in one HTTP call.",
)
cors.open_to_all(blp)

_PARAMETER = {
    "in": "header",
    "name": PAYMENT,
    "description": f"The signed payment (x402, version 2): base64 of JSON. See `{REQUIRED}`.",
    "schema": {"type": "string", "maxLength": payment_header.MAX_BYTES},
}


_OFFER_HEADERS: Mapping[int, Sequence[str]] = {HTTPStatus.PAYMENT_REQUIRED: [REQUIRED]}
_ANSWER_HEADERS: Mapping[int, Sequence[str]] = {
    HTTPStatus.OK: [RECEIPT],
    HTTPStatus.ACCEPTED: ["Retry-After", "Location"],
    **_OFFER_HEADERS,
}


@blp.get("/tickets/<ticket_id>/orders")
@blp.response(200, X402OfferSchema)
@blp.headers(request=(), response=_OFFER_HEADERS)
@blp.raises(NotFound, X402NotEnabled, X402PaymentRequired)
def get_x402_offer(tenant: str, ticket_id: str) -> Product | Response:
    """Read what a ticket costs, and how an x402 client buys it. This holds nothing.

    The answer is 402 with the price of the fewest tickets, and this as its `offer`, if a POST
    without a body could buy them now. Its `payTo` is the zero address: only the 402 of a POST can
    be paid.
    """
    found = ordering.product(tenant_of_path(), ticket_id, config())
    body = X402OrderSchema().load({})
    wanted = (Wanted(ticket_id, found.ticket_type.min_per_order),)
    return _offered(found, X402OfferSchema(), Asked(wanted, **_of_buyer(body)))


_REFUSALS = (
    InvalidPayment,
    X402PaymentRequired,
    NotFound,
    X402NotEnabled,
    SoldOut,
    SalesNotStarted,
    SalesEnded,
    EventOver,
    BelowMinimum,
    AboveMaximum,
    OverMaxAmount,
    NotPayable,
    NeedsTicket,
    NetworkUnavailable,
    IntentReversed,
    X402ShareHeld,
    X402CallsUsed,
    OrderEnded,
    KeyRequired,
    VoucherHeld,
    VoucherInvalid,
    VoucherNotApplicable,
    VoucherRequired,
    TooManyGuesses,
    TooMuchText,
    TooMuchUnpaid,
    TooManyOrders,
    ReturnedUnpaid,
    TooManyAddresses,
    TooManyFree,
    CapacityChanged,
    InWaitingRoom,
    ChainUnavailable,
)

_Offer = TypeVar("_Offer", Product, Shelf)
Answer = Response | tuple[PaymentIntent, int, dict[str, str]]


@blp.post("/tickets/<ticket_id>/orders")
@blp.arguments(X402OrderSchema)
@blp.response(200, X402SaleSchema)
@blp.alt_response(202, schema=X402SaleSchema, description="The payment is not final yet")
@blp.headers(request=[_PARAMETER, waiting_room.PARAMETER], response=_ANSWER_HEADERS)
@blp.order_key
@blp.raises(*_REFUSALS)
def order_by_x402(body: dict[str, Any], tenant: str, ticket_id: str) -> Answer:
    """Order tickets (402 says what to sign), and pay: send the same request with the payment.

    Unmodified x402 clients do both. A repeat of a payment gets the same tickets.
    """
    return _sell(tenant, Asked((Wanted(ticket_id, body["quantity"]),), **_of_buyer(body)))


@blp.get("/events/<event_id>/orders")
@blp.response(200, X402EventOfferSchema)
@blp.headers(request=(), response=_OFFER_HEADERS)
@blp.raises(NotFound, X402NotEnabled, X402PaymentRequired)
def get_x402_event_offer(tenant: str, event_id: str) -> Shelf | Response:
    """Read what of an event x402 clients can buy, and how. This holds nothing.

    The answer is 402 with the price of the fewest tickets of the first type, and this as its
    `offer`, under the same conditions as for a ticket type.
    """
    found = ordering.shelf(tenant_of_path(), event_id, config())
    first = found.products[0].ticket_type
    body = X402EventOrderSchema().load({"items": [{"ticket_id": first.id}]})
    wanted = (Wanted(first.id, first.min_per_order),)
    asked = Asked(wanted, **_of_buyer(body), event=found.event.id)
    return _offered(found, X402EventOfferSchema(), asked)


@blp.post("/events/<event_id>/orders")
@blp.arguments(X402EventOrderSchema)
@blp.response(200, X402SaleSchema)
@blp.alt_response(202, schema=X402SaleSchema, description="The payment is not final yet")
@blp.headers(request=[_PARAMETER, waiting_room.PARAMETER], response=_ANSWER_HEADERS)
@blp.order_key
@blp.raises(*_REFUSALS, OneTypeOnly, NoCommonNetwork)
def order_of_event_by_x402(body: dict[str, Any], tenant: str, event_id: str) -> Answer:
    """Order several ticket types of an event and pay for all in one transfer.

    402 says what to sign. Then send the same request with the payment, as unmodified x402 clients
    do.
    """
    wanted = all_wanted(body["items"])
    return _sell(tenant, Asked(wanted, **_of_buyer(body), event=event_id))


def _sell(tenant: str, asked: Asked) -> Answer:
    header = request.headers.get(PAYMENT)
    digests = key_digests("x402-order-key")
    try:
        with guesses.counted(asked.fields["voucher"]):
            if header is None:
                sale = ordering.order(tenant_of_path(), asked, digests, config())
            else:
                payment = payment_header.parse(header)
                sale = paying.pay(tenant_of_path(), asked, payment, digests, config())
    except X402PaymentRequired as error:
        return _required(error)
    return _answer(sale, tenant)


def _offered(found: _Offer, schema: BaseSchema, asked: Asked) -> _Offer | Response:
    """Return what is offered: as the body, or beside the price of `asked` in a 402."""
    # Programs that only look take no place in a waiting room.
    error = ordering.price(tenant_of_path(), replace(asked, entrance=None), config())
    if error is None:
        return found
    error.extensions["offer"] = schema.dump(found)
    return _required(error)


def _required(error: X402PaymentRequired) -> Response:
    response = problems.of_ticketing_error(error)
    response.headers[REQUIRED] = _encoded(error.requirements)
    return response


def _of_buyer(body: dict[str, Any]) -> dict[str, Any]:
    """Return what an order has besides its items."""
    buyer = body["buyer"]
    return {
        "fields": {
            "max_amount": body["max_amount"],
            "voucher": body["voucher"],
            "answers": body["answers"],
            "buyer_email": buyer.get("email"),
            "buyer_name": buyer.get("name"),
            "locale": body["locale"],
        },
        "client": () if caller_or_none() else client(),
        "entrance": waiting_room.limited_entrance(),
    }


def _answer(sale: Sale, tenant: str) -> tuple[PaymentIntent, int, dict[str, str]]:
    if sale.retry_after is None:
        receipt = {} if sale.receipt is None else {RECEIPT: _encoded(sale.receipt)}
        return sale.intent, HTTPStatus.OK, receipt
    location = f"/v1/checkout/tenants/{tenant}/intents/{sale.intent.id}"
    headers = {"Retry-After": str(sale.retry_after), "Location": location}
    return sale.intent, HTTPStatus.ACCEPTED, headers


def _encoded(message: Mapping[str, Any]) -> str:
    return base64.b64encode(json.dumps(message).encode()).decode()
