"""Refunds in blocks of another fork than the worker's: they are not counted, or taken back."""

import pytest

from tests.support.bad_node import checked_watcher, cursor, is_unavailable
from tests.support.books import change_home
from tests.support.factories import PRICE, cli, worker_once
from tests.support.refunds import give_back, overpay, settle
from ticketing import ids
from ticketing.chain.errors import NotLinked
from ticketing.models.notifications import Notification
from ticketing.models.refunds import Refund
from ticketing.services.payments import block_history

pytestmark = [pytest.mark.usefixtures("bad_node", "unforgetting"), pytest.mark.exhaustive]


@pytest.fixture
def overpaid(bad_node, acme, node):
    """A buyer who paid 7 too much, some blocks before the head."""
    buyer = overpay(acme, node)
    node.rpc("anvil_mine", "0x3")
    worker_once(acme.app)
    return buyer


@pytest.mark.parametrize("looks", [True, False], ids=["below the cursor", "above the cursor"])
def test_a_refund_of_a_node_on_another_fork_is_not_counted(bad_node, acme, node, overpaid, looks):
    fork = cursor()
    tx_hash = give_back(node, 7)
    node.rpc("anvil_mine", "0x3")
    if looks:
        worker_once(acme.app)
    bad_node.fork(fork)
    answer = settle(acme, overpaid, tx_hash)
    assert is_unavailable(answer)
    assert int(answer.headers["Retry-After"]) > 0
    assert (overpaid.now()["refund_due"], overpaid.now()["refunds"]) == (7, [])
    bad_node.well()
    assert settle(acme, overpaid, tx_hash).json["refunded"] == 7
    worker_once(acme.app)
    assert overpaid.now()["refund_due"] == 0
    cli(acme.app, "reconcile")


def test_a_refund_of_a_node_that_lags_behind_the_worker_is_not_counted(
    bad_node, acme, node, overpaid
):
    tx_hash = give_back(node, 7)
    node.rpc("anvil_mine", "0x3")
    worker_once(acme.app)
    bad_node.lag_head(2)
    assert is_unavailable(settle(acme, overpaid, tx_hash))
    bad_node.well()
    assert settle(acme, overpaid, tx_hash).json["refunded"] == 7


def test_no_refund_is_counted_before_the_worker_has_gone_back(bad_node, acme, node, overpaid):
    tx_hash = give_back(node, 7)
    worker_once(acme.app)
    transaction = node.rpc("eth_getRawTransactionByHash", tx_hash)
    node.rpc("anvil_reorg", 1, [[transaction, 0]])
    node.rpc("anvil_mine", "0x1")
    assert is_unavailable(settle(acme, overpaid, tx_hash))
    worker_once(acme.app)
    assert settle(acme, overpaid, tx_hash).json["refunded"] == 7


def test_a_refund_above_the_cursor_is_compared_when_the_worker_gets_there(
    bad_node, acme, node, overpaid
):
    fork = cursor() + 1
    tx_hash = give_back(node, 7)
    bad_node.fork(fork)
    assert settle(acme, overpaid, tx_hash).json["refunded"] == 7
    bad_node.well()
    worker_once(acme.app)
    assert (overpaid.now()["refund_due"], overpaid.now()["refunds"]) == (7, [])
    cli(acme.app, "reconcile")


@pytest.fixture
def forked(bad_node, acme, node, overpaid):
    """A refund that was counted in a wrong block below the cursor: its block, and its hash."""
    tx_hash = give_back(node, 7)
    number = int(node.rpc("eth_blockNumber"), 16)
    node.rpc("anvil_mine", "0x3")
    worker_once(acme.app)
    # One node behind the URL knows the worker's last block, but answers about an older one wrongly.
    bad_node.fork(number, number)
    assert settle(acme, overpaid, tx_hash).json["refunded"] == 7
    bad_node.well()
    return number, tx_hash


def refund_due_facts():
    return Notification.select().where(Notification.type == "refund.due").count()


def test_a_refund_in_a_block_that_is_not_on_the_chain_is_taken_back(
    bad_node, acme, node, overpaid, forked, caplog
):
    facts = refund_due_facts()
    worker_once(acme.app)
    assert (overpaid.now()["refund_due"], overpaid.now()["refunds"]) == (7, [])
    assert refund_due_facts() == facts + 1
    assert "the refund is taken back" in caplog.text
    cli(acme.app, "reconcile")
    assert settle(acme, overpaid, forked[1]).json["refunded"] == 7
    worker_once(acme.app)
    assert overpaid.now()["refund_due"] == 0


def test_a_refund_is_compared_once(bad_node, acme, node, overpaid):
    assert settle(acme, overpaid, give_back(node, 7)).json["refunded"] == 7
    watcher = checked_watcher(acme.app)
    bad_node.calls.clear()
    for _ in range(2):
        watcher.check_refunds()
    assert bad_node.calls["eth_getBlockByNumber"] == 2  # with the worker's last block
    assert (Refund.get().canonical, Refund.get().checked) == (True, True)
    watcher.leave()


def test_a_refund_is_compared_when_it_is_as_deep_as_a_payment(
    three_deep, bad_node, acme, node, new_refund
):
    buyer, _ = new_refund
    Refund.update(checked=False, block_number=cursor() - 1).execute()
    worker_once(acme.app)
    assert not Refund.get().checked
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    assert (Refund.get().canonical, buyer.now()["refund_due"]) == (False, 7)


@pytest.fixture
def new_refund(bad_node, acme, node):
    """An order whose refund was compared: the buyer, and the transaction's hash."""
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node, PRICE + 7)
    node.rpc("anvil_mine", "0x3")
    worker_once(acme.app)
    tx_hash = give_back(node, 7)
    node.rpc("anvil_mine", "0x3")
    assert settle(acme, buyer, tx_hash).json["refunded"] == 7
    worker_once(acme.app)
    assert Refund.get().checked
    return buyer, tx_hash


def test_a_wrong_answer_about_a_good_refund_changes_nothing(bad_node, acme, node, new_refund):
    buyer, _ = new_refund
    Refund.update(checked=False).execute()
    watcher = checked_watcher(acme.app)
    fork = int(Refund.get().block_number)
    Refund.update(checked=False).execute()
    bad_node.fork(fork)
    with pytest.raises(NotLinked):
        watcher.check_refunds()
    bad_node.well()
    watcher.check_refunds()
    watcher.leave()
    assert (Refund.get().checked, buyer.now()["refund_due"]) == (True, 0)


@pytest.mark.parametrize("headers", ["null", "error"])
def test_a_refund_whose_block_no_node_has_any_more_stays(
    bad_node, acme, node, overpaid, forked, headers, caplog
):
    node.rpc("anvil_mine", hex(block_history.RECENT + 20))
    watcher = checked_watcher(acme.app)
    bad_node.prune(block_history.RECENT + 10, headers=headers)
    watcher.check_refunds()
    assert (Refund.get().canonical, Refund.get().checked) == (True, True)
    assert "no node has block" in caplog.text
    bad_node.calls.clear()
    watcher.check_refunds()
    assert bad_node.calls.total() == 0
    watcher.leave()


def test_refunds_that_cannot_be_compared_delay_no_others(
    bad_node, acme, node, overpaid, forked, monkeypatch
):
    """A node lacks the block of the first one for a moment."""
    monkeypatch.setattr("ticketing.worker.refund_check.REFUNDS_PER_PASS", 1)
    first, second = sorted(
        [Refund.get().id, copy_of(Refund.get(), block_number=int(Refund.get().block_number) + 1)]
    )
    missing = [hex(Refund.get_by_id(first).block_number)]
    bad_node.rules.append(
        lambda question, answer: (
            {**answer, "result": None} if question["params"][:1] == missing else answer
        )
    )
    watcher = checked_watcher(acme.app)
    for _ in range(2):
        watcher.check_refunds()
    assert [Refund.get_by_id(each).canonical for each in (first, second)] == [True, False]
    bad_node.well()
    for _ in range(2):
        watcher.check_refunds()
    watcher.leave()
    assert not Refund.select().where(Refund.canonical).exists()


def copy_of(refund, **columns):
    """Store one more refund of the same order, by hand."""
    Refund.insert(
        {**refund.__data__, "id": ids.new(ids.REFUND), "tx_hash": "0x" + "34" * 32, **columns}
    ).execute()
    account = refund.account
    change_home(refund.intent_id, refunded=account.refunded + refund.amount)
    return Refund.get(Refund.tx_hash == "0x" + "34" * 32).id
