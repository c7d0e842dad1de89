"""The number of questions of a running worker. The test moves its clock."""

import json
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from peewee import chunked

from tests.support.remote import PATIENCE_SECONDS, eventually
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.chain import multicall
from ticketing.chain.node import connect
from ticketing.db.connection import database
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.worker.loop import Worker
from ticketing.worker.watcher import Watcher
from tools import anvil

pytestmark = [pytest.mark.exhaustive, pytest.mark.one_database]

POLL_SECONDS, QUIET_POLL_SECONDS = 2, 6
BLOCK_SECONDS = 12
CODE = Path(anvil.__file__).parent / "contracts" / "TestMulticall.json"


class Running:
    """A running worker. The test moves its clock, poll by poll."""

    def __init__(self, node, clock, polls, poll_seconds):
        self._node, self._clock, self._polls = node, clock, polls
        self._poll_seconds = poll_seconds
        self._seconds = 0
        self.block_seconds = BLOCK_SECONDS

    def pass_poll(self):
        """Move the clock by one poll, mine a block if it is time, and wait for every task."""
        self._seconds += self._poll_seconds
        self._clock.forward(seconds=self._poll_seconds)
        if self._seconds % self.block_seconds == 0:
            self._node.rpc("evm_setNextBlockTimestamp", int(self._clock.now.timestamp()))
            self._node.rpc("anvil_mine", "0x1")
        # The second of two runs began after the clock was moved.
        aims = {task: ended + 2 for task, ended in self._polls.items()}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(self._polls[task] < aim for task, aim in aims.items()):
            assert time.monotonic() < deadline
            time.sleep(0.002)

    @property
    def looks(self):
        """The number of polls that ended. With an open order, each is a look."""
        return self._polls["look_if_due"]

    def pass_minutes(self, minutes):
        for _ in range(minutes * 60 // self._poll_seconds):
            self.pass_poll()

    def skip(self, seconds):
        """Move the clock far, then mine a block and let the worker see it."""
        self._clock.forward(seconds=seconds)
        for _ in range(BLOCK_SECONDS // self._poll_seconds + 1):
            self.pass_poll()


@pytest.fixture
def running(node, monkeypatch):
    """Run the worker of an application in a thread."""
    connect.cache_clear()
    polls = {"look_if_due": 0, "sweep": 0}
    for task in polls:
        count_ends(monkeypatch, polls, task)
    head = int(node.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
    stopped = StoppedClock(monkeypatch, clock.now().fromtimestamp(head + 1, clock.now().tzinfo))

    @contextmanager
    def run(app, poll_seconds=QUIET_POLL_SECONDS):
        handlers = []
        monkeypatch.setattr(signal, "signal", lambda _, handler: handlers.append(handler))
        worker = Worker(replace(app.extensions["ticketing"], poll_seconds=0.01))
        thread = threading.Thread(target=run_and_close, args=(worker,))
        thread.start()
        try:
            eventually(lambda: all(polls.values()))
            yield Running(node, stopped, polls, poll_seconds)
        finally:
            handlers[0]()
            thread.join()

    return run


def count_ends(monkeypatch, polls, task):
    before = getattr(Watcher, task)

    def counting(self):
        try:
            before(self)
        finally:
            polls[task] += 1

    monkeypatch.setattr(Watcher, task, counting)


def run_and_close(worker):
    try:
        worker.run()
    finally:
        database.close()


def a_minute(bad_node, running, minutes=2):
    """Return the HTTP requests and the questions in them, on average."""
    requests, questions = bad_node.requests, bad_node.calls.total()
    running.pass_minutes(minutes)
    return (bad_node.requests - requests) / minutes, (bad_node.calls.total() - questions) / minutes


def test_a_shop_without_orders_asks_three_times_a_minute(bad_node, acme, running):
    acme.ticket()
    with running(acme.app) as worker:
        worker.pass_minutes(1)
        requests, questions = a_minute(bad_node, worker)
        assert 1 <= requests <= 3
        assert questions <= 12


def test_a_shop_with_expired_orders_asks_three_times_a_minute(
    three_deep, bad_node, acme, node, running
):
    ticket = acme.ticket(capacity=None)
    expired, canceled, _ = (acme.buyer(ticket) for _ in range(3))
    assert canceled.cancel().status_code == 200
    with running(acme.app) as worker:
        worker.skip(1000)
        eventually(lambda: expired.now()["status"] == "expired")
        worker.pass_minutes(1)
        requests, questions = a_minute(bad_node, worker)
        assert 1 <= requests <= 3
        assert questions <= 18


@pytest.mark.parametrize("takes_numbers", [True, False])
def test_a_shop_with_cold_addresses_asks_three_times_a_minute(
    bad_node, acme, node, running, takes_numbers
):
    code = json.loads(CODE.read_text())["runtime"]
    node.rpc("anvil_setCode", multicall.ADDRESS, code)
    acme.buyer(acme.ticket(capacity=None))
    with running(acme.app) as worker:
        worker.skip(1000)
        eventually(lambda: PaymentIntent.get().status == "expired")
        copy_intent(1500)
        if not takes_numbers:
            bad_node.prune_state()
        worker.skip(3 * 86_400)
        worker.pass_minutes(1)
        requests, questions = a_minute(bad_node, worker)
        assert 1 <= requests <= (3 if takes_numbers else 10)
        assert questions <= (20 if takes_numbers else 30)
        swept = OrderAccount.select().where(OrderAccount.swept_at.is_null(False)).count()
        assert swept == 1501


def copy_intent(times):
    """Copy the only order and its account this many times, with other addresses."""
    (order,), (home,) = (list(model.select().dicts()) for model in (PaymentIntent, OrderAccount))
    del home["id"]
    orders = [
        {
            **order,
            "id": f"{order['id']}{number}",
            "address": f"0x{number:040x}",
            "address_index": order["address_index"] + number,
        }
        for number in range(1, times + 1)
    ]
    homes = [{**home, "intent": each["id"], "address": each["address"]} for each in orders]
    with database.atomic():
        for model, rows in ((PaymentIntent, orders), (OrderAccount, homes)):
            for some in chunked(rows, 100):
                model.insert_many(some).execute()


def test_an_order_is_noticed_within_one_poll(bad_node, acme, node, running):
    ticket = acme.ticket()
    with running(acme.app, POLL_SECONDS) as worker:
        worker.pass_minutes(1)
        buyer = acme.buyer(ticket)
        buyer.pay(node)
        worker.pass_poll()
        assert buyer.now()["status"] == "confirmed"


@pytest.mark.parametrize("orders", [1, 5])
@pytest.mark.parametrize(("block_seconds", "most"), [(12, (36, 72)), (2, (61, 122))])
def test_with_orders_open_each_block_is_read_once(
    three_deep, bad_node, acme, node, running, orders, block_seconds, most
):
    ticket = acme.ticket(capacity=None)
    with running(acme.app, POLL_SECONDS) as worker:
        for _ in range(orders):
            acme.buyer(ticket)
        worker.block_seconds = block_seconds
        # Whether the look-alike is on the local chain is asked once an hour: before we count.
        worker.pass_minutes(2)
        bad_node.calls.clear()
        looks = worker.looks
        minutes = 2
        requests, questions = a_minute(bad_node, worker, minutes)
        assert requests <= most[0] and questions <= most[1]
        looks = worker.looks - looks
        blocks = minutes * 60 / block_seconds
        # One with the head of each look, and one with each new block. A look may be running.
        assert bad_node.calls["eth_chainId"] <= looks + 1 + blocks
        assert bad_node.calls["eth_getLogs"] <= blocks + 1
        assert bad_node.calls["eth_call"] == 0


def test_what_a_paid_order_adds_until_it_is_final(three_deep, bad_node, acme, node, running):
    ticket = acme.ticket(capacity=None)
    with running(acme.app, POLL_SECONDS) as worker:
        buyer, _ = acme.buyer(ticket), acme.buyer(ticket)
        worker.pass_poll()
        without, questions = a_minute(bad_node, worker, 1)
        buyer.pay(node)
        with_payment, with_questions = a_minute(bad_node, worker, 1)
        assert buyer.now()["status"] == "confirmed"
        assert with_payment - without <= 7
        assert with_questions - questions <= 10
