"""Several workers: one reads a chain. The others wait, and take over when it ends."""

import threading
from datetime import timedelta

import pytest

from tests.support.bad_node import BadNode, checked_watcher
from tests.support.factories import PRICE
from tests.support.remote import PATIENCE_SECONDS, eventually
from ticketing.db.connection import database, open_database
from ticketing.models.notifications import Lease
from ticketing.services import leases
from ticketing.services.payments.booking import CursorMoved
from ticketing.worker.watcher import Watcher
from tools import anvil

pytestmark = pytest.mark.long


@pytest.fixture
def workers(stack, node):
    """The proxies of two workers. The first worker has the lease, the second one waits."""
    with BadNode(node.url) as first, BadNode(node.url) as second:
        start(stack, "first", first)
        eventually(lambda: looks(first) > 1)
        start(stack, "second", second)
        eventually(lambda: second.calls["eth_chainId"] == 1)
        yield first, second
        stack.kill_workers()


def start(stack, name, proxy):
    stack.environ["RPC_URL_31337"] = proxy.url
    stack.start_worker(name)


def looks(proxy):
    return proxy.calls["eth_getBlockByNumber"]


def pay(node, intent):
    anvil.transfer(node.rpc, intent["token_address"], intent["address"], PRICE)


def test_one_of_two_workers_reads_until_it_is_killed_then_the_other(stack, node, workers, remote):
    def told(what):
        return stack.log_path.read_text().count(f"{what} chain 31337\n")

    first, second = workers
    ticket = remote.ticket()
    before, after = remote.preflight(ticket).json, remote.preflight(ticket).json
    asked = looks(second)
    pay(node, before)
    eventually(lambda: remote.intent(before)["status"] == "confirmed")
    seen = looks(first)
    eventually(lambda: looks(first) > seen + 20)
    assert looks(second) == asked
    assert (told("watching"), told("standing by for")) == (1, 1)

    stack.kill("first")
    pay(node, after)
    eventually(lambda: remote.intent(after)["status"] == "confirmed")

    assert looks(second) > asked
    assert (told("watching"), told("standing by for")) == (2, 1)
    stack.check()
    remote.preflight(ticket)  # with an open order, the chain is read all the time
    seen = looks(second)
    start(stack, "third", first)
    eventually(lambda: looks(second) > seen + 20)
    assert remote.read(ticket)["sold"] == 2


def test_a_worker_that_is_asked_to_end_hands_over_at_once(stack, node, workers, remote):
    _, second = workers
    intent = remote.preflight(remote.ticket()).json
    ended = holder(stack)
    assert stack.terminate("first")(PATIENCE_SECONDS) == 0
    # It has released its lease: the other one need not wait until the lease expires.
    assert holder(stack) != ended
    pay(node, intent)
    eventually(lambda: remote.intent(intent)["status"] == "confirmed")
    assert looks(second) > 0
    stack.check()


def holder(stack):
    """Return the holder of the chain's lease. None if nobody has it."""
    open_database(stack.database_url)
    try:
        return Lease.get_by_id("chain 31337").holder
    finally:
        database.close()


def test_a_node_slower_than_the_lease_does_not_make_two_workers_stop_each_other(
    environ, node, request, monkeypatch
):
    monkeypatch.setattr(leases, "LEASE", timedelta(seconds=2))
    with BadNode(node.url) as proxy:
        environ["RPC_URL_31337"] = proxy.url
        acme = request.getfixturevalue("acme")
        buyer = acme.buyer(acme.ticket())
        checked_watcher(acme.app).leave()
        # A look takes three questions: more than the lease, less than twice as long.
        proxy.delay = 0.75
        buyer.pay(node)
        done, strange = threading.Event(), []
        threads = [
            threading.Thread(target=keep_looking, args=(acme.app, done, strange)) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        try:
            eventually(lambda: strange or buyer.now()["status"] == "confirmed")
        finally:
            done.set()
            for thread in threads:
                thread.join()
        assert not strange


def keep_looking(app, done, strange):
    watcher = Watcher(app.extensions["ticketing"].chains[31337])
    while not done.is_set():
        try:
            watcher.look()
        except CursorMoved:
            continue
        except Exception as error:
            strange.append(error)
            break
    database.close()
