"""A refund that is not sent back is written off; that ends with the payments it was due for."""

import pytest

from tests.support.factories import PRICE, cli, worker_once
from tests.support.refunds import give_back, listed, overpay, settled, waive
from ticketing.models.refunds import Waiver


def test_what_is_waived_is_no_longer_due(acme, node, overpaid):
    answer = waive(acme, overpaid, 7)
    assert answer.status_code == 200
    assert answer.json["status"] == "waived"
    assert (answer.json["amount"], answer.json["waived"], answer.json["refunded"]) == (0, 7, 0)
    assert (listed(acme), overpaid.now()["refund_due"]) == ([], 0)
    assert overpaid.now()["status"] == "confirmed"
    assert "right" in cli(acme.app, "reconcile")


def test_it_is_refused_unless_the_amount_is_what_is_due_now(acme, node, overpaid):
    """The organizer decides about an amount that they saw, not about one that grew since."""
    for amount in (6, 8):
        answer = waive(acme, overpaid, amount)
        assert (answer.status_code, answer.json["code"]) == (409, "amount_changed")
    overpaid.pay(node, 1)
    worker_once(acme.app)
    assert waive(acme, overpaid, 7).json["code"] == "amount_changed"
    assert settled(acme, overpaid, give_back(node, 3)) == 3
    assert waive(acme, overpaid, 5).json["waived"] == 5
    again = waive(acme, overpaid, 5)
    assert (again.status_code, again.json["code"]) == (409, "amount_changed")
    assert Waiver.select().count() == 1


def test_money_that_comes_later_is_due_again(acme, node, overpaid):
    waive(acme, overpaid, 7)
    older = give_back(node, 5)
    overpaid.pay(node, 5)
    worker_once(acme.app)
    assert overpaid.now()["refund_due"] == 5
    assert settled(acme, overpaid, older) == 0
    assert settled(acme, overpaid, give_back(node, 5)) == 5


def test_a_repeat_with_its_key_waives_once(acme, node, overpaid):
    path = f"{acme.path}/refunds/{overpaid.intent['id']}/waive"
    body, headers = {"amount": 7, "reason": "no answer"}, {"Idempotency-Key": "the-same"}
    first, again = (acme.api().post(path, body, headers=headers) for _ in range(2))
    assert first.status_code == again.status_code == 200
    assert first.json == again.json
    assert again.headers["Idempotent-Replayed"] == "true"
    query = {"subject": overpaid.intent["id"]}
    (entry,) = acme.api().get(f"{acme.path}/audit-log", query_string=query).json["data"]
    assert (entry["before"], entry["after"]) == (
        {"waived": 0},
        {"waived": 7, "reason": "no answer"},
    )


def overpaid_in_the_last_block(acme, node):
    """A buyer whose second payment is too much, and its transaction. The chain can lose it."""
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    node.rpc("anvil_mine", "0x3")
    transaction = node.rpc("eth_getRawTransactionByHash", buyer.pay(node, 7))
    worker_once(acme.app)
    return buyer, transaction


def test_it_ends_with_the_payments_that_it_waived(acme, node):
    buyer, transaction = overpaid_in_the_last_block(acme, node)
    assert waive(acme, buyer, 7).status_code == 200
    node.rpc("anvil_reorg", 1, [])
    worker_once(acme.app)
    now = buyer.now()
    assert (now["status"], now["amount_received"], now["refund_due"]) == ("confirmed", PRICE, 0)
    node.rpc("eth_sendRawTransaction", transaction)
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    # It is in a later block now, so it is money that nobody has waived.
    assert (buyer.now()["amount_received"], buyer.now()["refund_due"]) == (PRICE + 7, 7)
    assert listed(acme)[0]["waived"] == 0
    assert waive(acme, buyer, 7).json["waived"] == 7


def test_it_holds_again_if_its_payments_return_to_their_block(acme, node):
    buyer, transaction = overpaid_in_the_last_block(acme, node)
    waive(acme, buyer, 7)
    node.rpc("anvil_reorg", 1, [])
    worker_once(acme.app)
    node.rpc("anvil_reorg", 1, [[transaction, 0]])
    worker_once(acme.app)
    assert (buyer.now()["amount_received"], buyer.now()["refund_due"]) == (PRICE + 7, 0)


def test_only_an_admin_waives_and_only_their_own(acme, neighbour, node, overpaid):
    assert waive(acme, overpaid, 7, role="write").status_code == 403
    assert waive(neighbour, overpaid, 7).status_code == 404
    other = overpay(neighbour, node)
    assert waive(acme, other, 7).status_code == 404


@pytest.mark.parametrize(
    "body",
    [{}, {"amount": 7}, {"reason": "x"}, {"amount": 0, "reason": "x"}, {"amount": 7, "reason": ""}],
)
def test_an_amount_and_a_reason_are_required(acme, node, overpaid, body):
    path = f"{acme.path}/refunds/{overpaid.intent['id']}/waive"
    assert acme.api().post(path, body).status_code == 422
