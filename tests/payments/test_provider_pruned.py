"""Nodes that keep little: what needs old blocks waits, and everything else continues."""

from contextlib import suppress
from unittest.mock import Mock

import pytest

from tests.support.bad_node import cursor
from tests.support.factories import CHAIN, worker_once
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.chain.errors import RpcError
from ticketing.chain.node import connect
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains
from ticketing.services.payments import address_search, block_history, watched_orders
from ticketing.worker import balance_sweep
from ticketing.worker.watcher import Watcher
from tools.anvil import TOKEN_ADDRESS

pytestmark = [pytest.mark.exhaustive, pytest.mark.one_database]

KEPT = 40
HEADERS = pytest.mark.parametrize("headers", ["null", "error"])


@pytest.fixture
def old_chain(node, monkeypatch):
    """A chain of more than a day, with a block every five minutes. 36 blocks are three hours."""
    node.rpc("anvil_setBlockTimestampInterval", 300)
    node.rpc("anvil_mine", hex(400))
    head = int(node.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
    # The service's clock equals the chain's.
    return StoppedClock(monkeypatch, clock.now().fromtimestamp(head, clock.now().tzinfo))


def worker(acme):
    return Watcher(acme.app.extensions["ticketing"].chains[CHAIN])


def look(watcher):
    with suppress(RpcError):
        watcher.look()
        watcher.sweep()


@HEADERS
def test_a_first_start_needs_no_old_header(old_chain, bad_node, acme, node, headers):
    bad_node.prune(KEPT, headers=headers)
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"


@HEADERS
def test_a_first_purchase_needs_no_old_header(old_chain, bad_node, acme, node, headers):
    bad_node.prune(KEPT, headers=headers)
    buyer = acme.buyer(acme.ticket())
    assert buyer.purchase().status_code == 402
    buyer.pay(node)
    assert buyer.purchase().status_code == 200


@HEADERS
def test_a_first_start_begins_with_what_is_left_where_the_rest_is_pruned(
    three_deep, bad_node, acme, node, headers
):
    node.rpc("anvil_mine", hex(400))  # all younger than the hour in which a payment is looked for
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    node.rpc("anvil_mine", hex(140))
    bad_node.prune(140, headers=headers)  # its block is the oldest that is left
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"


def test_a_first_start_ends_under_a_rate_limit(unforgetting, bad_node, acme, node):
    """The search for the first block needs more requests than the provider accepts at once."""
    node.rpc("anvil_mine", hex(200))
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    node.rpc("evm_increaseTime", 7200)
    node.rpc("anvil_mine", hex(500))
    watcher = worker(acme)
    for _ in range(10):
        bad_node.well()
        bad_node.max_rate(6)
        look(watcher)
    assert buyer.now()["status"] == "confirmed"


@HEADERS
def test_orders_expire(old_chain, bad_node, acme, node, headers):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    node.rpc("anvil_mine", hex(20))
    bad_node.prune(KEPT, headers=headers)
    worker_once(acme.app)
    assert buyer.now()["status"] == "expired"
    assert acme.stock(ticket) == (0, 0)


@HEADERS
def test_one_order_whose_logs_cannot_be_read_stops_no_other(
    old_chain, bad_node, acme, node, headers
):
    ticket = acme.ticket(capacity=None)
    watcher = worker(acme)
    watcher.look()
    lost, unpaid = acme.buyer(ticket), acme.buyer(ticket)
    bad_node.omit_logs()
    lost.pay(node)
    for _ in range(2):
        node.rpc("anvil_mine", "0x1")
        watcher.look()
    bad_node.well()
    bad_node.prune(1, headers=headers)
    for _ in range(20):
        node.rpc("anvil_mine", "0x1")
        old_chain.forward(minutes=5)
        look(watcher)
    assert cursor() == int(node.rpc("eth_blockNumber"), 16)
    assert (lost.now()["status"], unpaid.now()["status"]) == ("awaiting_payment", "expired")
    late = acme.buyer(ticket)
    late.pay(node)
    look(watcher)
    assert late.now()["status"] == "confirmed"
    bad_node.well()
    old_chain.forward(hours=2)
    for _ in range(20):  # at first the ranges are narrow, because the node refused them before
        look(watcher)
        assert lost.now()["status"] in ("awaiting_payment", "confirmed")
    assert lost.now()["status"] == "confirmed"


def test_many_orders_whose_logs_cannot_be_read_stop_no_other(bad_node, acme, node, monkeypatch):
    monkeypatch.setattr("ticketing.services.payments.settlement.INTENTS_PER_TRANSACTION", 2)
    ticket = acme.ticket(capacity=None)
    watcher = worker(acme)
    watcher.look()
    lost, unpaid = [acme.buyer(ticket) for _ in range(3)], acme.buyer(ticket)
    bad_node.omit_logs()
    for buyer in lost:
        buyer.pay(node)
    for _ in range(3):
        node.rpc("anvil_mine", "0x1")
        watcher.look()
    bad_node.well()
    search = "ticketing.services.payments.address_search.go_on"
    monkeypatch.setattr(search, Mock(side_effect=RpcError("the logs are pruned")))
    node.rpc("evm_increaseTime", 1000)
    for _ in range(3):
        node.rpc("anvil_mine", "0x1")
        look(watcher)
    assert {buyer.now()["status"] for buyer in lost} == {"awaiting_payment"}
    assert unpaid.now()["status"] == "expired"


def test_a_search_that_fails_stops_no_other(bad_node, acme, node, monkeypatch):
    ticket = acme.ticket(capacity=None)
    watcher = worker(acme)
    watcher.look()
    lost, found = (acme.buyer(ticket) for _ in range(2))
    bad_node.omit_logs()
    for buyer in (lost, found):
        buyer.pay(node)
    for _ in range(2):
        node.rpc("anvil_mine", "0x1")
        watcher.look()
    bad_node.well()
    go_on = address_search.go_on

    def fail_for_one(node, account, most_ranges):
        if account.intent_id == lost.intent["id"]:
            raise RpcError("the logs are pruned")
        return go_on(node, account, most_ranges)

    monkeypatch.setattr(address_search, "go_on", fail_for_one)
    node.rpc("evm_increaseTime", 1000)
    node.rpc("anvil_mine", "0x1")
    watcher.look()
    watcher.sweep()
    assert [each.now()["status"] for each in (lost, found)] == ["awaiting_payment", "confirmed"]


@pytest.fixture
def old_order(bad_node, acme, node, monkeypatch):
    """An order that expired long ago. The node gets ranges of 16 blocks."""
    monkeypatch.setattr("ticketing.chain.transfer_logs.BLOCKS_PER_RANGE", 16)
    monkeypatch.setattr("ticketing.chain.endpoint.SILENT_SECONDS", 0.0)
    connect.cache_clear()
    buyer = acme.buyer(acme.ticket())
    watcher = worker(acme)
    watcher.look()
    node.rpc("evm_increaseTime", 3000)
    node.rpc("anvil_mine", "0x1")
    watcher.look()
    assert buyer.now()["status"] == "expired"
    node.rpc("evm_increaseTime", 2 * 86_400)
    node.rpc("anvil_mine", hex(300))
    look(watcher)
    watcher.leave()
    assert not watched_orders.watched_addresses(CHAIN, TOKEN_ADDRESS, chains.cursor(CHAIN))
    return buyer


def sweep(acme):
    """Let a new worker look and sweep once."""
    watcher = worker(acme)
    try:
        watcher.look()
        watcher.sweep()
    finally:
        watcher.leave()


def dust(node, buyer):
    """Send a tiny amount to an old address, and mine 300 blocks."""
    buyer.pay(node, 1)
    node.rpc("evm_increaseTime", 120)
    node.rpc("anvil_mine", hex(300))


def searched():
    """Return how far a search has come, and where it ends."""
    home = PaymentIntent.get().home
    return home.checked_block, home.search_to


def test_dust_on_an_old_address_is_searched_in_bounded_slices_that_keep_their_progress(
    old_order, bad_node, acme, node
):
    OrderAccount.update(checked_block=2).execute()  # as if its balance was never compared
    bad_node.asked_ranges.clear()
    dust(node, old_order)
    sweep(acme)
    assert searched()[1] == cursor()
    reached, asked, passes = [], list(set(bad_node.asked_ranges)), 1
    while searched()[1] is not None and passes < 20:
        bad_node.asked_ranges.clear()
        bad_node.rules = [lambda _, answer, turn=passes: fail(bad_node, turn, answer)]
        with suppress(RpcError):
            sweep(acme)
        bad_node.well()
        # Of each range, what came to the address and what its receiver sent.
        ranges = set(bad_node.asked_ranges)
        assert len(ranges) <= balance_sweep.RANGES_PER_PASS
        asked += ranges
        reached.append(searched()[0])
        passes += 1
    assert passes > 4
    assert reached == sorted(reached)
    assert old_order.now()["refund_due"] == 1
    # 600 blocks in ranges of 16, and those of failed passes: nothing is read from the beginning.
    assert len(asked) <= 600 // 16 + balance_sweep.RANGES_PER_PASS * passes // 2


def fail(bad_node, turn, answer):
    """In every second pass, hang up after three ranges."""
    bad_node.hangs_up = turn % 2 == 0 and len(bad_node.asked_ranges) > 3
    return answer


def test_dust_is_searched_from_where_the_balance_was_last_right(
    old_order, bad_node, acme, node, monkeypatch
):
    monkeypatch.setattr(block_history, "MOST_BLOCKS_BACK", 16)
    known = searched()[0]
    assert known > 290
    dust(node, old_order)
    bad_node.asked_ranges.clear()
    for _ in range(5):
        sweep(acme)
    assert old_order.now()["refund_due"] == 1
    assert min(first for first, _ in bad_node.asked_ranges) >= known - 16
