"""Payment intents and refunds: each fact has one notification."""

import pytest

from tests.support.carts import buyer_of, shop_of_two
from tests.support.fact_triggers import NOTED
from tests.support.factories import PRICE, worker_once
from tests.support.feed import News, recorded
from tests.support.refunds import (
    FRIEND_ADDRESS,
    STRANGER_ADDRESS,
    give_back,
    overpay,
    pass_hours,
    settle,
    state,
    waive,
)
from ticketing.constants import IntentStatus
from ticketing.models.payment_intents import PaymentIntent
from ticketing.notification_types import NotificationType
from ticketing.services.payments import settlement

pytestmark = pytest.mark.sql

CHAIN = 31337


@pytest.fixture
def news(acme):
    return News(acme)


def of_order(news, buyer):
    """The types and statuses of what is new about one order."""
    return [
        (type, data.get("status"))
        for type, data in news.all()
        if data.get("intent_id") == buyer.intent["id"]
    ]


def test_an_order_is_created_seen_and_confirmed(three_deep, app, acme, node, news):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket, quantity=2, buyer={"email": "ada@example.com", "name": "Ada"})
    worker_once(app)
    buyer.pay(node)
    for _ in range(2):
        worker_once(app)
    node.rpc("anvil_mine", "0x3")
    for _ in range(2):
        worker_once(app)
        buyer.purchase()
    about = [(type, data) for type, data in news.all() if "intent_id" in data]
    assert [type for type, _ in about] == [
        "intent.created",
        "intent.processing",
        "intent.confirmed",
        "admission.issued",
        "admission.issued",
    ]
    assert about[2][1] == {
        "intent_id": buyer.intent["id"],
        "event_id": ticket["event_id"],
        "ticket_id": ticket["id"],
        "items": [{"ticket_id": ticket["id"], "quantity": 2}],
        "status": "confirmed",
        "final": True,
        "flags": [],
        "quantity": 2,
        "amount": 2 * PRICE,
        "amount_received": 2 * PRICE,
        "currency": "USDC",
        "chain_id": CHAIN,
    }


def test_an_order_of_several_types_names_all_and_no_only_one(app, acme, node, news):
    ticket, shirt = shop_of_two(acme)
    worker_once(app)
    buyer = buyer_of(acme, (shirt, 1), (ticket, 2))
    assert buyer.cancel().status_code == 200
    for _, data in (each for each in news.all() if "intent_id" in each[1]):
        assert data["ticket_id"] is None and data["quantity"] == 3
        assert data["items"] == [
            {"ticket_id": shirt["id"], "quantity": 1},
            {"ticket_id": ticket["id"], "quantity": 2},
        ]


def test_the_feed_has_no_personal_data_and_no_secret(app, acme, node, news):
    buyer = acme.buyer(acme.ticket(), buyer={"email": "ada@example.com", "name": "Lovelace"})
    worker_once(app)
    buyer.pay(node, PRICE + 7)
    worker_once(app)
    state(buyer, FRIEND_ADDRESS)
    codes = [each["code"] for each in buyer.purchase().json["admissions"]]
    told = repr(news.all())
    assert "refund.address_changed" in told
    for secret in ("ada@", "Lovelace", buyer.intent["address"], FRIEND_ADDRESS, *codes):
        assert secret not in told


def test_an_order_expires_and_a_canceled_one_is_recorded_once(app, acme, node, news):
    ticket = acme.ticket()
    worker_once(app)
    unpaid, given_up = acme.buyer(ticket), acme.buyer(ticket)
    for _ in range(2):
        assert given_up.cancel().status_code == 200
    pass_hours(node, 1)
    for _ in range(2):
        worker_once(app)
    happened = [(type, data["intent_id"]) for type, data in news.all() if "intent_id" in data]
    assert happened == [
        ("intent.created", unpaid.intent["id"]),
        ("intent.created", given_up.intent["id"]),
        ("intent.canceled", given_up.intent["id"]),
        ("intent.expired", unpaid.intent["id"]),
    ]


def test_an_order_that_waits_again_after_a_reorganization_has_no_notification_of_that(
    three_deep, app, acme, node, news
):
    buyer = acme.buyer(acme.ticket())
    worker_once(app)
    buyer.pay(node)
    worker_once(app)
    node.rpc("anvil_reorg", 1, [])
    worker_once(app)
    assert buyer.now()["status"] == "awaiting_payment"
    assert of_order(news, buyer) == [
        ("intent.created", "awaiting_payment"),
        ("intent.processing", "processing"),
    ]


def test_a_reversed_order_is_recorded_and_its_admissions_are_not(app, acme, node, news):
    buyer = acme.buyer(acme.ticket())
    worker_once(app)
    buyer.pay(node)
    worker_once(app)
    node.rpc("anvil_reorg", 2, [])
    worker_once(app)
    assert buyer.now()["status"] == "reversed"
    assert of_order(news, buyer) == [
        ("intent.created", "awaiting_payment"),
        ("intent.confirmed", "confirmed"),
        ("admission.issued", "valid"),
        ("intent.reversed", "reversed"),
    ]


def test_a_refund_is_due_once_and_settled_and_due_again(app, acme, node, news):
    buyer = overpay(acme, node, surplus=7)
    due = [data for type, data in news.all() if type == "refund.due"]
    order = {"intent_id": buyer.intent["id"], "event_id": buyer.intent["event_id"]}
    of_home = {"chain_id": CHAIN, "token_address": buyer.intent["token_address"]}
    in_usdc = {"currency": "USDC", **of_home}
    assert due == [{**order, "amount": 7, **in_usdc}]
    buyer.pay(node, 3)
    worker_once(app)
    assert "refund.due" not in news.types()
    tx_hash = give_back(node, 10)
    worker_once(app)
    for _ in range(2):
        assert settle(acme, buyer, tx_hash).status_code == 200
    assert news.all() == [
        (
            "refund.settled",
            {**order, "amount": 10, **in_usdc, "tx_hash": tx_hash, "automatic": False},
        )
    ]
    buyer.pay(node, 2)
    worker_once(app)
    assert news.all() == [("refund.due", {**order, "amount": 2, **in_usdc})]


def test_a_refund_of_a_payment_that_is_not_final_is_due_later(three_deep, app, acme, node, news):
    buyer = acme.buyer(acme.ticket())
    worker_once(app)
    assert buyer.cancel().status_code == 200
    buyer.pay(node)
    worker_once(app)
    assert "refund.due" not in news.types()
    node.rpc("anvil_mine", "0x3")
    worker_once(app)
    ((type, data),) = news.all()
    assert (type, data["amount"]) == ("refund.due", PRICE)


def test_a_waiver_and_each_new_address_are_recorded(app, acme, node, news):
    buyer = overpay(acme, node, surplus=7)
    news.all()
    of_home = {"chain_id": CHAIN, "token_address": buyer.intent["token_address"]}
    order = {"intent_id": buyer.intent["id"], "event_id": buyer.intent["event_id"], **of_home}
    for address in (FRIEND_ADDRESS, FRIEND_ADDRESS, STRANGER_ADDRESS):
        assert state(buyer, address).status_code == 200
    assert waive(acme, buyer, 6).status_code == 409
    assert waive(acme, buyer, 7).status_code == 200
    stated = [{**order, "source": "stated", "status": each} for each in ("waits", "counts")]
    assert news.all() == [
        *(("refund.address_changed", each) for _ in range(2) for each in stated),
        ("refund.waived", {**order, "amount": 7, "currency": "USDC"}),
    ]


def test_a_refused_or_repeated_request_records_nothing(acme, news):
    ticket = acme.ticket(capacity=1, price_amount=0, chain_id=None)
    key = {"Idempotency-Key": "k" * 32}
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
    news.all()
    for _ in range(3):
        api = acme.with_headers(key)
        assert api.post(f"{acme.checkout}/preflight", body).status_code == 201
    assert acme.preflight(ticket).status_code == 409
    assert news.types() == ["intent.created"]


def test_a_rollback_leaves_no_notification(acme, monkeypatch):
    ticket = acme.ticket(price_amount=0, chain_id=None)
    buyer = acme.buyer(ticket)
    before = recorded()

    def fail(*_):
        raise RuntimeError("after everything was written")

    monkeypatch.setattr(settlement.feed, "_to_json", fail)
    with pytest.raises(RuntimeError):
        settlement.confirm_free(buyer.intent["id"])
    assert recorded() == before
    intent = PaymentIntent.get_by_id(buyer.intent["id"])
    assert intent.status == IntentStatus.AWAITING_PAYMENT
    monkeypatch.undo()
    assert buyer.purchase().status_code == 200
    assert recorded() == before + 2


def test_every_type_is_noted_by_a_trigger_or_follows_from_no_order():
    """The property test compares what triggers note with what is recorded."""
    quoted = {type.strip("'") for _, _, type, _, _ in NOTED if "||" not in type}
    entered = {f"intent.{status}" for status in IntentStatus} & set(NotificationType)
    of_no_order = {
        NotificationType.MESSAGE_SENT,
        NotificationType.WEBHOOK_FAILING,
        NotificationType.WEBHOOK_TEST,
        NotificationType.WALLET_CHANGE_REQUESTED,
        NotificationType.WALLET_CHANGE_CANCELED,
        NotificationType.WALLET_CHANGED,
    }
    assert quoted | entered | of_no_order == set(NotificationType)
