"""The tool that is paid in the call itself, by x402 (transport MCP)."""

from typing import Any

from ticketing.limits import CallClass
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.access import tenants
from ticketing.services.orders.lines import all_wanted
from ticketing.services.x402 import ordering, paying, payment_header
from ticketing.services.x402.asked import Asked
from ticketing.web import guesses, idempotency, rate_limit, waiting_room
from ticketing.web.context import client, config

Arguments = dict[str, Any]


def buy_ticket(arguments: Arguments, payment: Any) -> tuple[PaymentIntent, dict[str, Any] | None]:
    """Buy tickets in one call, with a wallet for x402 (version 2, scheme exact).

    The first call returns what to sign, and holds nothing or only for minutes. Call again with the
    same arguments and the payment in _meta["x402/payment"]; x402 clients do both. The answer has
    admissions with their codes, or status processing: then ask order_status. Do not sign again
    after that. Raise the client's spend limit first: the default is $1. For a payment by a transfer
    use order_ticket. After the error waiting_room, call again after retry_after seconds, with its
    token as waiting_room_token.
    """
    rate_limit.count_also(CallClass.PREFLIGHT)
    tenant = tenants.find(arguments.pop("tenant"))
    key = arguments.pop("idempotency_key")
    digests = [] if key is None else idempotency.digests_of(key, "x402-order-key")
    entrance = waiting_room.entrance(arguments.pop("waiting_room_token"))
    event_id, wanted = arguments.pop("event_id"), all_wanted(arguments.pop("items"))
    asked = Asked(wanted, arguments, client(), event_id, entrance)
    with guesses.counted(arguments["voucher"]):
        if payment is None:
            sale = ordering.order(tenant, asked, digests, config())
        else:
            signed = payment_header.of_message(payment)
            sale = paying.pay(tenant, asked, signed, digests, config())
    return sale.intent, sale.receipt
