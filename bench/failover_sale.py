"""A sale that goes on while its database fails over, and the proof that nothing was lost."""

import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg
import urllib3

from tools import Running, anvil
from tools.json_client import Client
from tools.stack import Stack, StackFailed

BUYERS = 6
PRICE = 25_000_000
_TENANT = "failover"
# Seconds between two requests of each.
_THINKS, _RETRIES_AFTER, _PAYS_AFTER, _LOOKS_AFTER = 0.1, 0.5, 1.0, 0.5
_CONFIRMED_WITHIN_SECONDS = 60.0


@dataclass(frozen=True)
class Attempt:
    """One request of a buyer: when it began and ended, and its status or the error's name."""

    began: float
    ended: float
    outcome: int | str


@dataclass
class Order:
    """What a buyer asked for with one Idempotency-Key, and what the 201 had."""

    key: str
    attempts: list[Attempt] = field(default_factory=list)
    intent: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Shop:
    """A ticket type on sale, and where it is sold."""

    url: str
    api_key: str
    event_id: str
    ticket_id: str

    def order(self, client: Client, key: str) -> tuple[int, dict[str, Any]]:
        """Order a ticket. Return the status and the body."""
        path, headers = f"/v1/checkout/tenants/{_TENANT}/preflight", {"Idempotency-Key": key}
        body = {"event_id": self.event_id, "ticket_id": self.ticket_id}
        answer = client.send("POST", path, body, headers | {"X-API-Key": self.api_key})
        return answer.status, answer.json


def open_shop(stack: Stack) -> Shop:
    """Create a tenant, an event and a ticket type without a capacity. StackFailed."""
    xpub = ("--xpub", anvil.SELLER_XPUB)
    made = json.loads(stack.flask("tenants", "create", _TENANT, "--name", "F", *xpub, "--json"))
    client, path = Client(stack.url), f"/v1/admin/tenants/{_TENANT}/events"

    def create(path: str, body: Mapping[str, Any]) -> str:
        published = {**body, "status": "published"}
        answer = client.send("POST", path, published, {"X-API-Key": made["key"]})
        if answer.status != 201:
            raise StackFailed(f"POST {path}: {answer.status} {answer.json}")
        return str(answer.json["id"])

    event = {"title": "Hot Night", "type": "in_person", "venue": "Town Hall"}
    when = {"start_at": "2099-06-01T18:00:00Z", "timezone": "Europe/Berlin"}
    event_id = create(path, event | when)
    ticket = {"name": "General admission", "price_amount": PRICE, "chain_id": 31337}
    ends = {"capacity": None, "sales_end_at": "2099-06-01T12:00:00Z"}
    ticket_id = create(f"{path}/{event_id}/tickets", ticket | ends)
    return Shop(stack.url, made["key"], event_id, ticket_id)


class Sale(Running):
    """Buyers who order in a loop, and one who pays. A context manager.

    At its end each buyer retries until the last order is accepted.
    """

    def __init__(self, shop: Shop, node: anvil.Anvil) -> None:
        self.orders: list[Order] = []
        self.paid: list[Order] = []
        self.looked_at: list[float] = []
        """When the worker looked at the chain, to the second, on this process's clock."""
        self.until = 0.0
        """When the buyers began their last orders."""
        self._shop, self._node, self._done = shop, node, threading.Event()
        tasks = [self._buy] * BUYERS + [self._pay, self._watch]
        self._threads = [threading.Thread(target=task, daemon=True) for task in tasks]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let every buyer finish."""
        self.until = time.monotonic()
        self._done.set()
        for thread in self._threads:
            thread.join()

    @property
    def attempts(self) -> list[Attempt]:
        """All requests so far, by their end."""
        found = [attempt for order in list(self.orders) for attempt in list(order.attempts)]
        return sorted(found, key=lambda attempt: attempt.ended)

    def _buy(self) -> None:
        client = Client(self._shop.url)
        while not self._done.wait(_THINKS):
            order = Order(secrets.token_hex(20))
            self.orders.append(order)
            while not self._is_accepted(client, order):
                time.sleep(_RETRIES_AFTER)

    def _is_accepted(self, client: Client, order: Order) -> bool:
        began = time.monotonic()
        outcome: int | str
        try:
            outcome, body = self._shop.order(client, order.key)
        except urllib3.exceptions.HTTPError as error:
            outcome, body = type(error).__name__, {}
        order.attempts.append(Attempt(began, time.monotonic(), outcome))
        if outcome == 201:
            order.intent = body
        return outcome == 201

    def _pay(self) -> None:
        """Pay for a new order each second, whether or not the service works."""
        while not self._done.wait(_PAYS_AFTER):
            order = next((each for each in reversed(list(self.orders)) if each.intent), None)
            if order is not None and order not in self.paid:
                intent = order.intent
                token, amount = intent["token_address"], intent["atomic_amount"]
                anvil.transfer(self._node.rpc, token, intent["address"], amount)
                self.paid.append(order)

    def _watch(self) -> None:
        client = Client(self._shop.url)
        while not self._done.wait(_LOOKS_AFTER):
            try:
                chains = client.send("GET", "/readyz").json["chains"]
            except urllib3.exceptions.HTTPError:
                continue
            if chains and chains[0]["age_seconds"] is not None:
                self.looked_at.append(time.monotonic() - chains[0]["age_seconds"])


@dataclass(frozen=True)
class Proof:
    """What the database has, compared with what the buyers were answered."""

    accepted: int
    lost: int
    """Orders answered with 201 that are not there, or have another address."""
    doubled: int
    """Addresses that two buyers were given."""
    extra: int
    """Orders in the database that no buyer has: a repeat made a second one."""
    other: int
    """Repeats with the same key that got another order, of `repeated`."""
    repeated: int
    unconfirmed: int
    """Paid orders that are not confirmed after a minute, of `paid`."""
    paid: int
    reconciled: str

    @property
    def holds(self) -> bool:
        """Whether nothing was lost or made twice."""
        wrong = self.lost + self.doubled + self.extra + self.other + self.unconfirmed
        return wrong == 0 and self.reconciled == "clean"

    def __str__(self) -> str:
        """Return it as text of one line."""
        return (
            f"{'nothing lost' if self.holds else 'NOT ALL IS THERE'}: {self.accepted} orders"
            f" accepted, {self.lost} lost, {self.extra} of nobody;"
            f" {self.doubled} addresses given twice; {self.repeated} keys repeated, {self.other} of"
            f" them with another order; {self.paid} paid, {self.unconfirmed} not confirmed;"
            f" reconcile: {self.reconciled}"
        )


def prove(database_url: str, stack: Stack, shop: Shop, sales: list[Sale]) -> Proof:
    """Compare the database with all that the buyers of these sales know."""
    orders = [order for sale in sales for order in sale.orders if order.intent]
    paid = {order.intent["id"] for sale in sales for order in sale.paid}
    asked_twice = [order for order in orders if len(order.attempts) > 1]
    given = Counter(order.intent["address"] for order in orders)
    client = Client(shop.url)
    other = sum(
        shop.order(client, order.key)[1].get("id") != order.intent["id"] for order in asked_twice
    )
    unconfirmed = _unconfirmed(database_url, paid)
    stored = dict(_rows(database_url, "SELECT id, address FROM payment_intents"))
    known = {order.intent["id"]: order.intent["address"].lower() for order in orders}
    try:
        stack.flask("reconcile")
        reconciled = "clean"
    except StackFailed:
        reconciled = "BREACH"
    return Proof(
        accepted=len(orders),
        lost=sum(stored.get(id_, "").lower() != address for id_, address in known.items()),
        doubled=sum(count > 1 for count in given.values()),
        extra=len(stored.keys() - known.keys()),
        other=other,
        repeated=len(asked_twice),
        unconfirmed=unconfirmed,
        paid=len(paid),
        reconciled=reconciled,
    )


def _unconfirmed(database_url: str, paid: set[str]) -> int:
    """Return how many of the paid orders are not confirmed, after the worker had time."""
    deadline = time.monotonic() + _CONFIRMED_WITHIN_SECONDS
    while True:
        confirmed = _rows(database_url, "SELECT id FROM payment_intents WHERE status = 'confirmed'")
        missing = paid - {id_ for (id_,) in confirmed}
        if not missing or time.monotonic() > deadline:
            return len(missing)
        time.sleep(1)


def _rows(database_url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database_url) as connection:
        return connection.execute(query.encode()).fetchall()
