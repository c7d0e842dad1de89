"""What a list of an account would have, before it is made. Nothing is stored."""

import pytest

from tests.support.factories import CHAIN, worker_once
from tests.support.json_schema import check
from tests.support.payouts import (
    OTHER,
    PAYER,
    ask,
    end_lists,
    fund,
    listed,
    mark,
    owed,
    sign,
    with_address,
)
from tests.support.refunds import account
from ticketing.chain import address, receivers
from ticketing.models.payments import Payment
from ticketing.models.payouts import Payout
from tools import anvil

NOTHING = {"orders": 0, "amount": 0}

pytestmark = pytest.mark.usefixtures("node")


@pytest.fixture
def venue(app, node):
    """An organizer whose wallet is an ordinary address. Two accounts can pay its refunds."""
    venue = with_address(app, node)
    fund(node, 500), fund(node, 500, OTHER)
    return venue


def preview(venue, node, index=PAYER, role="admin", **query):
    asked = {"chain_id": CHAIN, "payer": account(node, index), **query}
    return venue.api(role).get(f"{venue.path}/payouts/preview", query_string=asked)


def reasons(found):
    return [(each["intent_id"], each["amount"], each["reason"]) for each in found["blocked"]]


def previewed(venue, node, index=PAYER):
    answer = preview(venue, node, index)
    assert answer.status_code == 200, answer.json
    return answer.json


def test_a_preview_has_what_to_look_at_and_stores_nothing(app, api, node, venue):
    buyer, by_hand = owed(venue, node, 7, 9)
    mark(venue, by_hand)
    found = previewed(venue, node)
    (order,), paid = found["orders"], Payment.get(Payment.intent == buyer.intent["id"])
    assert {name: order[name] for name in ("intent_id", "amount", "to", "witnessed", "ids")} == {
        "intent_id": buyer.intent["id"],
        "amount": 7,
        "to": anvil.BUYER,
        "witnessed": False,
        "ids": [],
    }
    (seen,) = order["payments"]
    assert {**seen, "block_time": None} == {
        "tx_hash": paid.tx_hash,
        "log_index": paid.log_index,
        "block_number": paid.block_number,
        "block_hash": paid.block_hash,
        "block_time": None,
        "address": buyer.intent["address"],
        "atomic_amount": str(buyer.intent["amount"] + 7),
    }
    assert (found["payer"], found["factory"]) == (
        address.checksum(account(node, PAYER)),
        receivers.FACTORY,
    )
    assert reasons(found) == [(by_hand.intent["id"], 9, "by_hand")]
    assert (found["listed_for_another"], found["unbooked"], found["left"]) == ([], [], NOTHING)
    assert Payout.select().count() == 0
    document = api.get("/openapi.json").json
    path = "/v1/admin/tenants/{tenant}/payouts/preview"
    content = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
    check(document, content["schema"], found, path)


def test_a_preview_has_the_ids_of_earlier_lists(app, node, venue, monkeypatch):
    (buyer,) = owed(venue, node, 7)
    of_list = listed(venue, node)
    used = {"payer": of_list["payer"], "id": of_list["payments"][0]["id"]}
    assert [each["ids"] for each in previewed(venue, node)["orders"]] == [[used]]
    for_other = previewed(venue, node, OTHER)
    assert (for_other["orders"], for_other["left"]) == ([], NOTHING)
    assert [each["payer"] for each in for_other["listed_for_another"]] == [of_list["payer"]]
    end_lists(node, monkeypatch)
    worker_once(app)
    assert [each["ids"] for each in previewed(venue, node, OTHER)["orders"]] == [[used]]
    sign(node, listed(venue, node, OTHER), OTHER)
    worker_once(app)
    assert buyer.now()["refund_due"] == 0
    assert previewed(venue, node)["orders"] == []


def test_only_the_orders_that_are_named_are_listed(app, node, venue, acme):
    first, second = owed(venue, node, 7, 9)
    foreign = acme.buyer(acme.ticket(price_amount=0, chain_id=None))
    for nobody in ("pi_" + "0" * 26, foreign.intent["id"]):
        of_list = ask(venue, node, only=[second.intent["id"], nobody]).json
        assert [each["intent_id"] for each in of_list["payments"]] == [second.intent["id"]]
        assert reasons(of_list) == [(first.intent["id"], 7, "not_chosen")]
        assert of_list["left"] == NOTHING
    assert Payout.select().count() == 1


def test_without_a_second_witness_nothing_is_listed_unless_it_is_accepted(node, venue):
    (buyer,) = owed(venue, node, 7)
    of_list = ask(venue, node, accept_unwitnessed=False).json
    assert of_list["payments"] == of_list["transactions"] == []
    assert reasons(of_list) == [(buyer.intent["id"], 7, "unwitnessed")]
    assert Payout.select().count() == 0
    Payment.update(witnessed=True).execute()
    assert ask(venue, node, accept_unwitnessed=False).json["sum"] == 7
    assert [each["payments"] for each in previewed(venue, node)["orders"]] == [[]]


def test_only_those_who_may_pay_see_a_preview(node, venue):
    assert preview(venue, node, role="write").status_code == 403
    for query, field in (({"chain_id": 1}, "chain_id"), ({"payer": anvil.TOKEN_ADDRESS}, "payer")):
        answer = preview(venue, node, **query)
        assert (answer.status_code, list(answer.json["errors"])) == (422, [field])
