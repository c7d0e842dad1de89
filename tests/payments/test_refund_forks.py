"""Refunds in blocks of another fork than the worker's: they are not counted, or taken back."""

import pytest

from tests.support.bad_node import cursor, is_unavailable
from tests.support.factories import cli, worker_once
from tests.support.refunds import give_back, overpay, settle

pytestmark = pytest.mark.usefixtures("unforgetting")


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
