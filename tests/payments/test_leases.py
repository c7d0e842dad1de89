"""Several workers: one reads a chain, the others wait, and take over when it ends."""

import threading
import time
from datetime import timedelta

import pytest

from tests.conftest import SECRET_KEY
from tests.support.bad_node import BadNode, checked_watcher
from tests.support.factories import PRICE, new_xpub
from tests.support.remote import RemoteOrganizer, eventually
from ticketing.db.connection import database
from ticketing.services import chains
from ticketing.services.payments.booking import CursorMoved
from ticketing.worker.watcher import Watcher
from tools import anvil
from tools.stack import Stack, free_port


@pytest.fixture
def stack(database_url, node, tmp_path):
    """The web server over a migrated database."""
    variables = {
        "DATABASE_URL": database_url,
        "SECRET_KEY": SECRET_KEY,
        "PORT": str(free_port()),
        "RPC_URL_31337": node.url,
        "POLL_SECONDS": "0.1",
    }
    with Stack(variables, log=tmp_path / "log") as running:
        running.start_web()
        yield running


@pytest.fixture
def workers(stack, node):
    """Two workers' ways to the node: the first has the lease, the second has begun to wait."""
    with BadNode(node.url) as first, BadNode(node.url) as second:
        start(stack, "first", first)
        eventually(lambda: looks(first) > 1)
        start(stack, "second", second)
        eventually(lambda: second.calls["eth_chainId"] == 1)
        yield first, second
        stack.stop()


def start(stack, name, proxy):
    stack.environ["RPC_URL_31337"] = proxy.url
    stack.start_worker(name)


def looks(proxy):
    return proxy.calls["eth_getBlockByNumber"]


def pay(node, intent):
    anvil.transfer(node.rpc, intent["token_address"], intent["address"], PRICE)


def test_one_of_two_workers_reads_until_it_is_killed_then_the_other(stack, node, workers, tmp_path):
    def told(what):
        return (tmp_path / "log").read_text().count(f"{what} chain 31337\n")

    first, second = workers
    acme = RemoteOrganizer(stack, "acme", new_xpub())
    ticket = acme.ticket()
    before, after = acme.preflight(ticket).json, acme.preflight(ticket).json
    asked = looks(second)  # by the command that made the tenant
    pay(node, before)
    eventually(lambda: acme.intent(before)["status"] == "confirmed")
    seen = looks(first)
    eventually(lambda: looks(first) > seen + 20)
    assert looks(second) == asked
    assert (told("watching"), told("standing by for")) == (1, 1)

    stack.kill("first")
    pay(node, after)
    eventually(lambda: acme.intent(after)["status"] == "confirmed")

    assert looks(second) > asked
    assert (told("watching"), told("standing by for")) == (2, 1)
    stack.check()
    acme.preflight(ticket)  # with an order open, the chain is looked at all the time
    seen = looks(second)
    start(stack, "third", first)
    eventually(lambda: looks(second) > seen + 20)
    assert acme.read(ticket)["sold"] == 2


def test_a_worker_that_is_asked_to_end_hands_over_at_once(stack, node, workers):
    _, second = workers
    acme = RemoteOrganizer(stack, "acme", new_xpub())
    intent = acme.preflight(acme.ticket()).json
    ending = stack._processes.pop("first")
    ending.terminate()
    assert ending.wait(chains.LEASE.total_seconds()) == 0
    ended = time.monotonic()
    pay(node, intent)
    eventually(lambda: acme.intent(intent)["status"] == "confirmed")
    assert time.monotonic() - ended < chains.LEASE.total_seconds() / 2
    assert looks(second) > 0
    stack.check()


def test_a_node_slower_than_the_lease_does_not_make_two_workers_stop_each_other(
    environ, node, request, monkeypatch
):
    monkeypatch.setattr(chains, "LEASE", timedelta(seconds=0.5))
    with BadNode(node.url) as proxy:
        environ["RPC_URL_31337"] = proxy.url
        acme = request.getfixturevalue("acme")
        buyer = acme.buyer(acme.ticket())
        checked_watcher(acme.app).leave()
        proxy.delay = (
            0.25  # A look takes three questions: longer than the lease, not twice as long.
        )
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
