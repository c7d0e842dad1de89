"""Reorganizations during a catch-up, other chains, and how far a worker goes back."""

import pytest

from tests.support.bad_node import checked_watcher, cursor, sentence
from tests.support.factories import CHAIN, PRICE, cli, worker_once
from ticketing.chain.node import connect
from ticketing.models.chains import ChainState
from ticketing.services.payments import block_history

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.usefixtures("unforgetting"),
    pytest.mark.one_database,
]


def try_to_look(acme):
    acme.app.test_cli_runner().invoke(args=["worker", "--once"])


def header(node, tag="latest"):
    return node.rpc("eth_getBlockByNumber", tag, False)


def is_on_chain(node):
    """Return whether the last block that was read is on the chain."""
    state = ChainState.get()
    return header(node, hex(state.block_number))["hash"] == state.block_hash


def test_a_reorganization_between_two_ranges_confirms_no_payment_that_it_removed(
    bad_node, acme, node, monkeypatch
):
    monkeypatch.setattr("ticketing.chain.transfer_logs.BLOCKS_PER_RANGE", 10)
    connect.cache_clear()
    ticket = acme.ticket(capacity=None)
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    node.rpc("anvil_mine", "0x5")
    buyer.pay(node)
    node.rpc("anvil_mine", "0x14")
    paid = hex(cursor() + 6)
    bad_node.rules.append(lambda question, answer: reorganize_after(question, answer, paid, node))
    try_to_look(acme)
    bad_node.well()
    worker_once(acme.app)
    assert (buyer.now()["status"], buyer.now()["amount_received"]) == ("reversed", 0)
    assert is_on_chain(node)
    cli(acme.app, "reconcile")


def reorganize_after(question, answer, number, node):
    """Replace a block and those after it when its header was requested: its range is read next."""
    if question["method"] == "eth_getBlockByNumber" and question["params"][0] == number:
        node.rpc("anvil_reorg", int(header(node)["number"], 16) - int(number, 16) + 1, [])
    return answer


@pytest.mark.parametrize(("every", "higher"), [(2, 0), (3, 0), (5, 0), (5, 100)])
def test_answers_of_another_chain_change_nothing(three_deep, bad_node, acme, node, every, higher):
    ticket = acme.ticket(capacity=None)
    sold, open_ = acme.buyer(ticket), acme.buyer(ticket)
    worker_once(acme.app)
    sold.pay(node)
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    bad_node.misroute(every=every, higher=higher)
    for _ in range(8):
        node.rpc("anvil_mine", "0x1")
        try_to_look(acme)
        sold.purchase()
        assert (sold.now()["amount_received"], sold.now()["flags"]) == (PRICE, [])
        assert is_on_chain(node)
    bad_node.well()
    open_.pay(node)
    node.rpc("anvil_mine", "0x3")
    worker_once(acme.app)
    assert [buyer.now()["status"] for buyer in (sold, open_)] == ["confirmed"] * 2


def test_single_answers_of_another_chain_change_nothing_in_the_end(
    three_deep, bad_node, acme, node
):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    bad_node.misroute(every=3, items=True)
    for _ in range(6):
        node.rpc("anvil_mine", "0x1")
        try_to_look(acme)
    bad_node.well()
    node.rpc("anvil_mine", "0x3")
    worker_once(acme.app)
    intent = buyer.now()
    assert (intent["status"], intent["amount_received"]) == ("confirmed", PRICE)
    assert is_on_chain(node)


@pytest.fixture
def deep(acme, node, monkeypatch):
    """A confirmed payment, below more blocks than a worker goes back by itself."""
    monkeypatch.setattr(block_history, "KEPT", 16)
    monkeypatch.setattr(block_history, "MOST_BLOCKS_BACK", 8)
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    node.rpc("anvil_mine", "0x10")
    worker_once(acme.app)
    buyer.pay(node)
    for _ in range(14):
        worker_once(acme.app)
        node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"
    return buyer


@pytest.mark.parametrize("depth", [12, 20])
def test_a_deep_reorganization_stops_with_a_sentence_until_it_is_accepted(
    bad_node, acme, node, deep, depth
):
    before = cursor()
    node.rpc("anvil_reorg", depth, [])
    node.rpc("anvil_mine", "0x2")
    for _ in range(2):
        assert "--accept-reorganization" in sentence(acme)
    assert (cursor(), deep.now()["status"]) == (before, "confirmed")
    cli(acme.app, "worker", "--once", "--accept-reorganization")
    assert is_on_chain(node)
    assert cursor() == int(header(node)["number"], 16)
    if depth == 20:
        assert (deep.now()["status"], deep.now()["amount_received"]) == ("reversed", 0)
    worker_once(acme.app)


def test_a_reorganization_within_the_limit_needs_nobody(bad_node, acme, node, deep):
    node.rpc("anvil_reorg", 7, [])
    node.rpc("anvil_mine", "0x2")
    worker_once(acme.app)
    assert is_on_chain(node)
    assert deep.now()["status"] == "confirmed"


def test_a_short_reorganization_asks_little(bad_node, acme, node):
    """Some providers accept 25 questions a second, and count each item of a batch."""
    buyer = acme.buyer(acme.ticket())
    watcher = checked_watcher(acme.app)
    for _ in range(32):
        node.rpc("anvil_mine", "0x1")
        watcher.look()
    buyer.pay(node)
    watcher.look()
    node.rpc("anvil_reorg", 1, [])
    node.rpc("anvil_mine", "0x1")
    bad_node.calls.clear()
    watcher.look()
    assert (buyer.now()["status"], is_on_chain(node)) == ("reversed", True)
    assert bad_node.calls.total() <= 20


@pytest.mark.parametrize("blocks", [12, 20])
def test_a_reorganization_of_one_block_after_a_catch_up_needs_nobody(
    bad_node, acme, node, monkeypatch, blocks
):
    """Only the last block of a range is stored. The one before it is beyond the limit."""
    monkeypatch.setattr(block_history, "KEPT", 16)
    monkeypatch.setattr(block_history, "MOST_BLOCKS_BACK", 8)
    buyer = acme.buyer(acme.ticket())
    node.rpc("anvil_mine", "0x10")
    worker_once(acme.app)
    node.rpc("anvil_mine", hex(blocks - 1))
    buyer.pay(node)
    worker_once(acme.app)
    node.rpc("anvil_reorg", 1, [])
    node.rpc("anvil_mine", "0x2")
    worker_once(acme.app)
    assert is_on_chain(node)
    assert (buyer.now()["status"], buyer.now()["amount_received"]) == ("reversed", 0)


def test_accepting_goes_with_one_look(acme):
    said = cli(acme.app, "worker", "--accept-reorganization", exit_code=2)
    assert "--once" in said


def test_accepting_says_so_if_another_worker_watches(acme, node):
    watcher = checked_watcher(acme.app)
    said = cli(acme.app, "worker", "--once", "--accept-reorganization", exit_code=1)
    assert said == f"Error: another worker watches chain {CHAIN}: stop it first\n"
    watcher.leave()
