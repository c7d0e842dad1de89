"""Refunds: listed, and settled only by a transfer that is on the chain."""

from datetime import UTC, datetime

import pytest

from tests.support.factories import PRICE, worker_once
from tests.support.refunds import (
    FRIEND_ADDRESS,
    GIVER,
    STRANGER,
    account,
    give_back,
    listed,
    refund_in_the_last_block,
    settle,
    settled,
    state,
    waive,
)
from ticketing.chain import address
from tools import anvil


def test_it_lists_what_is_due_to_whom_for_which_intent(acme, node, overpaid):
    acme.buyer(acme.ticket())
    state(overpaid, FRIEND_ADDRESS)
    (refund,) = listed(acme)
    effective_at = refund["payee"].pop("effective_at")
    assert datetime.fromisoformat(effective_at) <= datetime.now(UTC)
    assert refund == {
        "intent_id": overpaid.intent["id"],
        "status": "due",
        "amount": 7,
        "refunded": 0,
        "waived": 0,
        "currency": "USDC",
        "chain_id": 31337,
        "token_address": anvil.TOKEN_ADDRESS,
        "payers": [{"sender": anvil.BUYER, "amount": PRICE + 7}],
        "payer_count": 1,
        "refund_address": FRIEND_ADDRESS,
        "payee": {
            "source": "stated",
            "waiting_address": None,
            "waits_until": None,
            "cautions": [],
            "entered_by": None,
            "stated_today": True,
            "differs_from_payer": True,
        },
        "by_hand_since": None,
    }


def test_a_transfer_that_is_seen_settles_it_once_and_for_good(acme, node, overpaid):
    tx_hash = give_back(node, 7)
    first, again = settle(acme, overpaid, tx_hash), settle(acme, overpaid, tx_hash)
    assert first.status_code == again.status_code == 200
    assert first.json == again.json
    assert (first.json["status"], first.json["amount"], first.json["refunded"]) == ("settled", 0, 7)
    assert listed(acme) == []
    assert overpaid.now()["refund_due"] == 0
    other = settle(acme, overpaid, give_back(node, 7))
    assert (other.status_code, other.json["code"]) == (409, "no_refund_due")
    overpaid.pay(node, 5)
    worker_once(acme.app)
    assert overpaid.now()["refund_due"] == 5
    assert settle(acme, overpaid, tx_hash).json["amount"] == 5


def test_each_refund_is_listed_under_one_status(acme, node, overpaid):
    tickets = acme.ticket()
    orders = {"due": overpaid}
    for status in ("waived", "settled", "both"):
        orders[status] = acme.buyer(tickets)
        orders[status].pay(node, PRICE + 7)
    acme.buyer(tickets).pay(node)
    worker_once(acme.app)
    settle(acme, orders["settled"], give_back(node, 7))
    settle(acme, orders["both"], give_back(node, 5))
    waive(acme, orders["both"], 2)
    waive(acme, orders["waived"], 7)
    found = {
        status: [(each["intent_id"], each["status"]) for each in listed(acme, status)]
        for status in ("due", "waived", "settled")
    }
    assert found == {
        "due": [(overpaid.intent["id"], "due")],
        "waived": [(orders[name].intent["id"], "waived") for name in ("waived", "both")],
        "settled": [(orders["settled"].intent["id"], "settled")],
    }
    assert listed(acme) == listed(acme, "due")


def test_a_part_is_settled_and_the_rest_stays_due(acme, node, overpaid):
    first, second = give_back(node, 3), give_back(node, 6)
    part = settle(acme, overpaid, first).json
    assert (part["status"], part["amount"], part["refunded"]) == ("due", 4, 3)
    rest = settle(acme, overpaid, second).json
    assert (rest["status"], rest["amount"], rest["refunded"]) == ("settled", 0, 7)


def test_an_order_shows_its_refunds(acme, node, overpaid):
    assert (overpaid.now()["refund_address"], overpaid.now()["refunds"]) == (None, [])
    state(overpaid, FRIEND_ADDRESS)
    hashes = [give_back(node, 3), give_back(node, 4, to=FRIEND_ADDRESS)]
    for tx_hash in hashes:
        settle(acme, overpaid, tx_hash)
    intent = overpaid.now()
    assert intent["refund_address"] == FRIEND_ADDRESS
    shown = [{**each, "created_at": None} for each in intent["refunds"]]
    given = zip(hashes, (3, 4), (anvil.BUYER, FRIEND_ADDRESS), strict=True)
    names = ("tx_hash", "amount", "recipient", "sender", "log_index", "created_at")
    sender = address.checksum(account(node, GIVER))
    assert shown == [dict(zip(names, (*each, sender, 0, None), strict=True)) for each in given]
    path = f"{acme.path}/intents/{intent['id']}"
    assert acme.api("read").get(path).json["refunds"] == intent["refunds"]
    assert overpaid.purchase().json["refunds"] == intent["refunds"]


def test_what_does_not_give_it_back_settles_nothing(acme, node, overpaid):
    for tx_hash in (
        "0x" + "12" * 32,
        give_back(node, 7, to=account(node, STRANGER)),
        overpaid.pay(node, 1),
    ):
        answer = settle(acme, overpaid, tx_hash)
        assert (answer.status_code, answer.json["code"]) == (409, "refund_not_seen")
    worker_once(acme.app)
    assert overpaid.now()["refund_due"] == 8


def test_a_transfer_must_be_as_deep_as_a_payment(three_deep, acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node, PRICE + 7)
    node.rpc("anvil_mine", "0x2")
    worker_once(acme.app)
    tx_hash = give_back(node, 7)
    node.rpc("anvil_mine", "0x1")
    assert settled(acme, buyer, tx_hash) == 0
    node.rpc("anvil_mine", "0x1")
    assert settled(acme, buyer, tx_hash) == 7


def test_what_is_not_final_is_neither_listed_nor_settled(three_deep, acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node, PRICE + 7)
    worker_once(acme.app)
    assert (buyer.now()["refund_due"], buyer.now()["refund_pending"]) == (7, 7)
    assert listed(acme) == []
    answer = settle(acme, buyer, give_back(node, 7))
    assert (answer.status_code, answer.json["code"]) == (409, "no_refund_due")
    assert waive(acme, buyer, 7).json["code"] == "amount_changed"


def test_a_late_payment_that_was_given_back_is_not_sold_by_a_later_one(acme, node):
    ticket = acme.ticket(capacity=1)
    late = acme.buyer(ticket)
    worker_once(acme.app)
    node.rpc("evm_increaseTime", 1000)
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    other = acme.buyer(ticket)
    late.pay(node)
    worker_once(acme.app)
    assert settle(acme, late, give_back(node, PRICE)).json["refunded"] == PRICE
    other.cancel()
    late.pay(node, 1)
    worker_once(acme.app)
    intent = late.now()
    assert (intent["status"], intent["refund_due"]) == ("expired", 1)
    late.pay(node, PRICE - 1)
    worker_once(acme.app)
    assert (late.now()["status"], late.now()["refund_due"]) == ("expired", PRICE)
    assert acme.stock(ticket) == (0, 0)


def test_a_refund_whose_block_leaves_the_chain_is_taken_back(acme, node, overpaid):
    tx_hash, transaction = refund_in_the_last_block(acme, node, overpaid)
    node.rpc("anvil_reorg", 1, [])
    worker_once(acme.app)
    assert (overpaid.now()["refund_due"], overpaid.now()["refunds"]) == (7, [])
    assert settled(acme, overpaid, tx_hash) == 0
    node.rpc("eth_sendRawTransaction", transaction)
    node.rpc("anvil_mine", "0x1")
    assert settled(acme, overpaid, tx_hash) == 7
    assert [each["tx_hash"] for each in overpaid.now()["refunds"]] == [tx_hash]


def test_only_an_admin_settles_and_only_their_own(acme, neighbour, node, overpaid):
    tx_hash = give_back(node, 7)
    assert settle(acme, overpaid, tx_hash, role="write").status_code == 403
    assert settle(neighbour, overpaid, tx_hash).status_code == 404
    assert listed(neighbour) == []


@pytest.mark.parametrize(
    "tx_hash", ["", "0x", "12" * 32, "0x" + "zz" * 32, "0x" + "AB" * 32, 1, None]
)
def test_what_is_no_transaction_hash_is_422(acme, node, overpaid, tx_hash):
    assert settle(acme, overpaid, tx_hash).status_code == 422
