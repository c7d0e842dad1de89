"""kill -9 of web and worker, in a loop, under load: nothing is lost, nothing needs repair."""

import random
import threading
import time
import uuid
from collections.abc import Iterator

import pytest
import urllib3

from tests.support.factories import PRICE
from tests.support.remote import PATIENCE_SECONDS, RemoteOrganizer, eventually, in_process
from tools import anvil

pytestmark = pytest.mark.long

KILLS, PAYMENTS = 14, 20
"""The loop ends after this many of each, however long it takes."""

BUYERS = 4
BETWEEN_KILLS = (0, 20)
"""How many responses buyers get between two kills. So the machine's speed does not matter."""

PAUSE_SECONDS = 0.3
"""The maximum additional pause: a kill may hit any moment."""


@pytest.fixture
def node(starts_processes: None) -> Iterator[anvil.Anvil]:
    with anvil.Anvil(block_time=1) as running:
        anvil.ensure_token(running.rpc)
        yield running


@pytest.fixture
def variables(variables):
    return {**variables, "CONFIRMATIONS_31337": "2"}


@pytest.fixture
def remote(stack):
    """A tenant whose orders are paid to receivers."""
    in_process(stack, "worker", "--once")
    return RemoteOrganizer(stack, "acme", address=anvil.SELLER)


class Load(threading.Thread):
    """One buyer after another. Each repeats requests without a response, with the same key."""

    paying = threading.Lock()

    def __init__(self, acme: RemoteOrganizer, ticket: dict, node: anvil.Anvil):
        super().__init__()
        self.acme, self.ticket, self.node = acme, ticket, node
        self.enough = threading.Event()
        self.answers = 0
        self.intents: dict[str, dict] = {}
        self.paid: dict[str, int] = {}
        self.strange: list[int] = []

    def run(self):
        choose = random.Random(self.name)
        while not self.enough.is_set():
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
        """Send until there is a response. Return its JSON after a success, else None."""
        headers = {**(headers or {}), "Idempotency-Key": str(uuid.uuid4())}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                answer = self.acme.client.send("POST", path, body, headers)
            except urllib3.exceptions.HTTPError:
                time.sleep(0.01)
                continue
            self.answers += 1
            if answer.status in (200, 201, 202):
                return answer.json
            if answer.status not in (402, 409, 503):
                self.strange.append(answer.status)
            if answer.json["code"] != "idempotency_still_running":
                return None
            time.sleep(float(answer.headers["Retry-After"]))
        return None


def kill_until_it_is_enough(stack, buyers):
    """Kill one process after another, each after some work. AssertionError if work stops."""
    choose, kills = random.Random(1), 0
    while kills < KILLS or sum(len(buyer.paid) for buyer in buyers) < PAYMENTS:
        target = sum(buyer.answers for buyer in buyers) + choose.randint(*BETWEEN_KILLS)
        eventually(lambda target=target: sum(buyer.answers for buyer in buyers) >= target)
        time.sleep(choose.uniform(0, PAUSE_SECONDS))
        name = choose.choice(["web", "worker"])
        stack.kill(name)
        stack.start_web() if name == "web" else stack.start_worker()
        kills += 1


def test_kills_in_a_loop_under_load_lose_nothing(stack, remote, node):
    stack.start_worker()
    ticket = remote.ticket(capacity=None)
    buyers = [Load(remote, ticket, node) for _ in range(BUYERS)]
    for buyer in buyers:
        buyer.start()
    try:
        kill_until_it_is_enough(stack, buyers)
    finally:
        for buyer in buyers:
            buyer.enough.set()
        for buyer in buyers:
            buyer.join()

    paid = {key: amount for buyer in buyers for key, amount in buyer.paid.items()}
    known = {key for buyer in buyers for key in buyer.intents}
    assert [status for buyer in buyers for status in buyer.strange] == []
    eventually(lambda: all(_is_booked(remote, key, amount) for key, amount in paid.items()))
    listed = _all_intents(remote)
    addresses = [intent["address"] for intent in listed]
    assert len(addresses) == len(set(addresses))
    # A preflight that was killed before its response was stored has left nothing.
    assert {intent["id"] for intent in listed} >= known
    held = sum(i["quantity"] for i in listed if i["status"] in ("awaiting_payment", "processing"))
    sold = sum(i["quantity"] for i in listed if i["status"] == "confirmed")
    now = remote.read(ticket)
    assert (now["held"], now["sold"]) == (held, sold)


def _order(ticket):
    return {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}


def _is_booked(remote, intent_id, amount):
    intent = remote.send("GET", f"{remote.path}/intents/{intent_id}").json
    status = "confirmed" if amount == PRICE else "awaiting_payment"
    return (intent["amount_received"], intent["status"]) == (amount, status)


def _all_intents(remote):
    found, cursor = [], ""
    while cursor is not None:
        page = remote.send(
            "GET", f"{remote.path}/intents?limit=100{cursor and '&cursor=' + cursor}"
        ).json
        found += page["data"]
        cursor = page["next_cursor"]
    return found
