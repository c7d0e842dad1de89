"""An id of a list that was used for something else: it holds its order back until someone says so.

An administrator settles the payment for the order, or passes the id over.
"""

import pytest

from tests.support.factories import CHAIN, cli, worker_once
from tests.support.payouts import (
    OTHER,
    PAYER,
    end_lists,
    fund,
    listed,
    owed,
    pay_with_id,
    sign,
    with_address,
)
from tests.support.refunds import FRIEND_ADDRESS, account, settled
from ticketing.chain import address
from ticketing.models.payouts import PassedId
from ticketing.models.refunds import Refund
from tools import anvil

OTHERWISE = {
    "another payee": {"to": FRIEND_ADDRESS},
    "less": {"atomic": 6},
    "more": {"atomic": 8},
}

pytestmark = pytest.mark.usefixtures("node")


@pytest.fixture
def venue(app, node):
    """An organizer whose wallet is an ordinary address. Two accounts can pay its refunds."""
    venue = with_address(app, node)
    fund(node, 500), fund(node, 500, OTHER)
    return venue


def due(buyer):
    return buyer.now()["refund_due"]


def pass_over(venue, buyer, used, role="admin", **fields):
    """Say that an id was used for something else, and return the answer."""
    path = f"{venue.path}/refunds/{buyer.intent['id']}/pass-over"
    body = {
        "payer": used["payer"],
        "payment_id": used.get("payment_id") or used["payments"][0]["id"],
        "reason": "A test payment of ours.",
        **fields,
    }
    return venue.api(role).post(path, body)


def refused(answer, code):
    return (answer.status_code, answer.json["code"]) == (409, code)


@pytest.mark.parametrize("otherwise", OTHERWISE.values(), ids=OTHERWISE)
def test_real_money_of_a_payer_with_an_id_listed_for_them_holds_the_order_back(
    app, node, venue, monkeypatch, otherwise
):
    (buyer,) = owed(venue, node, 7)
    of_list = listed(venue, node)
    tx_hash = pay_with_id(node, of_list, **otherwise)
    worker_once(app)
    assert due(buyer) == 7
    held = {
        "intent_id": buyer.intent["id"],
        "amount": 7,
        "reason": "paid_elsewhere",
        "until": None,
        "tx_hash": tx_hash,
        "payer": of_list["payer"],
        "payment_id": of_list["payments"][0]["id"],
    }
    for payer in (PAYER, OTHER):
        again = listed(venue, node, payer)
        assert (again["payments"], again["blocked"]) == ([], [held])
        (kept,) = again["unbooked"]
        assert (kept["reason"], kept["tx_hash"]) == ("other_payment", tx_hash)
    # The list may still be paid, so nobody can say yet that it was not for this.
    assert refused(pass_over(venue, buyer, held), "refund_listed")
    end_lists(node, monkeypatch)
    worker_once(app)
    assert listed(venue, node)["blocked"] == [held]
    assert pass_over(venue, buyer, held).status_code == 200
    again = listed(venue, node)
    assert (again["blocked"], again["unbooked"]) == ([], [])
    assert again["payments"][0]["id"] != held["payment_id"]
    sign(node, again)
    worker_once(app)
    assert due(buyer) == 0
    assert [each.amount for each in Refund.select()] == [7]
    assert "right" in cli(app, "reconcile")


def test_a_payment_that_holds_the_order_back_can_be_settled(app, node, venue):
    (buyer,) = owed(venue, node, 7)
    tx_hash = pay_with_id(node, listed(venue, node), atomic=6)
    worker_once(app)
    assert [each["reason"] for each in listed(venue, node)["blocked"]] == ["paid_elsewhere"]
    assert settled(venue, buyer, tx_hash) == 6
    worker_once(app)
    again = listed(venue, node)
    assert ([each["amount"] for each in again["payments"]], again["blocked"]) == ([1], [])
    assert again["unbooked"] == []


def test_an_id_whose_payment_nobody_knows_is_passed_over(bad_node, app, node, venue, monkeypatch):
    """The node's logs lack the event. The factory says that the id is used."""
    (buyer,) = owed(venue, node, 7)
    of_list = listed(venue, node)
    pay_with_id(node, of_list, to=FRIEND_ADDRESS)
    bad_node.rules.append(
        lambda question, answer: (
            {**answer, "result": []} if question["method"] == "eth_getLogs" else answer
        )
    )
    worker_once(app)
    for payer in (PAYER, OTHER):
        assert listed(venue, node, payer)["payments"] == []
    (used,) = listed(venue, node)["blocked"]
    assert (used["reason"], used["tx_hash"], used["payer"]) == (
        "already_paid",
        None,
        of_list["payer"],
    )
    end_lists(node, monkeypatch)
    worker_once(app)
    assert [each["reason"] for each in listed(venue, node, OTHER)["blocked"]] == ["already_paid"]
    assert pass_over(venue, buyer, used).status_code == 200
    (payment,) = listed(venue, node)["payments"]
    assert payment["id"] != used["payment_id"]


def test_passing_over_is_in_the_audit_log_once(app, node, venue):
    (buyer,) = owed(venue, node, 7)
    used = {**listed(venue, node), "payer": address.checksum(account(node, OTHER))}
    for _ in range(2):
        assert pass_over(venue, buyer, used).status_code == 200
    entry, *_ = venue.api().get(f"{venue.path}/audit-log").json["data"]
    assert (entry["action"], entry["subject"]) == ("passed_ids_pass_over_id", buyer.intent["id"])
    assert entry["after"] == {
        "payer": used["payer"],
        "payment_id": used["payments"][0]["id"],
        "reason": "A test payment of ours.",
    }
    log = venue.api().get(f"{venue.path}/audit-log").json["data"]
    assert [each["action"] for each in log].count(entry["action"]) == 1


def test_only_an_admin_passes_over_and_only_an_id_of_the_order(app, node, venue, acme):
    first, second = owed(venue, node, 7, 9)
    of_list = listed(venue, node)
    theirs = {**of_list, "payer": account(node, OTHER)}
    assert pass_over(venue, first, theirs, role="write").status_code == 403
    assert pass_over(acme, first, theirs).status_code == 404
    for payment_id in (of_list["payments"][1]["id"], "0x" + "ab" * 32):
        answer = pass_over(venue, first, theirs, payment_id=payment_id)
        assert (answer.status_code, answer.json["code"]) == (404, "not_found")
    assert pass_over(venue, first, theirs, payer="0x12").status_code == 422
    assert pass_over(venue, first, theirs, chain_id=CHAIN + 1).status_code == 409
    assert PassedId.select().count() == 0
    passed = pass_over(venue, second, theirs, payment_id=of_list["payments"][1]["id"])
    assert (passed.status_code, passed.json["amount"]) == (200, 9)


def test_a_free_order_has_no_id_to_pass_over(app, node, venue):
    buyer = venue.buyer(venue.ticket(price_amount=0, chain_id=None))
    path = f"{venue.path}/refunds/{buyer.intent['id']}/pass-over"
    body = {"payer": anvil.BUYER, "payment_id": "0x" + "ab" * 32, "reason": "none"}
    answer = venue.api().post(path, body)
    assert (answer.status_code, answer.json["code"]) == (409, "no_refund_due")
