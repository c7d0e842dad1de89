"""Providers with limits on ranges, batches or requests: each limit is learned once."""

from contextlib import suppress

import pytest

from tests.support.bad_node import cursor, is_unavailable
from tests.support.databases import only_once
from tests.support.factories import CHAIN, PRICE
from ticketing.chain.errors import RpcError, RpcLimited
from ticketing.chain.node import connect
from ticketing.chain.transfer_logs import BLOCKS_PER_RANGE
from ticketing.services.payments import chain_view
from ticketing.worker.watcher import Watcher

pytestmark = [pytest.mark.exhaustive, pytest.mark.one_database]


@pytest.fixture
def hasty(unforgetting, monkeypatch):
    """The timeout is three seconds. A good response takes less, even on a slow machine."""
    monkeypatch.setattr("ticketing.chain.endpoint.TIMEOUT_SECONDS", 3.0)
    monkeypatch.setattr("ticketing.chain.endpoint.MAX_ANSWER_BYTES", 4096 * 1024)


class Time:
    """A clock that measures pauses. Only a test moves it."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def pauses(monkeypatch):
    """The clock for rate limits."""
    time = Time()
    monkeypatch.setattr("ticketing.chain.endpoint.time", time)
    return time


@pytest.fixture
def narrow(monkeypatch):
    """Ranges of at most 64 blocks."""
    monkeypatch.setattr("ticketing.chain.transfer_logs.BLOCKS_PER_RANGE", 64)


@pytest.fixture
def watcher(acme, bad_node):
    """A worker after its first look."""
    connect.cache_clear()
    watcher = Watcher(acme.app.extensions["ticketing"].chains[CHAIN])
    watcher.look()
    return watcher


def head(node):
    return int(node.rpc("eth_blockNumber"), 16)


def mine(node, blocks):
    node.rpc("anvil_mine", hex(blocks))


def catch_up(watcher, node):
    """Look until the head is read. A failed look must make progress or ask for less."""
    for looks in range(1, 40):
        with suppress(RpcError):
            watcher.look()
        if cursor() == head(node):
            return looks
    raise AssertionError("it never caught up")


REFUSALS = ("error", "results", "504", "silence", "cut off", "too large")


@pytest.mark.parametrize("how", REFUSALS)
def test_it_catches_up_in_narrow_ranges_and_remembers_the_width(
    hasty, bad_node, acme, node, watcher, how, monkeypatch
):
    monkeypatch.setattr("tests.support.provider.responses.MAX_ANSWER_BYTES", 4096 * 1024)
    buyer = acme.buyer(acme.ticket())
    mine(node, 50)
    buyer.pay(node)
    mine(node, 150)
    bad_node.max_range(60, how=how)
    bad_node.asked_ranges.clear()
    bad_node.ranges.clear()
    catch_up(watcher, node)
    assert buyer.now()["status"] == "confirmed"
    refused = len(bad_node.asked_ranges) - len(bad_node.ranges)
    # A width of 2,000 is halved six times, and a few times more by ranges near the head.
    assert refused <= 8
    # Successful ranges are not repeated, except for the newest block.
    assert len(bad_node.ranges) <= 10
    mine(node, 120)
    bad_node.asked_ranges.clear()
    bad_node.ranges.clear()
    catch_up(watcher, node)
    assert len(bad_node.asked_ranges) == len(bad_node.ranges)


def test_the_width_grows_again(narrow, bad_node, acme, node, watcher):
    acme.buyer(acme.ticket())
    mine(node, 40)
    bad_node.max_range(2)
    watcher.look()
    bad_node.well()
    mine(node, 600)
    bad_node.ranges.clear()
    watcher.look()
    widths = [last - first + 1 for first, last in bad_node.ranges]
    assert max(widths) == 64
    assert len(widths) < 60
    assert cursor() == head(node)


def test_progress_is_kept_when_a_catch_up_fails_halfway(
    unforgetting, bad_node, acme, node, watcher
):
    acme.buyer(acme.ticket())
    mine(node, 200)
    bad_node.max_range(60)
    bad_node.rules.append(lambda question, answer: fail_after(bad_node, 2, answer))
    with pytest.raises(RpcError):
        watcher.look()
    kept = cursor()
    assert kept > 60
    bad_node.well()
    bad_node.ranges.clear()
    watcher.look()
    assert bad_node.ranges[0][0] == kept
    assert cursor() == head(node)


def fail_after(bad_node, ranges, answer):
    bad_node.hangs_up = len(bad_node.ranges) >= ranges
    return answer


BATCH_LIMITS = [
    (1, "error", 0),
    (3, "error", 0),
    (3, "items", 0),
    (3, "rest", 0),
    (3, "http", 413),
    (10, "error", 0),
    (10, "items", 0),
    (10, "http", 400),
]


@only_once
@pytest.mark.parametrize(("most", "how", "status"), BATCH_LIMITS)
def test_a_first_start_a_reorganization_and_balances_pass_in_small_batches(
    three_deep, bad_node, acme, node, most, how, status
):
    connect.cache_clear()
    ticket = acme.ticket(capacity=None)
    buyers = [acme.buyer(ticket) for _ in range(12)]
    bad_node.max_batch(most, how=how, status=status)
    watcher = Watcher(acme.app.extensions["ticketing"].chains[CHAIN])
    watcher.look()
    for _ in range(40):  # this many headers are kept, and compared after a reorganization
        mine(node, 1)
        watcher.look()
    paid = buyers[0]
    paid.pay(node)
    watcher.look()
    node.rpc("anvil_reorg", 3, [])
    mine(node, 1)
    watcher.look()
    assert paid.now()["flags"] == ["reorged"]
    paid.pay(node)
    mine(node, 3)
    watcher.look()
    assert paid.now()["status"] == "confirmed"
    node.rpc("evm_increaseTime", 3000)
    mine(node, 1)
    watcher.look()
    assert {buyer.now()["status"] for buyer in buyers[1:]} == {"expired"}
    # Each too large size is tried at most twice.
    too_large = [size for size in bad_node.batches if size > most]
    assert len(too_large) <= 6


@pytest.mark.parametrize("how", ["error", "items", "rest", "http"])
def test_a_batch_size_that_was_refused_is_not_tried_again(bad_node, acme, node, watcher, how):
    ours = connect(acme.app.extensions["ticketing"].chains[CHAIN])
    bad_node.max_batch(10, how=how)
    ours.blocks(range(3))
    bad_node.batches.clear()
    assert len(ours.blocks([0, 1, 2] * 11)) == 33
    assert max(bad_node.batches) == 34
    bad_node.batches.clear()
    assert len(ours.blocks([0, 1, 2] * 11)) == 33
    assert len(bad_node.batches) <= 5
    assert max(bad_node.batches) <= 10


@pytest.mark.parametrize(
    ("message", "code"),
    [("batch limit exceeded", -32005), ("Too many requests in batch", -32600)],
)
def test_a_batch_limit_is_not_taken_for_a_rate_limit(bad_node, acme, node, watcher, message, code):
    ours = connect(acme.app.extensions["ticketing"].chains[CHAIN])
    for how in ("error", "items"):
        bad_node.well()
        bad_node.max_batch(2, how=how, message=message, code=code)
        assert len(ours.blocks([0, 1, 2, 1, 0])) == 5


@pytest.mark.parametrize("how", ["http", "error", "items"])
def test_a_rate_limit_is_waited_out(pauses, bad_node, acme, node, watcher, how):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    bad_node.max_rate(0, how=how)
    batches = []
    waited = 0.0
    for _ in range(5):
        bad_node.batches.clear()
        with pytest.raises(RpcLimited) as limited:
            watcher.look()
        batches.append(list(bad_node.batches))
        # Until then there are no requests, neither by the worker nor for a buyer.
        bad_node.batches.clear()
        with pytest.raises(RpcLimited):
            watcher.look()
        assert is_unavailable(buyer.purchase())
        assert bad_node.batches == []
        assert limited.value.retry_after > waited
        waited = limited.value.retry_after
        pauses.now += waited + 0.1
    assert batches == [[2, 1]] * 5  # one call alone: is the batch too large?
    bad_node.well()
    watcher.look()
    assert buyer.now()["status"] == "confirmed"
    assert connect(watcher.chain).range_width == BLOCKS_PER_RANGE


@pytest.mark.parametrize(("retry_after", "seconds"), [(7, 7), (0, 1), (10**7, 600)])
def test_retry_after_is_obeyed_within_bounds(
    pauses, bad_node, acme, node, watcher, retry_after, seconds
):
    buyer = acme.buyer(acme.ticket())
    bad_node.max_rate(0, retry_after=retry_after)
    with pytest.raises(RpcLimited):
        watcher.look()
    bad_node.well()
    bad_node.requests = 0
    pauses.now += seconds - 0.1
    assert is_unavailable(buyer.purchase())
    assert bad_node.requests == 0
    pauses.now += 0.2
    assert buyer.purchase().status_code == 402


def test_a_rate_limit_in_the_middle_of_a_catch_up_narrows_nothing(
    pauses, bad_node, acme, node, watcher
):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    mine(node, 100)
    bad_node.requests = 0
    bad_node.max_rate(1)
    with pytest.raises(RpcLimited):
        watcher.look()
    assert bad_node.requests == 3  # one call alone: is the batch too large?
    bad_node.well()
    pauses.now += 2
    bad_node.asked_ranges.clear()
    watcher.look()
    assert len(bad_node.asked_ranges) == 1
    assert buyer.now()["amount_received"] == PRICE


def test_a_purchase_asks_a_bounded_number_of_questions_for_logs(
    narrow, bad_node, acme, node, watcher
):
    buyer = acme.buyer(acme.ticket())
    mine(node, 300)
    bad_node.max_range(1)
    bad_node.asked_ranges.clear()
    buyer.purchase()
    # Successful ones, and those that find out the width.
    assert len(bad_node.asked_ranges) <= chain_view.RANGES_PER_LOOK + 6
    bad_node.asked_ranges.clear()
    buyer.purchase()
    assert len(bad_node.asked_ranges) <= chain_view.RANGES_PER_LOOK
