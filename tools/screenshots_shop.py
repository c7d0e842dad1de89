"""A tenant with an event and with orders in every state, for screenshots."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import urllib3

from tools import anvil
from tools.json_client import Client
from tools.sample_picture import sample_picture
from tools.stack import Stack, StackFailed

TENANT = "northern-lights"
PRICE, REST = 25_000_000, 1_000_000
CONFIRMATIONS = 4
PATIENCE_SECONDS = 120
PARTLY_PAID_AT_ONCE = 7
SURPLUS = 4_990_000

_SETTINGS = {
    "contact_email": "hello@northernlights.example",
    "website": "https://northernlights.example/",
    "terms_url": "https://northernlights.example/terms",
    "privacy_url": "https://northernlights.example/privacy",
    "legal_address": "Northern Lights e. V., Hafenstraße 12, 20359 Hamburg",
    "tax_id": "DE 123456789",
    "accent_color": "#0b6e66",
}
_DESCRIPTION = """\
An evening of new songs and old machines, in the boiler house of the harbour. Four bands, one \
stage, and the sound of the river.

Bring a coat: the boiler house is not heated any more. Programme: https://northernlights.example/programme"""

_TICKETS: tuple[dict[str, Any], ...] = (
    {"name": "Standing", "price_amount": PRICE, "capacity": 300},
    {"name": "Balcony, with a seat", "price_amount": 40_000_000, "capacity": 60},
    {"name": "Early bird", "price_amount": 18_000_000, "capacity": 0},
)


Check = Callable[[dict[str, Any]], bool]


def is_owed(order: dict[str, Any]) -> bool:
    """Whether an order is owed money, and all of its payments are final."""
    return bool(order["refund_due"] and not order["refund_pending"])


def is_confirmed(order: dict[str, Any]) -> bool:
    """Whether an order is confirmed."""
    return bool(order["status"] == "confirmed")


class Order:
    """An order, and the URL of its page."""

    def __init__(self, shop: "Shop", intent: dict[str, Any]) -> None:
        self._shop = shop
        self.id, self.address = str(intent["id"]), str(intent["address"])
        self._headers = {"Authorization": f"Bearer {intent['client_secret']}"}
        self._path = f"{shop.checkout}/intents/{self.id}"
        self.url = f"{shop.stack.url}/o/{self.id}.{intent['client_secret']}"

    @property
    def payment_url(self) -> str:
        """The link of an unpaid order with which somebody else can pay."""
        page = urllib3.request("GET", self.url).data.decode()
        found = re.search(r'id="payment-link">([^<]+)<', page)
        if found is None:
            raise StackFailed(f"the page of the order {self.id} has no payment link")
        return found[1]

    def pay(
        self, amount: int, *, blocks: int = CONFIRMATIONS, node: anvil.Anvil | None = None
    ) -> None:
        """Pay from the buyer's account, then mine so many blocks. By default on the first chain."""
        node = node or self._shop.node
        anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, self.address, amount)
        if blocks:
            node.rpc("anvil_mine", hex(blocks))

    def paid(
        self, amount: int, until: Check | None = None, *, blocks: int = CONFIRMATIONS
    ) -> "Order":
        """Pay, and wait until the order is as it shall be. By default until the amount is seen."""
        self.pay(amount, blocks=blocks)
        return self.wait(until or (lambda it: it["amount_received"] == amount))

    def wait(self, holds: Check, pause: float = 0.1) -> "Order":
        """Wait until the order is as it shall be. `pause`: the seconds between two looks."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds(self._shop.client.send("GET", self._path, headers=self._headers).json):
            if time.monotonic() > deadline:
                raise StackFailed(f"the order {self.id} has not changed in time")
            time.sleep(pause)
        return self

    def send(self, call: str, body: Any = None) -> Any:
        """Make a call of the buyer."""
        return self._shop.client.send("POST", f"{self._path}/{call}", body, self._headers).json

    def after(self, call: str, body: Any = None) -> "Order":
        """Make a call of the buyer, and return the order."""
        self.send(call, body)
        return self


class Shop:
    """The tenant, its event, and its orders."""

    def __init__(self, stack: Stack, node: anvil.Anvil, second: anvil.Anvil) -> None:
        self.stack, self.node, self.second = stack, node, second
        self.client = Client(stack.url)
        chains = ",".join(map(str, anvil.CHAIN_IDS))
        wallet = ("--address", anvil.SELLER, "--chains", chains)
        key = stack.create_tenant(TENANT, "Northern Lights", *wallet)
        self._headers = {"X-API-Key": key}
        self.admin = f"/v1/admin/tenants/{TENANT}"
        self.checkout = f"/v1/checkout/tenants/{TENANT}"
        self.change("PATCH", "", _SETTINGS)
        start = (datetime.now(UTC) + timedelta(days=40)).replace(hour=19, minute=30, second=0)
        event = self.event("Songs from the Boiler House", start)
        ferry = self.event("The Silent Ferry", start + timedelta(days=21))
        self.event_id, self.slug, self.second_slug = event["id"], event["slug"], ferry["slug"]
        self.event_url = f"{stack.url}/{TENANT}/{self.slug}"
        picture = self._headers | {"Content-Type": "image/jpeg"}
        path = f"{self.admin}/events/{self.event_id}/image"
        self.client.send("PUT", path, sample_picture(), picture)
        one = {"chain_ids": [anvil.CHAIN_ID]}
        types = [self.ticket_type(self.event_id, **one, **each) for each in _TICKETS]
        self.ticket_id, self.seat_id = types[0]["id"], types[1]["id"]
        self._ticket = types[0]
        both = {"name": "Deck", "price_amount": PRICE, "chain_ids": anvil.CHAIN_IDS}
        self._deck = self.ticket_type(ferry["id"], **both)
        self._partly_paid: list[Order] = []

    def change(self, method: str, path: str, body: Any = None) -> Any:
        """Make a call of the organizer."""
        answer = self.client.send(method, self.admin + path, body, self._headers)
        if answer.status >= 400:
            raise StackFailed(f"{method} {path}: {answer.json}")
        return answer.json

    def event(self, title: str, start: datetime, **fields: Any) -> Any:
        """Publish an event."""
        body = {
            "title": title,
            "description": _DESCRIPTION,
            "type": "in_person",
            "venue": "Altes Kesselhaus, Hafenstraße 12, Hamburg",
            "start_at": start.isoformat(timespec="seconds"),
            "end_at": (start + timedelta(hours=4)).isoformat(timespec="seconds"),
            "timezone": "Europe/Berlin",
            "carts": True,
            "status": "published",
            **fields,
        }
        return self.change("POST", "/events", body)

    def ticket_type(self, event_id: str, **fields: Any) -> Any:
        """Publish a ticket type."""
        return self.change("POST", f"/events/{event_id}/tickets", {"status": "published", **fields})

    def order(self, quantity: int = 1, of: Any = None, name: str = "Ada Lovelace") -> Order:
        """Order tickets, as a shop does: a buyer alone may not hold so many."""
        ticket = of or self._ticket
        body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": quantity}
        body["buyer"] = {"email": "ada@example.org", "name": name}
        path = f"{self.checkout}/preflight"
        answer = self.client.send("POST", path, body, self._headers)
        if answer.status >= 400:
            raise StackFailed(f"POST {path}: {answer.json}")
        return Order(self, answer.json)

    def order_on_two_networks(self) -> Order:
        """Order a ticket that can be paid on both chains."""
        return self.order(of=self._deck)

    def confirmed(self, quantity: int = 1) -> Order:
        """Order tickets, and pay for them until they are final."""
        return self.order(quantity).paid(PRICE * quantity, is_confirmed)

    def overpaid(self, quantity: int = 1) -> Order:
        """Order tickets, and pay too much for them."""
        return self.order(quantity).paid(PRICE * quantity + SURPLUS, is_owed)

    def partly_paid_elsewhere(self) -> Order:
        """Order a ticket, and pay a part of it on the second chain.

        The worker looks there once a minute, so several such orders wait for it together.
        """
        if not self._partly_paid:
            found = [self.order_on_two_networks() for _ in range(PARTLY_PAID_AT_ONCE)]
            for order in found:
                order.pay(PRICE - REST, node=self.second)
            self._partly_paid = [order.wait(lambda it: bool(it["strays"]), 2) for order in found]
        return self._partly_paid.pop()

    def mine(self, blocks: int) -> None:
        """Let the chain grow."""
        if blocks:
            self.node.rpc("anvil_mine", hex(blocks))

    def pass_time(self, seconds: int) -> None:
        """Move the chain's clock, by which orders expire."""
        self.node.rpc("evm_increaseTime", hex(seconds))
        self.mine(1)
