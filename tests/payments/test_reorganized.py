"""Reorganizations: payments are removed with their blocks, and return with them."""

import pytest

from tests.support.factories import PRICE, cli, worker_once
from ticketing.models.chains import ChainState


def mine(node, blocks):
    node.rpc("anvil_mine", hex(blocks))


def raw(node, tx_hash):
    return node.rpc("eth_getRawTransactionByHash", tx_hash)


def test_processing_falls_back_with_a_grace_and_the_stock_stays_held(three_deep, acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    buyer.pay(node)
    node.rpc("evm_increaseTime", 3600)
    mine(node, 1)
    worker_once(acme.app)
    assert buyer.now()["status"] == "processing"
    node.rpc("anvil_reorg", 2, [])
    worker_once(acme.app)
    intent = buyer.now()
    assert (intent["status"], intent["amount_received"]) == ("awaiting_payment", 0)
    assert intent["flags"] == ["reorged"]
    assert intent["expires_at"] > buyer.intent["expires_at"]
    assert acme.stock(ticket) == (1, 0)
    node.rpc("evm_increaseTime", 7200)
    mine(node, 2)
    worker_once(acme.app)
    assert buyer.now()["status"] == "expired"
    assert acme.stock(ticket) == (0, 0)


def test_a_payment_that_moves_to_another_block_is_counted_once(three_deep, acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    mine(node, 3)
    transaction = raw(node, buyer.pay(node))
    worker_once(acme.app)
    node.rpc("anvil_reorg", 2, [[transaction, 1]])
    worker_once(acme.app)
    intent = buyer.now()
    assert intent["amount_received"] == PRICE
    mine(node, 4)
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"
    assert buyer.now()["refund_due"] == 0
    assert acme.stock(ticket) == (0, 1)


def test_confirmed_becomes_reversed_and_recovers(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    mine(node, 3)
    transaction = raw(node, buyer.pay(node))
    worker_once(acme.app)
    admission = buyer.purchase().json["admissions"][0]
    assert admission["status"] == "valid"

    node.rpc("anvil_reorg", 2, [])
    worker_once(acme.app)

    intent = buyer.now()
    assert (intent["status"], intent["amount_received"]) == ("reversed", 0)
    assert acme.stock(ticket) == (0, 1)
    listed = acme.api("read").get(f"{acme.path}/admissions").json["data"]
    assert [each["status"] for each in listed] == ["suspended"]
    refused = buyer.purchase()
    assert (refused.status_code, refused.json["code"]) == (409, "intent_reversed")

    node.rpc("eth_sendRawTransaction", transaction)
    mine(node, 2)
    worker_once(acme.app)

    answer = buyer.purchase()
    assert (answer.status_code, answer.json["status"]) == (200, "confirmed")
    assert answer.json["flags"] == ["reorged"]
    assert answer.json["admissions"][0]["code"] == admission["code"]
    assert answer.json["admissions"][0]["status"] == "valid"
    assert acme.stock(ticket) == (0, 1)


def test_a_reversed_order_of_a_canceled_event_waits_for_no_payment(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    mine(node, 3)
    buyer.pay(node)
    worker_once(acme.app)
    node.rpc("anvil_reorg", 2, [])
    worker_once(acme.app)
    assert buyer.now()["status"] == "reversed"

    path = f"{acme.path}/events/{ticket['event_id']}/status"
    assert acme.api().post(path, {"status": "canceled"}).status_code == 200

    # All its seats are refunded, so it keeps nothing, and nothing is missing.
    intent = buyer.now()
    assert (intent["status"], intent["refund_due"]) == ("confirmed", 0)
    listed = acme.api().get(f"{acme.path}/admissions").json["data"]
    assert [each["status"] for each in listed] == ["void"]


def test_a_repeat_that_is_reorganized_away_is_no_longer_due(acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    mine(node, 2)
    buyer.pay(node)
    worker_once(acme.app)
    assert buyer.now()["refund_due"] == PRICE
    node.rpc("anvil_reorg", 1, [])
    worker_once(acme.app)
    intent = buyer.now()
    assert (intent["status"], intent["refund_due"]) == ("confirmed", 0)


@pytest.mark.parametrize("looks", [1, 7])
@pytest.mark.long
def test_the_watcher_walks_back_to_the_common_ancestor(three_deep, acme, node, looks):
    ticket = acme.ticket(capacity=None)
    worker_once(acme.app)
    buyers = [acme.buyer(ticket) for _ in range(7)]
    for buyer in buyers:
        buyer.pay(node)
        if looks > 1:
            worker_once(acme.app)
    worker_once(acme.app)
    node.rpc("anvil_reorg", 5, [])
    mine(node, 5)
    worker_once(acme.app)
    statuses = [buyer.now()["status"] for buyer in buyers]
    # Confirmed orders that lost their payment keep their seats.
    lost = ["reversed" if place < 5 else "awaiting_payment" for place in range(2, 7)]
    assert statuses == ["confirmed"] * 2 + lost
    head = node.rpc("eth_getBlockByNumber", "latest", False)
    cursor = ChainState.get()
    assert (hex(cursor.block_number), cursor.block_hash) == (head["number"], head["hash"])
    assert all(buyer.now()["amount_received"] in (0, PRICE) for buyer in buyers)
    assert sum(buyer.now()["amount_received"] for buyer in buyers[2:]) == 0


def test_a_node_that_only_lags_behind_changes_nothing(acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    snapshot = node.rpc("evm_snapshot")
    mine(node, 3)
    worker_once(acme.app)
    before = ChainState.get().block_number
    node.rpc("evm_revert", snapshot)
    assert "behind" in cli(acme.app, "worker", "--once", exit_code=1)
    assert ChainState.get().block_number == before
    assert buyer.now()["status"] == "confirmed"


def test_a_part_that_is_reorganized_away_leaves_time_to_come_back(three_deep, acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    transaction = raw(node, buyer.pay(node, PRICE - 1))
    node.rpc("evm_increaseTime", 1000)
    mine(node, 1)
    worker_once(acme.app)
    node.rpc("anvil_reorg", 2, [])
    worker_once(acme.app)
    assert (buyer.now()["status"], buyer.now()["amount_received"]) == ("awaiting_payment", 0)
    node.rpc("eth_sendRawTransaction", transaction)
    buyer.pay(node, 1)
    mine(node, 3)
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"
    assert acme.stock(ticket) == (0, 1)


def test_no_hold_is_dropped_by_its_buyer_before_the_worker_has_walked_back(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    mine(node, 1)
    worker_once(acme.app)
    node.rpc("anvil_reorg", 1, [])
    assert buyer.cancel().json["code"] == "chain_unavailable"
    assert acme.stock(ticket) == (1, 0)
    worker_once(acme.app)
    assert buyer.cancel().json["status"] == "canceled"
    assert acme.stock(ticket) == (0, 0)
