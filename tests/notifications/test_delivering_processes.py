"""Real workers that deliver webhooks: killed, two of them, after a day, and to many endpoints."""

import json
import socket
import time
from types import SimpleNamespace

import pytest

from app import create_app
from tests.support.databases import only_once
from tests.support.processes import variables_of
from tests.support.remote import PATIENCE_SECONDS, eventually
from tests.support.webhook_receivers import CLOCK, LOOPBACK, endpoint, publish
from ticketing.config import load
from ticketing.db.connection import database
from ticketing.models.notifications import Lease, Notification, WebhookEndpoint
from ticketing.models.tenants import Tenant
from ticketing.worker.delivering import LEASE
from tools.stack import free_port

pytestmark = pytest.mark.long

DAY = 86_400


@pytest.fixture
def variables(database_url, tmp_path):
    (tmp_path / "clock").write_text("0")
    return variables_of(
        database_url,
        WEBHOOK_ALLOW=LOOPBACK,
        PYTHONPATH=str(CLOCK),
        CLOCK_SET_BACK_FILE=str(tmp_path / "clock"),
    )


@pytest.fixture
def hooks(stack, remote, receiver, tmp_path):
    """A tenant of the stack, its receiver, and the clock of the worker."""
    config = load(stack.environ)
    create_app(config)

    def forward(seconds):
        fresh = tmp_path / "clock.new"
        fresh.write_text(str(-seconds))
        fresh.replace(tmp_path / "clock")
        receiver.clock_forward(seconds)

    tenant_id = Tenant.get().id
    yield SimpleNamespace(
        tenant_id=tenant_id,
        receiver=receiver,
        forward=forward,
        endpoint=lambda path="/hook", **fields: endpoint(
            tenant_id, config.keyring, receiver, path, **fields
        ),
    )
    database.close()


def now(made):
    return WebhookEndpoint.get_by_id(made.id)


def is_delivered(made, sequence):
    return now(made).sequence == sequence


def test_a_worker_is_killed_between_sending_and_marking(stack, hooks):
    made = hooks.endpoint()
    publish(hooks.tenant_id, 20)
    hooks.receiver.answer("/hook", by_type=[{"type": "intent.created", "is_held": True}])
    publish(hooks.tenant_id, 1, "intent.created")
    publish(hooks.tenant_id, 20)
    stack.start_worker()
    eventually(lambda: len(hooks.receiver.received()) == 21)
    stack.kill("worker")
    hooks.receiver.let_go()
    stack.start_worker("next")
    eventually(lambda: is_delivered(made, 41))
    received = hooks.receiver.received()
    assert all(each["verified"] for each in received)
    # In order, each once, and what was not marked a second time with the same id.
    seen = [each["sequence"] for each in received]
    assert seen[:21] == list(range(1, 22))
    assert seen[21:] == list(range(seen[21], 42)) and seen[21] <= 21
    ids = {}
    for each in received:
        assert ids.setdefault(each["sequence"], each["id"]) == each["id"]
    assert len(set(ids.values())) == 41
    stack.kill("next")


def test_of_two_workers_one_delivers_and_the_other_takes_over(stack, hooks):
    made = hooks.endpoint()
    stack.start_worker("first")
    eventually(lambda: Lease.get_or_none(Lease.name == LEASE) is not None)
    stack.start_worker("second")
    publish(hooks.tenant_id, 100)
    eventually(lambda: is_delivered(made, 100))
    assert hooks.receiver.sequences("/hook") == list(range(1, 101))
    holder = Lease.get(Lease.name == LEASE).holder
    assert stack.terminate("first")(60) == 0
    publish(hooks.tenant_id, 100)
    eventually(lambda: is_delivered(made, 200))
    assert hooks.receiver.sequences("/hook") == list(range(1, 201))
    assert Lease.get(Lease.name == LEASE).holder != holder
    stack.kill("second")


@only_once
def test_a_receiver_that_is_down_for_a_day_gets_everything_in_order_after_its_return(stack, hooks):
    made = hooks.endpoint()
    stack.start_worker()
    publish(hooks.tenant_id, 3)
    eventually(lambda: is_delivered(made, 3))
    hooks.receiver.stop()
    publish(hooks.tenant_id, 30)
    eventually(lambda: now(made).attempts == 1)
    passed = 0
    for attempts, seconds in enumerate((60, 600, 3600, DAY), 2):
        passed += seconds
        hooks.forward(passed)
        eventually(lambda attempts=attempts: now(made).attempts >= attempts)
    publish(hooks.tenant_id, 30)
    warned = Notification.type == "webhook.failing"
    eventually(lambda: Notification.select().where(warned).count() == 1)
    assert json.loads(Notification.get(warned).data)["is_disabled"] is False
    hooks.receiver.start()
    hooks.forward(passed + 3600)
    # The fact above has a place in the feed, too, if it is numbered.
    eventually(lambda: now(made).delivered >= 63)
    received = hooks.receiver.received()
    assert [each["sequence"] for each in received] == list(range(1, len(received) + 1))
    assert all(each["verified"] for each in received)
    assert now(made).failing_since is None
    stack.kill("worker")


@only_once
def test_a_worker_ends_soon_while_receivers_hang(stack, hooks):
    for number in range(4):
        hooks.endpoint(f"/{number}")
        hooks.receiver.answer(f"/{number}", is_held=True)
    publish(hooks.tenant_id, 1)
    stack.start_worker()
    eventually(lambda: len(hooks.receiver.received()) == 4)
    assert stack.terminate("worker")(PATIENCE_SECONDS) == 0
    assert Lease.get(Lease.name == LEASE).holder is None
    assert len(hooks.receiver.received()) == 4


def wait_while_it_moves(measure, target):
    """Wait until `measure()` is `target`. AssertionError if it stops changing."""
    before, since = measure(), time.monotonic()
    while before != target:
        time.sleep(0.2)
        found = measure()
        if found != before:
            before, since = found, time.monotonic()
        assert time.monotonic() < since + PATIENCE_SECONDS, found


@only_once
def test_a_feed_reaches_15_endpoints_while_5_others_are_dead(stack, hooks):
    count = 300
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dead = [
            hooks.endpoint(f"/{number}", url=url)
            for number, url in enumerate(
                (
                    f"http://127.0.0.1:{free_port()}/",
                    f"http://127.0.0.1:{silent.getsockname()[1]}/",
                    f"http://127.0.0.1:{silent.getsockname()[1]}/",
                    "https://nobody.invalid/",
                    "https://localhost.localdomain:8443/",
                )
            )
        ]
        good = [hooks.endpoint(f"/good/{number}") for number in range(15)]
        publish(hooks.tenant_id, count)
        stack.start_worker()
        live = WebhookEndpoint.id << [each.id for each in good]
        wait_while_it_moves(
            lambda: sum(each.delivered for each in WebhookEndpoint.select().where(live)),
            15 * count,
        )
        eventually(lambda: all(now(each).attempts > 0 for each in dead))
        stack.kill("worker")
    by_path = {}
    for each in hooks.receiver.received():
        assert each["verified"]
        by_path.setdefault(each["path"], []).append(each["sequence"])
    assert len(by_path) == 15
    assert all(seen == list(range(1, count + 1)) for seen in by_path.values())
    for each in dead:
        assert (now(each).sequence, now(each).delivered) == (0, 0)
