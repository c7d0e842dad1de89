"""Refunds owed: listed, and settled only by a transfer that is seen on the chain."""

import pytest

from tests.support.factories import PRICE, worker_once
from tools import anvil


@pytest.fixture
def overpaid(acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node, PRICE + 7)
    worker_once(acme.app)
    return buyer


def settle(organizer, buyer, tx_hash, role="admin"):
    path = f"{organizer.path}/refunds/{buyer.intent['id']}/settle"
    return organizer.api(role).post(path, {"tx_hash": tx_hash})


def give_back(node, amount, to=anvil.BUYER):
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, node.rpc("eth_accounts")[5], amount)
    return anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, to, amount, sender=5)["transactionHash"]


def test_it_lists_what_is_due_to_whom_for_which_intent(acme, node, overpaid):
    acme.buyer(acme.ticket())
    (refund,) = acme.api("read").get(f"{acme.path}/refunds").json["data"]
    assert refund == {
        "intent_id": overpaid.intent["id"],
        "amount": 7,
        "refunded": 0,
        "currency": "USDC",
        "chain_id": 31337,
        "token_address": anvil.TOKEN_ADDRESS,
        "status": "due", "waived": 0, "refund_address": None,
        "payers": [{"sender": anvil.BUYER, "amount": PRICE + 7}],
    }


def test_a_transfer_that_is_seen_settles_it_once_and_for_good(acme, node, overpaid):
    tx_hash = give_back(node, 7)
    first, again = settle(acme, overpaid, tx_hash), settle(acme, overpaid, tx_hash)
    assert first.status_code == again.status_code == 200
    assert first.json == again.json
    assert (first.json["amount"], first.json["refunded"]) == (0, 7)
    assert acme.api("read").get(f"{acme.path}/refunds").json["data"] == []
    assert overpaid.now()["refund_due"] == 0
    other = settle(acme, overpaid, give_back(node, 7))
    assert (other.status_code, other.json["code"]) == (409, "no_refund_due")
    overpaid.pay(node, 5)
    worker_once(acme.app)
    assert overpaid.now()["refund_due"] == 5


def test_what_does_not_give_it_back_settles_nothing(acme, node, overpaid):
    stranger = node.rpc("eth_accounts")[7]
    for tx_hash in (
        "0x" + "12" * 32,
        give_back(node, 6),
        give_back(node, 7, to=stranger),
        overpaid.pay(node, 1),
    ):
        answer = settle(acme, overpaid, tx_hash)
        assert (answer.status_code, answer.json["code"]) == (409, "refund_not_seen")
    worker_once(acme.app)
    assert overpaid.now()["refund_due"] == 8


def test_one_transfer_settles_one_refund(acme, node, overpaid):
    ticket = acme.ticket()
    other = acme.buyer(ticket)
    other.pay(node, PRICE + 7)
    worker_once(acme.app)
    tx_hash = give_back(node, 7)
    assert settle(acme, overpaid, tx_hash).status_code == 200
    answer = settle(acme, other, tx_hash)
    assert (answer.status_code, answer.json["code"]) == (409, "refund_not_seen")
    assert other.now()["refund_due"] == 7


def test_a_transfer_that_another_tenant_counted_is_answered_like_one_that_gives_too_little(
    acme, neighbour, node, overpaid
):
    theirs = neighbour.buyer(neighbour.ticket())
    theirs.pay(node, PRICE + 7)
    worker_once(acme.app)
    counted, too_little = give_back(node, 7), give_back(node, 6)
    assert settle(acme, overpaid, counted).status_code == 200
    answers = [settle(neighbour, theirs, tx_hash).json for tx_hash in (counted, too_little)]
    told = [{**answer, "request_id": None} for answer in answers]
    assert told[0] == told[1] and told[0]["code"] == "refund_not_seen"


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


def test_only_an_admin_settles_and_only_their_own(acme, neighbour, node, overpaid):
    tx_hash = give_back(node, 7)
    assert settle(acme, overpaid, tx_hash, role="write").status_code == 403
    assert settle(neighbour, overpaid, tx_hash).status_code == 404
    assert neighbour.api().get(f"{neighbour.path}/refunds").json["data"] == []


@pytest.mark.parametrize(
    "tx_hash", ["", "0x", "12" * 32, "0x" + "zz" * 32, "0x" + "AB" * 32, 1, None]
)
def test_what_is_no_transaction_hash_is_422(acme, node, overpaid, tx_hash):
    assert settle(acme, overpaid, tx_hash).status_code == 422
