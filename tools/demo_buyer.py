"""For tools.demo: the steps of the buyer, with a payment on the chain."""

import time
from typing import Any

from tools import anvil
from tools.demo_organizer import JOIN_URL, PRICE, TENANT
from tools.demo_steps import Demo, require

BUYER = "ada@example.org"
CONFIRM_SECONDS = 30


def buy(demo: Demo, node: anvil.Anvil, event_id: str, ticket_id: str) -> str:
    """Buy one ticket, and return the id of the order."""
    listing = demo.step(
        "list the tickets, without a credential",
        "GET",
        f"/v1/public/tenants/{TENANT}/events/{event_id}/tickets",
        expect=200,
        show=("name", "price_amount", "currency", "chain_id", "availability"),
    )
    require(listing["data"][0]["availability"] == "on_sale", "the ticket is not on sale")
    checkout = f"/v1/checkout/tenants/{TENANT}"
    intent = demo.step(
        "the buyer's preflight holds the ticket and gets its own payment address",
        "POST",
        f"{checkout}/preflight",
        {"event_id": event_id, "ticket_id": ticket_id, "buyer": {"email": BUYER}},
        expect=201,
        show=("status", "amount_due", "expires_at", "address", "payment_uri", "client_secret"),
        status="awaiting_payment",
        amount=PRICE,
        amount_due=PRICE,
    )
    path, secret = f"{checkout}/intents/{intent['id']}", intent["client_secret"]
    demo.step(
        "a purchase before the payment",
        "POST",
        f"{path}/purchase",
        credential=secret,
        expect=402,
        show=("code", "detail"),
        code="payment_required",
    )
    start = time.monotonic()
    receipt = anvil.transfer(
        node.rpc, intent["token_address"], intent["address"], intent["atomic_amount"]
    )
    took = (time.monotonic() - start) * 1000
    print(
        f"\nthe buyer pays on chain\n  > transfer {intent['atomic_amount']} of the token to"
        f" {intent['address']}\n  < mined in {took:.0f} ms {receipt['transactionHash']}"
    )
    purchase = _purchase_until_confirmed(demo, path, secret)
    require(purchase["amount_received"] == PRICE, "amount_received is not the price")
    require(len(purchase["admissions"]) == 1, "there is not exactly one admission")
    require(purchase["online_join_url"] == JOIN_URL, "online_join_url is missing")
    again = demo.step(
        "the purchase again: the same admission, not a new one",
        "POST",
        f"{path}/purchase",
        credential=secret,
        expect=200,
        show=("status", "admissions"),
        status="confirmed",
    )
    require(again["admissions"] == purchase["admissions"], "admissions were issued twice")
    return str(intent["id"])


def _purchase_until_confirmed(demo: Demo, path: str, secret: str) -> Any:
    """Send purchase until the payment is final: 202 before, 200 after."""
    client = demo.client
    headers = {"Authorization": f"Bearer {secret}"}
    start = time.monotonic()
    while time.monotonic() < start + CONFIRM_SECONDS:
        answer = client.send("POST", f"{path}/purchase", headers=headers)
        if answer.status != 202:
            break
        require(answer.json["status"] == "processing", "202, but the intent is not processing")
        time.sleep(0.1)
    shown = ("status", "amount_received", "confirmations", "online_join_url", "admissions")
    demo.print_step(
        "purchase, repeated until the payment is final",
        f"POST {path}/purchase",
        None,
        answer,
        time.monotonic() - start,
        shown if answer.status == 200 else None,
    )
    require(answer.status == 200, f"purchase: {answer.status}, not 200")
    require(answer.json["status"] == "confirmed", "the intent is not confirmed")
    return answer.json
