"""Early confirmation: small orders of events that are not soon are confirmed before finality."""

import pytest

from tests.support.factories import PRICE, in_days, worker_once
from tests.support.feed import News
from tests.support.holders import JOIN_URL, Held, refused
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.payments import watched_orders
from ticketing.services.payments.reconciliation import reconcile

DEEP = 30
ONLINE = {"type": "online", "venue": None, "online_join_url": JOIN_URL}
TOLD = ("intent.confirmed", "intent.finalized", "intent.reversed")


@pytest.fixture
def environ(environ):
    """A payment is final after 30 blocks, and early after 1. Three seats are no small order."""
    return {**environ, "CONFIRMATIONS_31337": str(DEEP), "EARLY_MOST": str(2 * PRICE)}


def mine(node, blocks):
    node.rpc("anvil_mine", hex(blocks))


def look(acme):
    """Let the worker look, and prove the books."""
    worker_once(acme.app)
    assert reconcile(acme.id) == []


def bought(acme, node, *, event=None, **order):
    """Return a buyer who has paid, and whose payment the worker has seen with 1 confirmation."""
    buyer = acme.buyer(acme.ticket(event), **order)
    look(acme)
    buyer.transaction = node.rpc("eth_getRawTransactionByHash", buyer.pay(node))
    look(acme)
    return buyer


def told(news):
    """Return what the feed says about becoming confirmed and final since it was asked last."""
    return [(type, data["final"]) for type, data in news.all() if type in TOLD]


def held(acme, buyer):
    seat = buyer.purchase().json["admissions"][0]
    return Held(acme, seat["id"], seat["code"])


def test_an_order_is_confirmed_after_one_block_and_final_after_all(acme, node):
    news = News(acme)
    buyer = bought(acme, node, event=acme.event(**ONLINE, start_at=in_days(2)))
    answer = buyer.purchase()
    assert answer.status_code == 200
    now = answer.json
    assert (now["status"], now["final"], now["confirmations"]) == ("confirmed", False, 1)
    assert now["online_join_url"] is None
    seat = held(acme, buyer)
    assert seat.get().json["status"] == "valid"
    assert seat.get().json["qr"] and seat.get().json["online_join_url"] is None
    offer = seat.offer()
    refused(offer, 409, "payment_not_final")
    assert 1 <= int(offer.headers["Retry-After"]) <= 2 * DEEP
    assert told(news) == [("intent.confirmed", False)]

    mine(node, DEEP - 2)
    look(acme)
    assert not buyer.now()["final"] and told(news) == []
    refused(seat.offer(), 409, "payment_not_final")
    mine(node, 1)
    tag = buyer.api.get(buyer.path).headers["ETag"]
    look(acme)
    assert buyer.api.get(buyer.path).headers["ETag"] != tag
    assert buyer.now()["final"] and buyer.now()["confirmations"] == DEEP
    assert buyer.purchase().json["online_join_url"] == JOIN_URL
    assert seat.get().json["online_join_url"] == JOIN_URL
    assert seat.offer().status_code == 201
    assert told(news) == [("intent.finalized", True)]
    look(acme)
    assert told(news) == []
    shown = acme.api().get(f"{acme.path}/intents/{buyer.intent['id']}").json
    assert (shown["status"], shown["final"]) == ("confirmed", True)


def test_a_purchase_needs_no_worker_to_confirm_early(acme, node):
    buyer = acme.buyer(acme.ticket())
    assert buyer.now()["final"] is False
    buyer.pay(node)
    answer = buyer.purchase()
    assert (answer.status_code, answer.json["final"]) == (200, False)
    assert len(answer.json["admissions"]) == 1
    assert reconcile(acme.id) == []


@pytest.mark.parametrize(
    "why", ["event tomorrow", "doors in a day", "three seats", "switched off", "chain never"]
)
@pytest.mark.long
def test_other_orders_wait_for_finality(environ, node, request, why):
    if why == "chain never":
        environ["EARLY_CONFIRMATIONS_31337"] = "0"
    acme = request.getfixturevalue("acme")
    fields = {"event tomorrow": {"start_at": in_days(1)}}
    fields["doors in a day"] = {"start_at": in_days(9), "doors_open_at": in_days(0.999)}
    if why == "switched off":
        acme.api().patch(acme.path, {"early_confirmation": False})
    news = News(acme)
    order = {"quantity": 3} if why == "three seats" else {}
    buyer = bought(acme, node, event=acme.event(**fields.get(why, {})), **order)
    assert buyer.now()["status"] == "processing"
    mine(node, DEEP - 2)
    look(acme)
    assert buyer.purchase().status_code == 202
    mine(node, 1)
    look(acme)
    assert (buyer.now()["status"], buyer.now()["final"]) == ("confirmed", True)
    assert told(news) == [("intent.confirmed", True)]


def test_two_early_confirmations_need_two_blocks(environ, node, request):
    environ["EARLY_CONFIRMATIONS_31337"] = "2"
    acme = request.getfixturevalue("acme")
    buyer = bought(acme, node)
    assert (buyer.now()["status"], buyer.purchase().status_code) == ("processing", 202)
    mine(node, 1)
    look(acme)
    assert (buyer.now()["status"], buyer.now()["final"]) == ("confirmed", False)


def test_it_is_decided_when_the_order_is_settled(acme, node):
    me = acme.api()
    event = acme.event(start_at=in_days(1))
    buyer = bought(acme, node, event=event)
    assert buyer.now()["status"] == "processing"
    assert (
        me.patch(f"{acme.path}/events/{event['id']}", {"start_at": in_days(3)}).status_code == 200
    )
    look(acme)
    assert (buyer.now()["status"], buyer.now()["final"]) == ("confirmed", False)
    # What is confirmed stays: it is final before the doors open.
    me.patch(f"{acme.path}/events/{event['id']}", {"start_at": in_days(1)})
    me.patch(acme.path, {"early_confirmation": False})
    look(acme)
    assert (buyer.now()["status"], buyer.now()["final"]) == ("confirmed", False)
    mine(node, DEEP)
    look(acme)
    assert buyer.now()["final"]


@pytest.mark.parametrize(
    "depth", [1, DEEP - 1, *(pytest.param(n, marks=pytest.mark.long) for n in range(2, DEEP - 1))]
)
def test_a_payment_that_leaves_and_returns_suspends_and_restores(acme, node, depth):
    news = News(acme)
    buyer = bought(acme, node)
    seat = held(acme, buyer)
    mine(node, depth - 1)
    look(acme)
    assert (buyer.now()["status"], buyer.now()["final"]) == ("confirmed", False)
    node.rpc("anvil_reorg", depth, [])
    mine(node, 1)
    look(acme)
    assert (buyer.now()["status"], buyer.now()["final"]) == ("reversed", False)
    assert seat.get().json["status"] == "suspended"
    refused(seat.offer(), 409, "admission_suspended")
    listed = acme.api().get(f"{acme.path}/intents?status=reversed").json["data"]
    assert [each["id"] for each in listed] == [buyer.intent["id"]]
    node.rpc("eth_sendRawTransaction", buyer.transaction)
    mine(node, DEEP - 2)
    look(acme)
    assert buyer.now()["status"] == "reversed"
    mine(node, 2)
    look(acme)
    assert (buyer.now()["status"], buyer.now()["final"]) == ("confirmed", True)
    assert seat.get().json["status"] == "valid"
    wanted = [("intent.confirmed", False), ("intent.reversed", False), ("intent.confirmed", True)]
    assert told(news) == wanted


def test_what_came_too_late_waits_for_finality(acme, node):
    buyer = acme.buyer(acme.ticket())
    look(acme)
    node.rpc("evm_increaseTime", 3600)
    mine(node, 1)
    look(acme)
    assert buyer.now()["status"] == "expired"
    buyer.pay(node)
    look(acme)
    assert buyer.now()["status"] == "processing"
    mine(node, DEEP)
    look(acme)
    assert (buyer.now()["status"], buyer.now()["final"]) == ("confirmed", True)


def test_refunds_wait_for_finality(acme, node):
    buyer = acme.buyer(acme.ticket(), quantity=2)
    look(acme)
    buyer.pay(node, 2 * PRICE + 7)
    look(acme)
    now = buyer.now()
    assert (now["status"], now["refund_due"], now["refund_pending"]) == ("confirmed", 7, 7)
    path = f"{acme.path}/admissions/{held(acme, buyer).id}/void"
    assert acme.api().post(path, {"reason": "Asked for.", "refund": True}).status_code == 200
    now = buyer.now()
    assert (now["refund_due"], now["refund_pending"]) == (PRICE + 7, PRICE + 7)
    assert not now["final"]
    mine(node, DEEP)
    look(acme)
    now = buyer.now()
    assert (now["final"], now["refund_due"], now["refund_pending"]) == (True, PRICE + 7, 0)


def test_an_order_that_keeps_nothing_waits_for_finality_too(acme, node):
    news = News(acme)
    buyer = bought(acme, node)
    path = f"{acme.path}/admissions/{held(acme, buyer).id}/void"
    assert acme.api().post(path, {"reason": "Asked for.", "refund": True}).status_code == 200
    look(acme)
    assert not buyer.now()["final"] and told(news) == [("intent.confirmed", False)]
    mine(node, DEEP)
    look(acme)
    assert buyer.now()["final"] and told(news) == [("intent.finalized", True)]


def test_an_early_order_of_a_canceled_event_becomes_final(acme, node):
    event = acme.event()
    buyer = bought(acme, node, event=event)
    path = f"{acme.path}/events/{event['id']}/status"
    assert acme.api().post(path, {"status": "canceled"}).status_code == 200
    mine(node, DEEP)
    look(acme)
    now = buyer.now()
    assert (now["final"], now["refund_due"], now["refund_pending"]) == (True, PRICE, 0)
    assert not PaymentIntent.select().where(PaymentIntent.early).exists()


def test_a_chain_with_an_order_that_is_not_final_is_not_quiet(acme, node):
    bought(acme, node)
    (state,) = ChainState.select()
    assert watched_orders.has_open_orders(state.chain_id)
    mine(node, DEEP)
    look(acme)
    assert not watched_orders.has_open_orders(state.chain_id)


def test_many_orders_that_must_wait_keep_none_from_being_confirmed(acme, node, monkeypatch):
    """Not even more than one transaction settles."""
    monkeypatch.setattr("ticketing.services.payments.settlement.INTENTS_PER_TRANSACTION", 2)
    soon, later = acme.ticket(acme.event(start_at=in_days(1))), acme.ticket()
    waiting = [acme.buyer(soon) for _ in range(4)]
    buyers = [acme.buyer(later) for _ in range(3)]
    look(acme)
    for buyer in [*waiting, *buyers]:
        buyer.pay(node)
    look(acme)
    assert {each.now()["status"] for each in waiting} == {"processing"}
    assert {(each.now()["status"], each.now()["final"]) for each in buyers} == {
        ("confirmed", False)
    }
    mine(node, DEEP)
    look(acme)
    assert all(each.now()["final"] for each in [*waiting, *buyers])


def test_a_free_order_is_final(acme):
    free = acme.ticket(price_amount=0, chain_id=None)
    answer = acme.buyer(free).purchase()
    assert (answer.json["status"], answer.json["final"]) == ("confirmed", True)
    assert told(News(acme)) == []


def test_a_new_organizer_confirms_early_until_it_is_switched_off(acme):
    me = acme.api()
    assert me.get(acme.path).json["early_confirmation"] is True
    answer = me.patch(acme.path, {"early_confirmation": False})
    assert answer.json["early_confirmation"] is False
    assert me.patch(acme.path, {"early_confirmation": None}).status_code == 422
