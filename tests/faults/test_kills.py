"""kill -9 of web and worker, in a loop, under load: nothing is lost and nothing needs repair."""

import json
import random
import threading
import time
import uuid
from collections.abc import Iterator

import pytest
import urllib3

from tests.conftest import SECRET_KEY
from tests.support.factories import PRICE, new_xpub
from tests.support.remote import RemoteOrganizer, eventually
from tools import anvil
from tools.stack import Stack, free_port

SECONDS = 60
BUYERS = 4
BETWEEN_KILLS = (0.5, 2.5)


@pytest.fixture
def node() -> Iterator[anvil.Anvil]:
    with anvil.Anvil(block_time=1) as running:
        anvil.ensure_token(running.rpc)
        yield running


@pytest.fixture
def stack(database_url, node, tmp_path):
    variables = {
        "DATABASE_URL": database_url,
        "SECRET_KEY": SECRET_KEY,
        "PORT": str(free_port()),
        "RPC_URL_31337": node.url,
        "CONFIRMATIONS_31337": "2",
        "POLL_SECONDS": "0.1",
    }
    with Stack(variables, log=tmp_path / "log") as running:
        running.start_web()
        running.start_worker()
        yield running


class Load(threading.Thread):
    """One buyer after another: each sends what gets no answer again, with the same key."""

    paying = threading.Lock()

    def __init__(self, acme: RemoteOrganizer, ticket: dict, node: anvil.Anvil, until: float):
        super().__init__()
        self.acme, self.ticket, self.node, self.until = acme, ticket, node, until
        self.intents: dict[str, dict] = {}
        self.paid: dict[str, int] = {}
        self.strange: list[int] = []

    def run(self):
        choose = random.Random(self.name)
        while time.monotonic() < self.until:
            intent = self.send(f"{self.acme.checkout}/preflight", _order(self.ticket))
            if intent is None:
                continue
            self.intents[intent["id"]] = intent
            kind = choose.choice(["pay", "pay", "pay", "part", "cancel", "leave"])
            if kind in ("pay", "part"):
                self.pay(intent, PRICE if kind == "pay" else 1)
            if kind in ("pay", "cancel"):
                action = "purchase" if kind == "pay" else "cancel"
                path = f"{self.acme.checkout}/intents/{intent['id']}/{action}"
                self.send(path, None, {"Authorization": f"Bearer {intent['client_secret']}"})

    def pay(self, intent, amount):
        with self.paying:
            anvil.transfer(self.node.rpc, intent["token_address"], intent["address"], amount)
        self.paid[intent["id"]] = amount

    def send(self, path, body, headers=None):
        """Send until there is an answer; return its JSON if it is a success."""
        headers = {**(headers or {}), "Idempotency-Key": str(uuid.uuid4())}
        while time.monotonic() < self.until + 30:
            try:
                answer = self.acme.client.send("POST", path, body, headers)
            except urllib3.exceptions.HTTPError:
                continue
            if answer.status in (200, 201, 202):
                return answer.json
            if answer.status not in (402, 409, 503):
                self.strange.append(answer.status)
            if answer.json["code"] != "idempotency_still_running":
                return None
            time.sleep(float(answer.headers["Retry-After"]))
        return None


def test_kills_in_a_loop_under_load_lose_nothing(stack, node):
    acme = RemoteOrganizer(stack, "acme", new_xpub())
    ticket = acme.ticket(capacity=None)
    until = time.monotonic() + SECONDS
    buyers = [Load(acme, ticket, node, until) for _ in range(BUYERS)]
    for buyer in buyers:
        buyer.start()
    choose = random.Random(1)
    kills = 0
    while time.monotonic() < until:
        time.sleep(choose.uniform(*BETWEEN_KILLS))
        name = choose.choice(["web", "worker"])
        stack.kill(name)
        stack.start_web() if name == "web" else stack.start_worker()
        kills += 1
    for buyer in buyers:
        buyer.join()

    paid = {key: amount for buyer in buyers for key, amount in buyer.paid.items()}
    known = {key for buyer in buyers for key in buyer.intents}
    assert kills > SECONDS / 5
    assert len(paid) > 20
    assert [status for buyer in buyers for status in buyer.strange] == []
    eventually(lambda: all(_is_booked(acme, key, amount) for key, amount in paid.items()))
    listed = _all_intents(acme)
    addresses = [intent["address"] for intent in listed]
    assert len(addresses) == len(set(addresses))
    # A preflight that was killed before its answer was kept has left nothing behind.
    assert {intent["id"] for intent in listed} >= known
    held = sum(i["quantity"] for i in listed if i["status"] in ("awaiting_payment", "processing"))
    sold = sum(i["quantity"] for i in listed if i["status"] == "confirmed")
    now = acme.read(ticket)
    assert (now["held"], now["sold"]) == (held, sold)
    assert json.loads(stack.flask("reconcile", "--json"))["ok"] is True


def _order(ticket):
    return {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}


def _is_booked(acme, intent_id, amount):
    intent = acme.send("GET", f"{acme.path}/intents/{intent_id}").json
    status = "confirmed" if amount == PRICE else "awaiting_payment"
    return (intent["amount_received"], intent["status"]) == (amount, status)


def _all_intents(acme):
    found, cursor = [], ""
    while cursor is not None:
        page = acme.send(
            "GET", f"{acme.path}/intents?limit=100{cursor and '&cursor=' + cursor}"
        ).json
        found += page["data"]
        cursor = page["next_cursor"]
    return found
