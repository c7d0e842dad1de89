"""A node that is down, slow, behind or restrictive: no block is skipped, nothing is lost."""

from itertools import pairwise

import pytest

from tests.support.bad_node import (
    checked_watcher,
    cursor,
    is_unavailable,
    sentence,
    short_timeout,
)
from tests.support.factories import worker_once
from ticketing.chain.errors import RpcError
from ticketing.chain.node import connect
from ticketing.services.payments import block_history, chain_view

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.usefixtures("unforgetting"),
    pytest.mark.one_database,
]


def pass_time(node, seconds):
    node.rpc("evm_increaseTime", seconds)
    node.rpc("anvil_mine", "0x1")


def head(node):
    return int(node.rpc("eth_blockNumber"), 16)


TROUBLES = {
    "away": lambda bad, node: bad.go_away(),
    "hanging up": lambda bad, node: setattr(bad, "hangs_up", True),
    "slow": lambda bad, node: setattr(bad, "delay", 5.0),
    "dripping": lambda bad, node: setattr(bad, "drip", True),
    "refusing everything": lambda bad, node: bad.refuse(
        "eth_getBlockByNumber", "eth_getLogs", "eth_call", message=f"over quota of {bad.url}"
    ),
    "refusing logs": lambda bad, node: bad.refuse("eth_getLogs", message="busy\nTraceback"),
    "behind": lambda bad, node: bad.lag(head(node) - 5),
    "html": lambda bad, node: setattr(bad, "garble", lambda _: (502, b"<h1>Bad Gateway</h1>")),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_nothing_is_passed_unread_expired_or_lost(bad_node, acme, node, log, trouble):
    ticket = acme.ticket()
    paying, idle = acme.buyer(ticket), acme.buyer(ticket)
    watcher = checked_watcher(acme.app)
    before = cursor()
    pass_time(node, 600)
    paying.pay(node)
    pass_time(node, 600)
    node.rpc("anvil_mine", "0x5")

    TROUBLES[trouble](bad_node, node)

    with short_timeout():
        with pytest.raises(RpcError):
            watcher.look()
        watcher.leave()
        sentence(acme)
        assert is_unavailable(paying.purchase())
        assert is_unavailable(idle.cancel())
    assert cursor() == before
    assert [buyer.now()["status"] for buyer in (paying, idle)] == ["awaiting_payment"] * 2
    assert acme.stock(ticket) == (2, 0)

    bad_node.well()
    if trouble == "away":
        bad_node.come_back()
    worker_once(acme.app)
    assert (paying.now()["status"], paying.now()["flags"]) == ("confirmed", [])
    assert idle.now()["status"] == "expired"
    assert acme.stock(ticket) == (0, 1)
    assert cursor() == head(node)
    assert len(paying.purchase().json["admissions"]) == 1


def test_a_purchase_after_an_outage_needs_no_worker(bad_node, acme, node, log):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    bad_node.hangs_up = True
    pass_time(node, 600)
    buyer.pay(node)
    pass_time(node, 6000)
    assert is_unavailable(buyer.purchase())
    bad_node.well()
    answer = buyer.purchase()
    assert (answer.status_code, answer.json["flags"]) == (200, [])
    worker_once(acme.app)
    assert buyer.purchase().json["admissions"] == answer.json["admissions"]


def test_without_balances_nothing_expires_but_what_is_deep_is_confirmed(
    environ, bad_node, node, request, log
):
    environ |= {"CONFIRMATIONS_31337": "3", "EARLY_CONFIRMATIONS_31337": "0"}
    acme = request.getfixturevalue("acme")
    ticket = acme.ticket()
    paying, idle = acme.buyer(ticket), acme.buyer(ticket)
    paying.pay(node)
    watcher = checked_watcher(acme.app)
    assert paying.now()["status"] == "processing"
    bad_node.refuse("eth_call")
    node.rpc("anvil_mine", "0x2")
    pass_time(node, 1000)
    with pytest.raises(RpcError):
        watcher.look()
    assert cursor() == head(node)
    assert (paying.now()["status"], idle.now()["status"]) == ("confirmed", "awaiting_payment")
    bad_node.well()
    watcher.look()
    assert idle.now()["status"] == "expired"


@pytest.mark.parametrize("kept_back", ["swallowed", "marked as removed"])
def test_logs_kept_back_in_silence_are_found_before_the_hold_is_dropped(
    bad_node, acme, node, log, kept_back
):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    buyer.pay(node)
    if kept_back == "swallowed":
        bad_node.lag(0, null_headers=False)
    else:
        bad_node.answer("eth_getLogs", lambda logs: [{**each, "removed": True} for each in logs])
    for _ in range(2):  # beyond the blocks that are read again
        worker_once(acme.app)
        node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    assert (buyer.now()["status"], buyer.now()["amount_received"]) == ("awaiting_payment", 0)
    bad_node.well()
    pass_time(node, 1000)
    worker_once(acme.app)
    assert (buyer.now()["status"], buyer.now()["flags"]) == ("confirmed", [])
    assert acme.stock(ticket) == (0, 1)
    assert "holds more than its logs showed" in log.text


@pytest.mark.parametrize("blocks", [1, 7])
def test_a_range_that_is_refused_is_halved_until_it_passes(bad_node, acme, node, log, blocks):
    ticket = acme.ticket(capacity=None)
    worker_once(acme.app)
    first = cursor() + 1
    bad_node.ranges.clear()
    bad_node.max_range(blocks)
    buyers = [acme.buyer(ticket) for _ in range(3)]
    for buyer in buyers:
        node.rpc("anvil_mine", hex(20))
        buyer.pay(node)
    # A purchase reads a bounded number of ranges. The worker reads the rest.
    bad_node.ranges.clear()
    buyers[0].purchase()
    assert len(bad_node.ranges) <= chain_view.RANGES_PER_LOOK
    bad_node.ranges.clear()
    worker_once(acme.app)
    assert {buyer.now()["status"] for buyer in buyers} == {"confirmed"}
    assert_without_a_gap(bad_node.ranges, first, head(node))


def test_a_node_that_refuses_even_one_block_is_told(bad_node, acme, node, log):
    acme.buyer(acme.ticket())
    worker_once(acme.app)
    before = cursor()
    node.rpc("anvil_mine", "0x9")
    bad_node.max_range(0)
    assert "the node returned an error: exceed maximum block range" in sentence(acme)
    assert cursor() == before


def test_after_hours_away_it_catches_up_without_skipping_and_says_how_far(
    bad_node, acme, node, log, monkeypatch
):
    monkeypatch.setattr("ticketing.chain.transfer_logs.BLOCKS_PER_RANGE", 50)
    connect.cache_clear()
    ticket = acme.ticket(capacity=None)
    worker_once(acme.app)
    first = cursor() + 1
    bad_node.hangs_up = True
    buyers = [acme.buyer(ticket) for _ in range(4)]
    for buyer in buyers:
        buyer.pay(node)
        node.rpc("anvil_mine", hex(75))
    sentence(acme)
    bad_node.well()
    bad_node.ranges.clear()
    bad_node.rules.append(lambda question, answer: hang_up_after(bad_node, 3, answer))
    sentence(acme)
    assert cursor() == first + 148  # the first range begins with a block that is read again
    bad_node.well()
    worker_once(acme.app)
    last = head(node)
    assert f"chain 31337: read to {first + 98} of {last}" in log.text
    assert f"chain 31337: read to {last} of {last}" in log.text
    assert_without_a_gap(bad_node.ranges, first, last)
    assert {buyer.now()["status"] for buyer in buyers} == {"confirmed"}


def hang_up_after(bad_node, ranges, answer):
    bad_node.hangs_up = len(bad_node.ranges) >= ranges
    return answer


def assert_without_a_gap(ranges, first, last):
    """Check that no block is missing between two ranges. The first one repeats an old block."""
    assert ranges[0][0] == first - 1
    assert ranges[-1][1] == last
    assert all(after[0] <= before[1] + 1 for before, after in pairwise(ranges))


def test_a_node_behind_all_that_is_remembered_changes_nothing(
    bad_node, acme, node, log, monkeypatch
):
    monkeypatch.setattr(block_history, "KEPT", 4)
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    snapshot = node.rpc("evm_snapshot")
    node.rpc("anvil_mine", "0x2")
    buyer.pay(node)
    for _ in range(8):
        node.rpc("anvil_mine", "0x1")
        worker_once(acme.app)
    before = cursor()
    node.rpc("evm_revert", snapshot)
    assert "behind" in sentence(acme)
    assert cursor() == before
    assert buyer.now()["status"] == "confirmed"


def test_no_hold_is_dropped_by_its_buyer_while_logs_are_kept_back(bad_node, acme, node, log):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    buyer.pay(node)
    bad_node.answer("eth_getLogs", [])
    assert is_unavailable(buyer.cancel())
    pass_time(node, 1000)
    assert is_unavailable(buyer.purchase())
    assert acme.stock(ticket) == (1, 0)
    bad_node.well()
    assert buyer.purchase().json["status"] == "confirmed"
