"""Failures that the property test found, as plain sequences."""

import json

import eth_abi

from tests.support.factories import PRICE, cli, worker_once
from ticketing.chain import multicall
from ticketing.chain.node import Node
from ticketing.models.payments import Payment
from tools import anvil
from tools.stack import ROOT


def mine(node, blocks):
    node.rpc("anvil_mine", hex(blocks))


def raw(node, tx_hash):
    return node.rpc("eth_getRawTransactionByHash", tx_hash)


def look_later(organizer, node, seconds):
    node.rpc("evm_increaseTime", seconds)
    mine(node, 1)
    worker_once(organizer.app)


def test_reversed_recovers_by_depth_alone(three_deep, acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    transaction = raw(node, buyer.pay(node))
    mine(node, 3)
    worker_once(acme.app)
    node.rpc("anvil_reorg", 4, [])
    worker_once(acme.app)
    assert buyer.now()["status"] == "reversed"
    node.rpc("eth_sendRawTransaction", transaction)
    worker_once(acme.app)
    assert buyer.now()["status"] == "reversed"
    mine(node, 2)
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"


def test_a_payment_that_moves_to_before_the_first_look_is_found(acme, node):
    mine(node, 5)
    worker_once(acme.app)
    buyer = acme.buyer(acme.ticket())
    transaction = raw(node, buyer.pay(node))
    node.rpc("anvil_reorg", 4, [[transaction, 0]])
    worker_once(acme.app)
    assert (buyer.now()["status"], buyer.now()["amount_received"]) == ("confirmed", PRICE)


def test_a_purchase_sells_nothing_that_a_reorganization_took_above_the_cursor(
    three_deep, acme, node
):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    assert buyer.purchase().status_code == 202
    node.rpc("anvil_reorg", 1, [])
    mine(node, 3)
    assert buyer.purchase().status_code == 402
    assert buyer.now()["amount_received"] == 0


def test_a_purchase_counts_once_what_a_reorganization_moved_above_the_cursor(acme, node):
    """A transfer is identified by its place in the block, and that has changed."""
    ticket = acme.ticket()
    worker_once(acme.app)
    other, buyer = acme.buyer(ticket), acme.buyer(ticket)
    node.rpc("evm_setAutomine", False)
    token = buyer.intent["token_address"]
    sent = [
        node.rpc("eth_sendTransaction", {"from": account, "to": token, "data": data})
        for account, data in [
            (node.rpc("eth_accounts")[1], transfer_data(other)),
            (node.rpc("eth_accounts")[1], transfer_data(buyer, PRICE // 2)),
        ]
    ]
    mine(node, 1)
    assert buyer.purchase().status_code == 402
    first, second = (raw(node, tx_hash) for tx_hash in sent)
    node.rpc("anvil_reorg", 1, [])
    node.rpc("evm_setAutomine", True)
    node.rpc("eth_sendRawTransaction", first)
    node.rpc("eth_sendRawTransaction", second)
    # anvil answers before the block is mined.
    mine(node, 1)
    assert buyer.purchase().status_code == 402
    assert buyer.now()["amount_received"] == PRICE // 2
    assert Payment.select().where(Payment.canonical).count() == 1


def test_a_purchase_trusts_no_depth_that_a_reorganization_took_below_the_cursor(
    three_deep, acme, node
):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    node.rpc("anvil_reorg", 1, [])
    mine(node, 3)
    assert buyer.purchase().status_code == 202
    worker_once(acme.app)
    assert (buyer.now()["status"], buyer.now()["amount_received"]) == ("awaiting_payment", 0)


def test_a_reorganization_loses_no_payment_of_an_intent_that_ended_long_ago(acme, node):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    worker_once(acme.app)
    look_later(acme, node, 200_000)
    transaction = raw(node, buyer.pay(node))
    look_later(acme, node, 120)
    assert buyer.now()["refund_due"] == PRICE
    node.rpc("anvil_reorg", 2, [[transaction, 1]])
    worker_once(acme.app)
    for _ in range(2):
        look_later(acme, node, 120)
    assert buyer.now()["refund_due"] == PRICE


def test_what_returned_while_nobody_watched_is_found_though_its_intent_is_watched_again(acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    transaction = raw(node, buyer.pay(node))
    worker_once(acme.app)
    node.rpc("anvil_reorg", 1, [])
    for _ in range(2):
        look_later(acme, node, 200_000)
    assert buyer.now()["status"] == "reversed"
    node.rpc("eth_sendRawTransaction", transaction)
    mine(node, 2)
    worker_once(acme.app)
    buyer.pay(node)
    assert buyer.purchase().json["amount_received"] == PRICE
    look_later(acme, node, 120)
    assert (buyer.now()["amount_received"], buyer.now()["refund_due"]) == (2 * PRICE, PRICE)


def test_a_payment_while_old_addresses_are_looked_at_is_not_taken_for_known(
    acme, node, monkeypatch
):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    worker_once(acme.app)
    look_later(acme, node, 200_000)
    balances = Node.balances

    def pay_and_tell(*arguments, **options):
        monkeypatch.undo()
        buyer.pay(node)
        return balances(*arguments, **options)

    monkeypatch.setattr(Node, "balances", pay_and_tell)
    for _ in range(3):
        look_later(acme, node, 120)
    assert buyer.now()["refund_due"] == PRICE


def test_a_purchase_takes_no_place_that_counts_for_another_intent(three_deep, acme, node):
    """One transaction pays two intents. A reorganization moves its logs by one."""
    built = json.loads((ROOT / "tools" / "contracts" / "TestMulticall.json").read_text())
    code = built["runtime"]
    node.rpc("anvil_setCode", multicall.ADDRESS, code)
    ticket = acme.ticket()
    worker_once(acme.app)
    one, other, stranger = (acme.buyer(ticket) for _ in range(3))
    token = one.intent["token_address"]
    anvil.mint(node.rpc, token, multicall.ADDRESS, 2 * PRICE)
    worker_once(acme.app)
    calls = [(token, False, bytes.fromhex(transfer_data(each)[2:])) for each in (one, other)]
    both = "0x82ad56cb" + eth_abi.encode(["(address,bool,bytes)[]"], [calls]).hex()
    node.rpc("evm_setAutomine", False)
    _, moved = (
        node.rpc("eth_sendTransaction", {"from": node.rpc("eth_accounts")[sender], **transaction})
        for sender, transaction in (
            (1, {"to": token, "data": transfer_data(stranger)}),
            (2, {"to": multicall.ADDRESS, "data": both}),
        )
    )
    mine(node, 1)
    assert one.purchase().status_code == 202
    assert Payment.get().log_index == 1
    node.rpc("anvil_reorg", 1, [[raw(node, moved), 0]])
    assert other.purchase().status_code == 402
    cli(acme.app, "reconcile")
    worker_once(acme.app)
    mine(node, 3)
    worker_once(acme.app)
    assert [each.now()["status"] for each in (one, other)] == ["confirmed"] * 2
    cli(acme.app, "reconcile")


def transfer_data(buyer, amount=PRICE):
    return "0xa9059cbb" + buyer.intent["address"][2:].lower().rjust(64, "0") + f"{amount:064x}"
