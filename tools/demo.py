"""`make demo`: sell one ticket on a real chain and move the money to its owner, step by step.

It starts with an empty database.

Each step is a request that is printed, and a response that is checked. Exits with 1 if the result
of a step is not as specified.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Empty
from typing import Any

from ticketing.chain import receivers
from ticketing.db.connection import database, open_database
from ticketing.models.wallets import Wallet
from tools import ToolMissing, anvil
from tools.json_client import Answer, Client
from tools.mail_catcher import MailCatcher
from tools.receiver import Receiver
from tools.stack import Stack, StackFailed, free_port, new_stack

TENANT = "demo"
PRICE = 5_000_000
JOIN_URL = "https://meet.example.org/launch"
BUYER = "ada@example.org"
CONFIRMATIONS = 2
COLLECTOR = 2
"""The account of the node that pays for collecting. It is not the organizer's."""
CONFIRM_SECONDS = 30
DELIVER_SECONDS = 30

_LONG = 150
"""A string longer than this is a JWT."""


class NotAsSpecified(Exception):
    """The result of a step is not as specified."""


class Demo:
    """Runs the steps, prints each, and checks the responses."""

    def __init__(self, stack: Stack) -> None:
        self.client = Client(stack.url)

    def step(
        self,
        what: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        credential: str | None = None,
        expect: int,
        show: tuple[str, ...],
        **fields: Any,
    ) -> Any:
        """Send one request, check the response, and return its JSON.

        If the status is as expected, only the fields in `show` are printed.
        """
        headers = {"Authorization": f"Bearer {credential}"} if credential else {}
        start = time.monotonic()
        answer = self.client.send(method, path, body, headers)
        seconds = time.monotonic() - start
        shown = show if answer.status == expect else None
        self.print_step(what, f"{method} {path}", body, answer, seconds, shown)
        require(answer.status == expect, f"{what}: {answer.status}, not {expect}")
        for name, value in fields.items():
            got = answer.json.get(name)
            require(got == value, f"{what}: {name} is {got!r}, not {value!r}")
        return answer.json

    def print_step(
        self,
        what: str,
        request: str,
        body: Any,
        answer: Answer,
        seconds: float,
        shown: tuple[str, ...] | None,
    ) -> None:
        """Print a request and the fields `shown` of its response. None: all fields."""
        print(f"\n{what}\n  > {request}")
        if body is not None:
            print(f"  > {_short(body)}")
        fields = _short(answer.json if shown is None else _picked(answer.json, shown))
        print(f"  < {answer.status} in {seconds * 1000:.0f} ms {fields}", flush=True)


def require(holds: bool, otherwise: str) -> None:
    """Raise NotAsSpecified if `holds` is false."""
    if not holds:
        raise NotAsSpecified(otherwise)


def _picked(answer: Any, names: tuple[str, ...]) -> Any:
    """Return these fields of a resource, or of each item of a list."""
    if "data" in answer:
        return {"data": [_picked(each, names) for each in answer["data"]]}
    return {name: answer.get(name) for name in names}


def _short(body: Any) -> str:
    return re.sub(rf'"([^"]{{40}})[^"]{{{_LONG - 40},}}"', r'"\1..."', json.dumps(body))


def main() -> None:
    """Sell one ticket, and move its money."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", help="instead of a new SQLite file; must be empty")
    arguments = parser.parse_args()
    start = time.monotonic()
    try:
        with ExitStack() as running:
            _sell(running, arguments.database_url)
    except (NotAsSpecified, StackFailed, ToolMissing, RuntimeError) as error:
        sys.exit(f"\nmake demo: {error}")
    print(f"\nsold one ticket in {time.monotonic() - start:.1f} s, with the start of the processes")


def _sell(running: ExitStack, database_url: str | None) -> None:
    folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="ticketing-demo-")))
    node = running.enter_context(anvil.Anvil(block_time=1))
    anvil.ensure_token(node.rpc)
    mail_port = free_port()
    mails = running.enter_context(MailCatcher(mail_port, folder, _ignore))
    receiver = running.enter_context(Receiver(0, _ignore))
    variables = {
        "SMTP_URL": f"smtp://127.0.0.1:{mail_port}",
        "MAIL_FROM": "tickets@example.org",
        "WEBHOOK_ALLOW": "127.0.0.0/8",
        "RPC_URL_31337": node.url,
        "CONFIRMATIONS_31337": str(CONFIRMATIONS),
    }
    if database_url:
        variables["DATABASE_URL"] = database_url
    stack = new_stack(running, variables)
    stack.start_web()
    stack.start_worker()
    stack.wait_for_receivers(anvil.CHAIN_ID)
    key = stack.create_tenant(TENANT, "Demo", *anvil.SELLER_WALLET)
    demo = Demo(stack)
    token = open_shop(demo, key, receiver)
    event_id, ticket_id = publish(demo, token)
    intent_id = buy(demo, node, event_id, ticket_id)
    look_behind(demo, token, event_id, ticket_id)
    _what_was_sent(receiver, mails, intent_id)
    collect(node, stack.environ["DATABASE_URL"])


def _ignore(_: str) -> None:
    """Print nothing: the steps show it."""


def _what_was_sent(receiver: Receiver, mails: MailCatcher, intent_id: str) -> None:
    try:
        webhook = receiver.verified.get(timeout=DELIVER_SECONDS)
        mail = mails.caught.get(timeout=DELIVER_SECONDS)
    except Empty:
        raise NotAsSpecified("no webhook, or no mail, was sent") from None
    print(f"\nthe webhook that the organizer's receiver verified\n  < {json.dumps(webhook)}")
    require(webhook["type"] == "intent.confirmed", "the webhook has another type")
    require(webhook["data"]["intent_id"] == intent_id, "the webhook is about another order")
    print(f"\nthe mail that the buyer got\n  < {mail.subject}")
    for link in mail.links:
        print(f"  < {link}")
    require(mail.recipients == [BUYER], "the mail went to somebody else")


def open_shop(demo: Demo, first_key: str, receiver: Receiver) -> str:
    """Create a webhook endpoint, and a key with the role for the next steps. Return its JWT."""
    first = demo.step(
        "exchange the tenant's first key for a JWT",
        "POST",
        "/v1/auth/token",
        {"api_key": first_key},
        expect=200,
        show=("role", "expires_in", "access_token"),
        role="admin",
    )
    endpoint = demo.step(
        "create a webhook endpoint; only this response contains its secret",
        "POST",
        f"/v1/admin/tenants/{TENANT}/webhooks",
        {"url": receiver.url, "types": ["intent.confirmed"]},
        credential=first["access_token"],
        expect=201,
        show=("id", "url", "types", "secret"),
    )
    receiver.secret = endpoint["secret"]
    key = demo.step(
        "create an API key; only this response contains its plaintext",
        "POST",
        f"/v1/admin/tenants/{TENANT}/apikeys",
        {"name": "box office", "role": "write", "ttl_seconds": 3600},
        credential=first["access_token"],
        expect=201,
        show=("id", "role", "expires_at", "key"),
        role="write",
        status="active",
    )
    token = demo.step(
        "exchange it for a JWT",
        "POST",
        "/v1/auth/token",
        {"api_key": key["key"]},
        expect=200,
        show=("role", "expires_in", "access_token"),
        role="write",
        token_type="Bearer",
    )
    return str(token["access_token"])


def publish(demo: Demo, token: str) -> tuple[str, str]:
    """Publish an event with a ticket type. Return their ids."""
    admin = f"/v1/admin/tenants/{TENANT}/events"
    start = datetime.now(UTC).replace(microsecond=0) + timedelta(days=30)
    event = demo.step(
        "create an event",
        "POST",
        admin,
        {
            "title": "Launch Night",
            "type": "online",
            "start_at": start.isoformat(),
            "timezone": "UTC",
            "online_join_url": JOIN_URL,
        },
        credential=token,
        expect=201,
        show=("id", "slug", "status"),
        status="draft",
        slug="launch-night",
    )
    event_id = event["id"]
    ticket = demo.step(
        "create a ticket type",
        "POST",
        f"{admin}/{event_id}/tickets",
        {"name": "General admission", "price_amount": PRICE, "chain_id": 31337, "capacity": 10},
        credential=token,
        expect=201,
        show=("id", "status", "available"),
        status="draft",
        available=10,
    )
    ticket_id = ticket["id"]
    demo.step(
        "publish the ticket type",
        "POST",
        f"{admin}/{event_id}/tickets/{ticket_id}/status",
        {"status": "published"},
        credential=token,
        expect=200,
        show=("status", "obstacles"),
        status="published",
        obstacles=["event_not_published"],
    )
    demo.step(
        "publish the event; now buyers can order",
        "POST",
        f"{admin}/{event_id}/status",
        {"status": "published"},
        credential=token,
        expect=200,
        show=("status", "obstacles"),
        status="published",
        obstacles=[],
    )
    return event_id, ticket_id


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
    purchase = _purchase_until_final(demo, path, secret)
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


def _purchase_until_final(demo: Demo, path: str, secret: str) -> Any:
    """Send purchase until the payment is final. The tickets come before, the join link then."""
    client = demo.client
    headers = {"Authorization": f"Bearer {secret}"}
    start = time.monotonic()
    while time.monotonic() < start + CONFIRM_SECONDS:
        answer = client.send("POST", f"{path}/purchase", headers=headers)
        if answer.status not in (200, 202) or answer.json["final"]:
            break
        awaited = "processing" if answer.status == 202 else "confirmed"
        require(answer.json["status"] == awaited, f"{answer.status}, but it is not {awaited}")
        time.sleep(0.1)
    shown = ("status", "final", "amount_received", "confirmations", "online_join_url", "admissions")
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


def look_behind(demo: Demo, token: str, event_id: str, ticket_id: str) -> None:
    """Show the stock and the admissions after the sale."""
    admin = f"/v1/admin/tenants/{TENANT}"
    demo.step(
        "the organizer's stock: one sold, nothing held",
        "GET",
        f"{admin}/events/{event_id}/tickets/{ticket_id}",
        credential=token,
        expect=200,
        show=("capacity", "held", "sold", "available"),
        held=0,
        sold=1,
        available=9,
    )
    admissions = demo.step(
        "the organizer's list of admissions, without their codes",
        "GET",
        f"{admin}/admissions?event_id={event_id}",
        credential=token,
        expect=200,
        show=("id", "intent_id", "status"),
    )
    require([each["status"] for each in admissions["data"]] == ["valid"], "not one valid admission")
    require("code" not in admissions["data"][0], "the organizer's list shows a code")


def collect(node: anvil.Anvil, database_url: str) -> None:
    """Move what the orders' addresses hold to the organizer's address, and show it.

    The salts of the orders follow from the wallet's secret. Anybody who knows them may do it: the
    addresses can pay nobody else. It is the chain's first collection, so the factory is deployed.
    """
    open_database(database_url)
    wallet = Wallet.get(Wallet.owner == anvil.SELLER)
    database.close()
    secret = bytes.fromhex(wallet.secret or "")
    salts = [receivers.order_salt(secret, index) for index in range(1, wallet.next_index)]
    data = receivers.collect_data(anvil.SELLER, anvil.TOKEN_ADDRESS, salts)
    anvil.send(node.rpc, COLLECTOR, {"to": receivers.PROXY, "data": receivers.deploy_data()})
    receipt = anvil.send(node.rpc, COLLECTOR, {"to": receivers.FACTORY, "data": data})
    held = anvil.balance(node.rpc, anvil.TOKEN_ADDRESS, anvil.SELLER)
    print(
        f"\nsomebody else moves the money to the organizer's address\n  > collect of"
        f" {receivers.FACTORY} for {anvil.SELLER}\n  < mined {receipt['transactionHash']}"
        f"\n  < the organizer's address holds {held} of the token"
    )
    require(held == PRICE, "the organizer's address does not hold the price")


if __name__ == "__main__":
    main()
