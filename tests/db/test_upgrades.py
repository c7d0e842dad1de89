"""Each release is upgraded while it sells, and serves the new schema beside this version.

Real processes, a real chain. Their sources are archives: tools/releases.py says how to make one.
"""

import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.doors import OPEN, moment, redeem
from tests.support.factories import PRICE, event_body, in_days, new_xpub, ticket_body
from tests.support.processes import Service, audit, variables_of
from tests.support.remote import RemoteOrganizer, eventually
from tools import anvil
from tools.stack import StackFailed, free_port

pytestmark = pytest.mark.long

SEATS = 3
STOCK = ("held", "sold", "available")


@dataclass
class Versions:
    """One tenant, by the web servers of two versions over one database."""

    before: Service
    now: Service
    organizer: RemoteOrganizer
    node: anvil.Anvil
    ticket: Any
    free: Any

    def by(self, which: Service) -> RemoteOrganizer:
        self.organizer.move_to(which)
        return self.organizer

    def ordered(self, which: Service) -> Any:
        """The order of several seats that was made by one of them, and paid."""
        made = self.by(which).preflight(self.ticket, quantity=SEATS)
        assert made.status == 201, made.json
        intent = made.json
        anvil.transfer(
            self.node.rpc, intent["token_address"], intent["address"], intent["atomic_amount"]
        )
        return intent

    def confirmed(self, which: Service, intent: Any) -> list[Any]:
        """The admissions of an order for its buyer, once the worker that runs confirmed it."""
        self.by(which)
        eventually(lambda: self.organizer.intent(intent)["status"] == "confirmed")
        return list(self.organizer.purchase(intent).json["admissions"])

    def void(self, which: Service, admission: Any) -> None:
        """Void with a refund by one of them."""
        path = f"{self.organizer.path}/admissions/{admission['id']}/void"
        done = self.by(which).send("POST", path, {"reason": "Asked for.", "refund": True})
        assert (done.status, done.json["status"]) == (200, "void"), done.json

    def scan(self, which: Service, admission: Any) -> str:
        """The outcome of a redemption by one of them."""
        path = f"/v1/door{self.organizer.path.removeprefix('/v1/admin')}"
        path += f"/events/{self.ticket['event_id']}/scans"
        body = {"sent_at": moment(), "scans": [redeem(qr=admission["qr"])]}
        done = self.by(which).send("POST", path, body)
        assert done.status == 200, done.json
        return done.json["results"][0]["outcome"]

    def figures(self, which: Service, *intents: Any) -> Any:
        """What one of them says of these orders, of the stock, the sales and the refunds."""
        organizer = self.by(which)
        query = f"?event_id={self.ticket['event_id']}"
        return {
            "intents": [organizer.intent(each) for each in intents],
            "stock": {name: organizer.read(self.ticket)[name] for name in STOCK},
            "sales": organizer.send("GET", f"{organizer.path}/sales{query}").json["data"],
            "refunds": organizer.send("GET", f"{organizer.path}/refunds").json["data"],
        }


@pytest.fixture
def versions(starts_processes, empty_url, nodes, root_before, tmp_path):
    """A release with a tenant over its own schema, and this version, whose server does not run."""
    node = nodes.take()
    variables = variables_of(empty_url, node.url, CONFIRMATIONS_31337="1", WEB_CONCURRENCY="1")
    with ExitStack() as running:
        before = running.enter_context(
            Service(variables, tmp_path / "before.log", root=root_before)
        )
        before.flask("db", "upgrade")
        before.start_web()
        before.start_worker()
        variables = {**variables, "PORT": str(free_port())}
        now = running.enter_context(Service(variables, tmp_path / "now.log"))
        organizer = RemoteOrganizer(before, "acme", new_xpub(), by=Service.flask)
        event = {**event_body(), "status": "published", "start_at": in_days(OPEN), "capacity": 50}
        made = organizer.send("POST", f"{organizer.path}/events", event).json
        body = {**ticket_body(), "capacity": 40, "status": "published"}
        path = f"{organizer.path}/events/{made['id']}/tickets"
        ticket = organizer.send("POST", path, body).json
        free = organizer.ticket(capacity=None)
        yield Versions(before, now, organizer, node, ticket, free)


def agree(old: Any, new: Any) -> None:
    """Assert that the new answer has each value of the old one. It may have more fields."""
    if isinstance(old, dict):
        for name, value in old.items():
            agree(value, new[name])
    elif isinstance(old, list):
        assert len(old) == len(new)
        for each, other in zip(old, new, strict=True):
            agree(each, other)
    else:
        assert old == new


def reconciles(which: Service) -> bool:
    try:
        return "the books are right" in which.flask("reconcile")
    except StackFailed as failed:
        raise AssertionError(failed) from None


@contextmanager
def buyers(versions):
    """Order again and again by the old server. Yield the statuses, which grow meanwhile."""
    statuses, enough = [], threading.Event()

    def order():
        client = RemoteOrganizer.preflight
        while not enough.wait(0.02):
            statuses.append(client(versions.organizer, versions.free).status)

    thread = threading.Thread(target=order)
    thread.start()
    try:
        eventually(lambda: len(statuses) > 5)
        yield statuses
        seen = len(statuses)
        eventually(lambda: len(statuses) > seen + 5)
    finally:
        enough.set()
        thread.join()


def test_a_release_sells_while_it_is_upgraded_and_both_serve_after_it(versions):
    before, now = versions.before, versions.now
    old = versions.ordered(before)
    first, second, third = versions.confirmed(before, old)
    versions.void(before, first)
    unpaid = versions.by(before).preflight(versions.ticket).json
    with buyers(versions) as statuses:
        assert "applied" in now.flask("db", "upgrade")
    assert {*statuses} == {201}
    now.start_web()

    # What the old release made, this one reads and changes.
    assert versions.scan(before, second) == "admitted"
    agree(versions.figures(before, old), versions.figures(now, old))
    versions.void(now, third)
    assert versions.by(before).intent(old)["refund_due"] == 2 * PRICE
    assert versions.by(now).intent(unpaid)["status"] == "awaiting_payment"

    # What this version made, the old release confirms, reads and changes.
    new = versions.ordered(now)
    first, second, third = versions.confirmed(before, new)
    versions.void(before, first)
    assert versions.scan(before, second) == "admitted"
    assert versions.scan(now, second) == "already_redeemed"
    versions.void(now, third)

    # What this version confirmed, too.
    before.terminate("worker")(30)
    now.start_worker()
    newer = versions.ordered(now)
    first, second, _ = versions.confirmed(before, newer)
    versions.void(before, first)
    assert versions.scan(before, second) == "admitted"

    orders = (old, new, newer)
    said = versions.figures(before, *orders)
    agree(said, versions.figures(now, *orders))
    assert [each["refund_due"] for each in said["intents"]] == [2 * PRICE, 2 * PRICE, PRICE]
    assert said["stock"] == {"held": 1, "sold": 4, "available": 35}
    assert sum(each["tickets"] for each in said["sales"]) == 4
    assert sum(each["kept"] for each in said["sales"]) == 4 * PRICE
    assert sum(each["amount"] for each in said["refunds"]) == 5 * PRICE
    assert reconciles(before)
    assert audit(now)["ok"] is True
    for each in (before, now):
        each.check()
        assert "Traceback" not in each.log_path.read_text()
