"""All refunds up to an amount are waived in one call: strangers can make many of them."""

import pytest

from tests.support.console import hidden_fields, sign_in
from tests.support.factories import PRICE, cli, worker_once
from tests.support.feed import News
from tests.support.refunds import listed, overpay, waive_small
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import Waiver
from ticketing.services.payments import settlement, waivers

pytestmark = pytest.mark.sql

DUST = 7
"""What each buyer below is owed at most."""


@pytest.fixture
def dusted(acme, node):
    """The buyers of three orders that are owed 5, 7 and 9."""
    ticket = acme.ticket()
    buyers = [acme.buyer(ticket) for _ in range(3)]
    worker_once(acme.app)
    for surplus, buyer in zip((5, 7, 9), buyers, strict=True):
        buyer.pay(node, PRICE + surplus)
    worker_once(acme.app)
    assert due(acme) == [5, 7, 9]
    return buyers


def due(acme):
    return [each["amount"] for each in listed(acme)]


def test_those_up_to_the_limit_are_waived(acme, dusted):
    answer = waive_small(acme, DUST)
    assert (answer.status_code, answer.json) == (200, {"waived": 2, "amount": 12, "left": 0})
    assert due(acme) == [9]
    assert [each["waived"] for each in listed(acme, "waived")] == [5, 7]
    assert [each.now()["status"] for each in dusted] == ["confirmed"] * 3
    assert waive_small(acme, DUST).json == {"waived": 0, "amount": 0, "left": 0}
    assert "right" in cli(acme.app, "reconcile")


def test_each_waiver_is_in_the_audit_log_and_in_the_feed(acme, dusted):
    news = News(acme)
    waive_small(acme, DUST)
    entries = acme.api().get(f"{acme.path}/audit-log").json["data"]
    told = [(each["action"], each["subject"], each["after"]) for each in entries[:2]]
    assert sorted(told, key=str) == sorted(
        (
            (
                "refunds_waive_refunds",
                buyer.intent["id"],
                {"waived": amount, "reason": "less than the fee"},
            )
            for buyer, amount in zip(dusted[:2], (5, 7), strict=True)
        ),
        key=str,
    )
    recorded = [(type, data["intent_id"], data["amount"]) for type, data in news.all()]
    assert sorted(recorded) == sorted(
        ("refund.waived", buyer.intent["id"], amount)
        for buyer, amount in zip(dusted[:2], (5, 7), strict=True)
    )


def test_an_order_with_pending_money_is_left_out(three_deep, acme, node):
    """Now it owes little. With what is pending, it owes more."""
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node, PRICE + DUST)
    node.rpc("anvil_mine", "0x2")
    worker_once(acme.app)
    buyer.pay(node, PRICE)
    worker_once(acme.app)
    assert due(acme) == [DUST] and buyer.now()["refund_due"] == PRICE + DUST
    assert waive_small(acme, DUST).json == {"waived": 0, "amount": 0, "left": 0}
    node.rpc("anvil_mine", "0x2")
    worker_once(acme.app)
    assert waive_small(acme, DUST).json["waived"] == 0
    assert due(acme) == [PRICE + DUST]


def test_a_call_waives_some_the_largest_first_and_says_what_is_left(acme, dusted, monkeypatch):
    monkeypatch.setattr(waivers, "WAIVED_AT_ONCE", 2)
    assert waive_small(acme, 9).json == {"waived": 2, "amount": 16, "left": 1}
    assert due(acme) == [5]
    assert waive_small(acme, 9).json == {"waived": 1, "amount": 5, "left": 0}


def test_a_repeat_with_the_same_key_waives_nothing_more(acme, node, dusted, monkeypatch):
    monkeypatch.setattr(waivers, "WAIVED_AT_ONCE", 1)
    admin = acme.with_headers({"X-API-Key": acme.admin_key, "Idempotency-Key": "k"})
    body = {"max_amount": DUST, "reason": "fees"}
    answers = [admin.post(f"{acme.path}/refunds/waive", body) for _ in range(2)]
    assert answers[0].json == answers[1].json == {"waived": 1, "amount": 7, "left": 1}
    assert answers[1].headers["Idempotent-Replayed"] == "true"
    assert Waiver.select().count() == 1


def test_an_order_that_cannot_be_settled_stops_no_other(acme, dusted, monkeypatch):
    broken = PaymentIntent.id == dusted[1].intent["id"]
    enter = settlement.enter

    def fail_for_one(intent, *arguments, **columns):
        enter(intent, *arguments, **columns)
        if intent.id == dusted[1].intent["id"]:
            raise LookupError("made to fail")

    monkeypatch.setattr(settlement, "enter", fail_for_one)
    assert waive_small(acme, DUST).json == {"waived": 1, "amount": 5, "left": 0}
    assert PaymentIntent.get(broken).set_aside_until is not None
    assert Waiver.select().count() == 1


def test_only_an_admin_waives_only_their_own_and_those_of_a_chain(acme, neighbour, node, dusted):
    assert waive_small(acme, DUST, role="write").status_code == 403
    theirs = overpay(neighbour, node)
    assert waive_small(acme, DUST, chain_id=8453).json["waived"] == 0
    assert waive_small(acme, DUST, chain_id=31337).json["waived"] == 2
    assert theirs.now()["refund_due"] == 7


@pytest.mark.parametrize(
    "body",
    [{}, {"max_amount": 7}, {"reason": "x"}, {"max_amount": 0, "reason": "x"}],
)
def test_a_limit_and_a_reason_are_required(acme, body):
    assert acme.api().post(f"{acme.path}/refunds/waive", body).status_code == 422
    assert listed(acme) == []


def test_the_console_shows_them_before_it_waives_them(acme, dusted, monkeypatch):
    monkeypatch.setattr(waivers, "WAIVED_AT_ONCE", 1)
    console = sign_in(acme)
    assert "/console/refunds/waive" in console.get("/console/refunds").text
    page = console.get("/console/refunds/waive?most=0.000007").text
    assert "<dd>2</dd>" in page and "0.000012 USDC" in page and due(acme) == [5, 7, 9]
    form = {"max_amount": hidden_fields(page)["max_amount"]}
    refused = console.send("/console/refunds/waive", form)
    assert refused.status_code == 422 and "0.000012 USDC" in refused.text
    sent = console.send("/console/refunds/waive", {**form, "reason": "fees"})
    assert sent.headers["Location"] == "/console/refunds/waive?most=0.000007&chain_id=#waived"
    assert due(acme) == [5, 9]
    page = console.get(sent.headers["Location"]).text
    assert "<dd>1</dd>" in page and "0.000005 USDC" in page
    form |= {"reason": "fees", "idempotency_key": hidden_fields(page)["idempotency_key"]}
    console.send("/console/refunds/waive", form)
    assert due(acme) == [9]
    assert "None of that amount" in console.get("/console/refunds/waive?most=0.000007").text
    assert "danger" not in console.get("/console/refunds/waive?most=x").text


def test_only_an_admin_waives_them_in_the_console(acme, dusted):
    writer = sign_in(acme, "write", "writer@example.org")
    assert "/console/refunds/waive" not in writer.get("/console/refunds").text
    form = {"max_amount": "0.000007", "reason": "fees"}
    assert writer.send("/console/refunds/waive", form).status_code == 403
    assert due(acme) == [5, 7, 9]
