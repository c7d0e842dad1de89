"""Purchase: read the chain now, and settle."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.factories import PRICE, worker_once
from ticketing.db.connection import database

pytestmark = pytest.mark.sql


def test_a_paid_intent_is_confirmed_with_one_admission_per_seat(acme, node):
    ticket = acme.ticket(acme.event(online_join_url="https://meet.example.org/x"))
    buyer = acme.buyer(ticket, quantity=3)
    buyer.pay(node)

    answer = buyer.purchase()

    assert answer.status_code == 200
    assert answer.json["status"] == "confirmed"
    assert answer.json["confirmed_at"] is not None
    assert answer.json["amount_received"] == 3 * PRICE
    assert answer.json["amount_due"] == answer.json["refund_due"] == 0
    assert answer.json["payment_uri"] is None
    assert answer.json["online_join_url"] == "https://meet.example.org/x"
    codes = {admission["code"] for admission in answer.json["admissions"]}
    assert len(codes) == 3
    assert min(map(len, codes)) >= 16
    assert acme.stock(ticket) == (0, 3)


def test_asked_again_it_answers_the_same_admissions(acme, node):
    buyer = acme.buyer(acme.ticket(), quantity=2)
    buyer.pay(node)
    first, second = buyer.purchase(), buyer.purchase()
    assert first.json == second.json


def test_a_confirmed_purchase_needs_no_chain(acme, node):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    buyer.purchase()
    node.stop()
    assert buyer.purchase().status_code == 200


def test_many_purchases_at_once_issue_once(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket, quantity=2)
    buyer.pay(node)

    def purchase(_):
        try:
            return buyer.purchase()
        finally:
            database.close()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(purchase, range(16)))

    # While one request reads the chain for this order, the others are asked to retry.
    assert 200 in {answer.status_code for answer in answers} <= {200, 503}
    answers = [buyer.purchase(), *(each for each in answers if each.status_code == 200)]
    assert len({str(answer.json["admissions"]) for answer in answers}) == 1
    assert acme.stock(ticket) == (0, 2)


def test_before_anything_arrived_it_is_402_and_says_what_to_pay(acme, node):
    buyer = acme.buyer(acme.ticket())
    answer = buyer.purchase()
    assert (answer.status_code, answer.json["code"]) == (402, "payment_required")
    assert answer.content_type == "application/problem+json"
    assert answer.json["intent"]["amount_due"] == PRICE
    assert "client_secret" not in answer.json["intent"]


def test_a_part_leaves_the_rest_due_on_the_same_address(acme, node):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node, PRICE - 1)
    answer = buyer.purchase()
    assert answer.status_code == 402
    intent = answer.json["intent"]
    assert intent["status"] == "awaiting_payment"
    assert intent["flags"] == ["underpaid"]
    assert (intent["amount_received"], intent["amount_due"]) == (PRICE - 1, 1)
    assert intent["address"] == buyer.intent["address"]
    assert intent["payment_uri"].endswith("uint256=1")
    buyer.pay(node, 1)
    assert buyer.purchase().json["flags"] == []


def test_too_much_sells_once_and_the_rest_is_refund_due(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    buyer.pay(node, PRICE + 7)
    answer = buyer.purchase()
    assert answer.status_code == 200
    assert (answer.json["refund_due"], answer.json["flags"]) == (7, ["overpaid"])
    assert acme.stock(ticket) == (0, 1)


def test_it_is_processing_until_the_payment_is_deep_enough(three_deep, acme, node):
    buyer = acme.buyer(acme.ticket(acme.event(online_join_url="https://meet.example.org/x")))
    buyer.pay(node)
    for _ in range(2):
        answer = buyer.purchase()
        assert answer.status_code == 202
        assert answer.json["status"] == "processing"
        assert answer.json["admissions"] == []
        assert answer.json["online_join_url"] is None
        node.rpc("anvil_mine", "0x1")
    answer = buyer.purchase()
    assert (answer.status_code, answer.json["confirmations"]) == (200, 3)


def test_a_free_order_needs_no_chain_and_no_address(acme):
    ticket = acme.ticket(price_amount=0, chain_id=None)
    buyer = acme.buyer(ticket, quantity=2)
    for name in ("chain_id", "address", "token_address", "atomic_amount", "payment_uri"):
        assert buyer.intent[name] is None
    assert acme.stock(ticket) == (2, 0)
    answer = buyer.purchase()
    assert answer.status_code == 200
    assert len(answer.json["admissions"]) == 2
    assert buyer.purchase().json == answer.json
    assert acme.stock(ticket) == (0, 2)


def test_an_expired_intent_is_410_and_released(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    node.rpc("evm_increaseTime", 1000)
    node.rpc("anvil_mine", "0x1")
    answer = buyer.purchase()
    assert (answer.status_code, answer.json["code"]) == (410, "intent_expired")
    assert acme.stock(ticket) == (0, 0)


def test_a_chain_that_cannot_be_seen_is_503_and_nothing_changes(acme):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    answer = buyer.purchase()
    assert (answer.status_code, answer.json["code"]) == (503, "chain_unavailable")
    assert answer.headers["Retry-After"]
    assert buyer.now()["status"] == "awaiting_payment"
    assert acme.stock(ticket) == (1, 0)


def test_the_worker_does_the_same_without_being_asked(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"
    assert acme.stock(ticket) == (0, 1)
    assert len(buyer.purchase().json["admissions"]) == 1


def test_the_organizer_sees_payments_and_admissions_without_codes(acme, node):
    buyer = acme.buyer(acme.ticket(), quantity=2)
    tx_hash = buyer.pay(node)
    code = buyer.purchase().json["admissions"][0]["code"]
    answer = acme.api("read").get(f"{acme.path}/intents/{buyer.intent['id']}")
    (payment,) = answer.json["payments"]
    assert payment["tx_hash"] == tx_hash
    assert payment["amount"] == 2 * PRICE
    assert payment["canonical"] is True
    assert len(answer.json["admissions"]) == 2
    assert code not in answer.text
