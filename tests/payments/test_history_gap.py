"""After an outage longer than the memory of its nodes, a chain goes on: see history_gap.py."""

import logging

import pytest

from tests.conftest import UNREACHABLE_RPC
from tests.support.bad_node import cursor
from tests.support.factories import worker_once
from tests.support.fake_chain import Send
from tests.support.property.core import PRICE
from tests.support.property.worlds import fake_chain
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.chain.node import connect
from ticketing.models.order_accounts import SEARCHED, OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains, counters
from ticketing.services.payments import reconciliation
from ticketing.worker.history_gap import SEEN_FOR, SEEN_FOR_WITH_FAILED_URL, HistoryGap

pytestmark = pytest.mark.exhaustive

MEMORY, OUTAGE = 140, 300
LOOK = ("look_after_silence", 0)
ORDER = ("preflight", False, 1)
COLLECT = ("collect", [0, 1], False, False)
KINDS = pytest.mark.parametrize(
    "headers",
    [
        "null",
        pytest.param("error", marks=pytest.mark.long),
        pytest.param("kept", marks=pytest.mark.long),
    ],
)


@pytest.fixture
def world(new_world):
    """A payment is final after the next block."""
    return new_world(fake_chain(6), confirmations=2, capacity=6)


def run(world, *happenings):
    for name, *arguments in happenings:
        world.do((name, arguments))


def pay(who):
    return "pay", [(who, "all")], True


def pruned(headers="null", memory=MEMORY):
    return "set_node", False, [("prune", (memory,), {"headers": headers})]


def statuses():
    return [each.status for each in PaymentIntent.select().order_by(PaymentIntent.id)]


def dues():
    return [each.refund_due for each in PaymentIntent.select().order_by(PaymentIntent.id)]


def skipped(chain_id=31337):
    return counters.read()[counters.SKIPPED_BLOCKS][str(chain_id)]


@KINDS
def test_a_chain_goes_on_after_blocks_that_no_node_has(world, headers, caplog):
    run(world, LOOK, ORDER, ORDER, LOOK)
    before = cursor()
    run(world, pay(0), ("mine", OUTAGE), ("pass_time", 1000, True), pruned(headers))
    run(world, LOOK)
    assert (cursor(), skipped()) == (before, 0)  # seen once
    run(world, LOOK)
    head = world.chain.head[0]
    last = before + skipped()
    assert cursor() == head
    assert head - MEMORY <= last < head - MEMORY + 10
    (alert,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert f"no node has the blocks {before + 1} to {last} any more" in alert.message
    run(world, ORDER, pay(2), ("mine", 1), LOOK)
    for _ in range(3):
        run(world, ("pass_time", 400, True), LOOK)
    # The first one holds more than is booked, so it keeps its seats. The second one is unpaid.
    assert statuses() == ["awaiting_payment", "expired", "confirmed"]
    assert reconciliation.reconcile(None) == []
    run(world, ("set_node", False, []), ("pass_time", 4000, True), LOOK, LOOK)
    assert statuses() == ["confirmed", "expired", "confirmed"]
    world.heal()
    assert reconciliation.reconcile(None) == []


def test_what_purchases_recorded_in_the_gap_stays(world):
    run(world, LOOK, ORDER, ORDER, LOOK, pay(0), ("purchase", 0))
    assert statuses() == ["processing", "awaiting_payment"]
    run(world, ("mine", OUTAGE), ("pass_time", 1000, True), pruned(), LOOK, LOOK, LOOK)
    assert statuses() == ["confirmed", "expired"]
    world.heal()


def test_a_second_payment_in_the_gap_is_owed_when_a_node_has_the_blocks(world):
    run(world, LOOK, ORDER, LOOK, pay(0), ("mine", 1), LOOK)
    assert statuses() == ["confirmed"]
    sends = [Send(world.chain.buyers[0], PaymentIntent.get().address, PRICE)]
    run(world, ("mine", 9))
    world.chain.send(sends, world.chain_time())
    run(world, ("mine", OUTAGE), pruned(), LOOK, LOOK, LOOK)
    assert PaymentIntent.get().amount_received == PRICE
    run(world, ("set_node", False, []), ("pass_time", 120, True), LOOK, LOOK)
    order = PaymentIntent.get()
    assert (order.status, order.refund_due) == ("confirmed", PRICE)
    assert reconciliation.reconcile(None) == []


def test_what_was_paid_and_collected_in_the_gap_is_found(new_world):
    world = new_world(fake_chain(6), confirmations=2, capacity=6)
    run(world, LOOK, ORDER, ORDER, LOOK, pay(0), COLLECT)
    run(world, ("mine", OUTAGE), ("pass_time", 1000, True), pruned(), LOOK, LOOK)
    assert skipped() > 0
    for _ in range(3):
        run(world, ("pass_time", 400, True), LOOK)
    # Both hold 0, as the books say. But the first one has code: somebody has collected it.
    assert statuses() == ["awaiting_payment", "expired"]
    run(world, ("set_node", False, []), ("pass_time", 4000, True), LOOK, LOOK)
    assert statuses() == ["confirmed", "expired"]
    world.heal()
    assert reconciliation.reconcile(None) == []


def test_the_rest_that_was_paid_and_collected_in_the_gap_is_found(new_world):
    world = new_world(fake_chain(6), confirmations=2, capacity=6)
    run(world, LOOK, ORDER, LOOK, ("pay", [(0, "part")], True), COLLECT, LOOK)
    run(world, ("pay", [(0, "rest")], True), COLLECT)
    run(world, ("mine", OUTAGE), ("pass_time", 1000, True), pruned(), LOOK, LOOK)
    assert skipped() > 0
    for _ in range(3):
        run(world, ("pass_time", 400, True), LOOK)
    # It holds 0, as the books say, and a collection explains its code. It may be paid all the same.
    assert statuses() == ["awaiting_payment"]
    run(world, ("set_node", False, []), ("pass_time", 4000, True), LOOK, LOOK)
    assert statuses() == ["confirmed"]
    world.heal()
    assert reconciliation.reconcile(None) == []


@pytest.mark.parametrize("is_swept", [False, True])
def test_an_ended_order_that_was_paid_and_collected_in_the_gap_is_found(new_world, is_swept):
    world = new_world(fake_chain(6), confirmations=2, capacity=6)
    run(world, LOOK, ORDER, ORDER, LOOK, ("pass_time", 4000, True), LOOK)
    assert statuses() == ["expired", "expired"]
    # A day later, their logs are not read any more.
    run(world, ("pass_time", 100_000, True), *([LOOK] if is_swept else []))
    run(world, pay(0), COLLECT, ("mine", OUTAGE), pruned(), LOOK, LOOK)
    assert skipped() > 0
    run(world, ("pass_time", 400, True), LOOK)
    assert dues() == [0, 0]
    run(world, ("set_node", False, []), ("pass_time", 4000, True), LOOK, LOOK)
    assert dues() == [PRICE, 0]
    run(world, *[LOOK] * 4)
    assert not OrderAccount.select().where(SEARCHED).exists()
    world.heal()
    assert reconciliation.reconcile(None) == []


def test_one_wrong_response_skips_nothing(world):
    run(world, LOOK, ORDER, LOOK, pay(0), ("mine", OUTAGE))
    before = cursor()
    lies, refuses = pruned(), ("set_node", False, [("refuse", ("eth_getLogs",), {})])
    run(world, lies, LOOK, refuses, LOOK)
    assert (cursor(), skipped()) == (before, 0)
    run(world, ("set_node", False, []), LOOK)
    assert (cursor(), skipped(), statuses()) == (world.chain.head[0], 0, ["confirmed"])


def test_a_node_that_lags_skips_nothing(world):
    run(world, LOOK, ORDER, LOOK, pay(0), ("mine", 100), pruned(memory=10), LOOK, LOOK, LOOK)
    assert skipped() == 0
    run(world, ("set_node", False, []), LOOK)
    assert statuses() == ["confirmed"]


@pytest.mark.long
def test_the_first_block_that_is_left_is_found_under_a_rate_limit(world):
    run(world, LOOK, ORDER, LOOK, ("mine", 3000))
    for _ in range(20):  # each look has seven requests
        (_, cut, faults), limit = pruned(), ("max_rate", (7,), {})
        run(world, ("set_node", cut, [*faults, limit]), ("pass_time", 120, False), LOOK)
    assert skipped() > 2800
    assert cursor() > 3000
    world.heal()


def test_a_reorganization_after_a_gap_goes_back_to_its_end(world):
    run(world, LOOK, ORDER, LOOK, ("mine", OUTAGE), pruned(), LOOK, LOOK)
    end = cursor()
    assert skipped() > 0
    run(world, pay(0), LOOK, ("reorganize", 136, [140], 6), LOOK, LOOK)
    assert cursor() > end
    assert statuses() == ["confirmed"]
    world.heal()


@pytest.fixture
def old_chain(acme, node, monkeypatch):
    """An order that is paid while no worker runs, and the clock, which only the test moves."""
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    node.rpc("anvil_mine", hex(OUTAGE))
    return buyer, StoppedClock(monkeypatch, clock.now())


def look_for(acme, stopped, seconds, code):
    """Let the worker look twice in some seconds."""
    for _ in range(2):
        result = acme.app.test_cli_runner().invoke(args=["worker", "--once"])
        assert result.exit_code == code, result.output
        stopped.forward(seconds=seconds / 2 + 1)


def test_blocks_must_be_missing_at_each_look(bad_node, node, old_chain, acme, unforgetting):
    _, stopped = old_chain
    chain = acme.app.extensions["ticketing"].chains[31337]
    reader, before = connect(chain), chains.cursor(31337)
    gap, head = HistoryGap(chain, reader), reader.head()
    for is_there in (False, True, False):
        bad_node.well()
        if not is_there:
            bad_node.prune(MEMORY)
        assert gap.skip(before, head) is None
        stopped.forward(seconds=SEEN_FOR.total_seconds() + 1)
    assert gap.skip(before, head) is not None


def test_another_url_that_has_the_blocks_is_asked_first(
    environ, bad_node, node, request, unforgetting
):
    environ["RPC_URL_31337"] = f"{bad_node.url} {node.url}"
    acme = request.getfixturevalue("acme")
    buyer, stopped = request.getfixturevalue("old_chain")
    bad_node.prune(MEMORY)
    look_for(acme, stopped, SEEN_FOR.total_seconds(), 0)
    assert (buyer.now()["status"], skipped()) == ("confirmed", 0)


def test_a_url_that_fails_may_have_the_blocks(environ, bad_node, node, request, unforgetting):
    environ["RPC_URL_31337"] = f"{bad_node.url} {UNREACHABLE_RPC}"
    acme = request.getfixturevalue("acme")
    _, stopped = request.getfixturevalue("old_chain")
    bad_node.prune(MEMORY)
    look_for(acme, stopped, SEEN_FOR_WITH_FAILED_URL.total_seconds() / 2, 1)
    assert skipped() == 0
    stopped.forward(seconds=SEEN_FOR_WITH_FAILED_URL.total_seconds())
    look_for(acme, stopped, 1, 0)
    assert skipped() > 0
    assert cursor() == int(node.rpc("eth_blockNumber"), 16)
