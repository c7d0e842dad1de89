"""Money that is owed on other networks than the order's: listed, paid back, collected, counted."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support import payees
from tests.support.carts import carts_of
from tests.support.elsewhere import (
    BOTH,
    all_pages,
    give_back,
    money,
    order,
    paid_twice,
    pay,
    places,
    refund,
    refunds,
    sound,
    state,
)
from tests.support.factories import CHAIN, PRICE, worker_once
from tests.support.payouts import OTHER, OWNER, PAYER, sign
from tests.support.refunds import (
    FRIEND,
    FRIEND_ADDRESS,
    STRANGER_ADDRESS,
    account,
    pass_hours,
    pay_from,
)
from ticketing import clock
from ticketing.config import load
from ticketing.models.collections import Collection
from ticketing.models.events import Event
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.payouts import Payout, PayoutCursor, PayoutEvent
from ticketing.models.refunds import Refund, RefundAddress
from ticketing.models.wallets import Wallet
from ticketing.services import erasure
from ticketing.worker.watcher import Watcher
from tools import anvil
from tools.anvil import SECOND_CHAIN_ID as SECOND

pytestmark = [pytest.mark.sql, pytest.mark.long]


def test_refunds_of_both_networks_are_one_list(shop, nodes_of):
    first = paid_twice(shop, nodes_of, PRICE + 7, 3)
    second = paid_twice(shop, nodes_of, PRICE, 5)
    one, two = first.intent["id"], second.intent["id"]
    by_age = [(one, CHAIN, 7), (one, SECOND, 3), (two, SECOND, 5)]
    assert places(refunds(shop)) == all_pages(shop) == by_age
    by_amount = [(one, CHAIN, 7), (two, SECOND, 5), (one, SECOND, 3)]
    assert places(refunds(shop, sort="-amount")) == by_amount
    assert all_pages(shop, sort="-amount") == by_amount
    assert all_pages(shop, min_amount=5) == [(one, CHAIN, 7), (two, SECOND, 5)]
    assert all_pages(shop, min_amount=5, sort="-amount") == by_amount[:2]
    payers = [each["payers"] for each in refunds(shop)["data"]]
    assert payers[1] == [{"sender": FRIEND_ADDRESS, "amount": 3}]


def test_each_network_is_waived_and_marked_by_itself(shop, nodes_of):
    buyer = paid_twice(shop, nodes_of, PRICE + 7, 3)
    why = {"reason": "less than the fee"}
    assert refund(shop, buyer, "waive", amount=3, **why).json["code"] == "amount_changed"
    assert refund(shop, buyer, "waive", amount=3, chain_id=1, **why).json["code"] == "no_refund_due"
    done = refund(shop, buyer, "waive", amount=3, chain_id=SECOND, **why)
    assert (done.json["waived"], done.json["chain_id"]) == (3, SECOND)
    named = {"chain_id": SECOND, "token_address": anvil.TOKEN_ADDRESS}
    assert refund(shop, buyer, "waive", amount=3, **named, **why).json["code"] == "amount_changed"
    assert all_pages(shop) == [(buyer.intent["id"], CHAIN, 7)]
    assert places(refunds(shop, status="waived")) == [(buyer.intent["id"], SECOND, 0)]
    sound()


def test_one_transaction_settles_the_orders_of_its_own_chain(shop, nodes_of):
    buyer = paid_twice(shop, nodes_of, PRICE + 5, 5)
    sent = give_back(nodes_of[SECOND], 5)
    body = {"tx_hash": sent, "chain_id": SECOND}
    done = shop.api().post(f"{shop.path}/refunds/settle", body)
    of_order = {
        "intent_id": buyer.intent["id"],
        "token_address": buyer.intent["token_address"],
        "amount": 5,
    }
    assert done.json == {"settled": [of_order], "left": 0}
    assert all_pages(shop) == [(buyer.intent["id"], CHAIN, 5)]
    assert refund(shop, buyer, "settle", tx_hash=sent).json["code"] == "refund_not_seen"
    sound()


def test_small_refunds_are_waived_on_every_network_or_on_one(shop, nodes_of):
    paid_twice(shop, nodes_of, PRICE + 2, 3)
    path, why = f"{shop.path}/refunds/waive", {"reason": "dust", "max_amount": 3}
    on_one = shop.api().post(path, {**why, "chain_id": SECOND}).json
    assert on_one == {"waived": 1, "amount": 3, "left": 0}
    assert shop.api().post(path, why).json == {"waived": 1, "amount": 2, "left": 0}
    sound()


def test_what_was_paid_back_of_unassigned_money_cannot_pay_for_the_order(shop, nodes_of):
    buyer = order(shop)
    pay(nodes_of, buyer, SECOND, PRICE - 1)
    assert refunds(shop)["data"] == []
    sent = give_back(nodes_of[SECOND], PRICE - 1)
    done = refund(shop, buyer, "settle", tx_hash=sent, chain_id=SECOND)
    assert done.json["refunded"] == PRICE - 1
    pay(nodes_of, buyer, SECOND, 1)
    intent = buyer.now()
    assert (intent["status"], intent["chain_id"]) == ("awaiting_payment", CHAIN)
    sound()


def test_a_list_pays_what_is_owed_on_its_own_network(venue, nodes_of):
    buyer = paid_twice(venue, nodes_of, PRICE + 7, 3)
    state(buyer, STRANGER_ADDRESS)
    found = payouts(venue, nodes_of, SECOND)
    assert found["payments"] == []  # where to on the second network is not stated
    assert [(each["amount"], each["reason"]) for each in found["blocked"]] == [(3, "no_payee")]
    state(buyer, FRIEND_ADDRESS, SECOND)
    found = payouts(venue, nodes_of, SECOND)
    assert [(each["to"], each["amount"]) for each in found["payments"]] == [(FRIEND_ADDRESS, 3)]
    at_home = payouts(venue, nodes_of, CHAIN)
    assert [(each["to"], each["amount"]) for each in at_home["payments"]] == [(STRANGER_ADDRESS, 7)]
    assert found["payments"][0]["id"] != at_home["payments"][0]["id"]
    assert payouts(venue, nodes_of, SECOND, OTHER)["listed_for_another"] != []
    mark = refund(venue, buyer, "by-hand", by_hand=True, chain_id=SECOND)
    assert mark.json["code"] == "refund_listed"
    sign(nodes_of[SECOND], found)
    worker_once(venue.app)
    worker_once(venue.app)
    assert all_pages(venue) == [(buyer.intent["id"], CHAIN, 7)]
    assert payouts(venue, nodes_of, SECOND)["payments"] == []
    sound()


def payouts(venue, nodes_of, chain_id, index=PAYER):
    """Return the list of an account on one chain, which has enough there."""
    node = nodes_of[chain_id]
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, account(node, index), 10 * PRICE)
    body = {"chain_id": chain_id, "payer": account(node, index), "accept_unwitnessed": True}
    answer = venue.api().post(f"{venue.path}/payouts", body)
    assert answer.status_code == 200, answer.json
    return answer.json


def test_nothing_is_paid_back_twice_by_a_list_and_by_hand(venue, nodes_of):
    buyer = paid_twice(venue, nodes_of, PRICE, 3)
    state(buyer, FRIEND_ADDRESS, SECOND)
    found = payouts(venue, nodes_of, SECOND)
    (*_, sent) = sign(nodes_of[SECOND], found)
    done = refund(venue, buyer, "settle", tx_hash=sent, chain_id=SECOND)
    assert done.json["refunded"] == 3
    for _ in range(2):
        worker_once(venue.app)
        assert payouts(venue, nodes_of, SECOND)["payments"] == []
    assert Refund.select().where(Refund.canonical).count() == 1
    sound()


def test_a_payment_of_a_list_stays_with_its_network_when_the_order_moves(venue, nodes_of):
    """The order expires with a part on its home, and a list pays that back. Then it moves."""
    buyer = order(venue)
    pay(nodes_of, buyer, CHAIN, 5)
    for node in nodes_of.values():
        pass_hours(node, 1)
    for _ in range(2):
        worker_once(venue.app)
    assert buyer.now()["status"] == "expired"
    state(buyer, FRIEND_ADDRESS)
    found = payouts(venue, nodes_of, CHAIN)
    (*_, sent) = sign(nodes_of[CHAIN], found)
    assert refund(venue, buyer, "settle", tx_hash=sent).json["refunded"] == 5
    pay(nodes_of, buyer, SECOND)
    intent = buyer.now()
    assert (intent["status"], intent["chain_id"]) == ("confirmed", SECOND)
    for _ in range(2):
        worker_once(venue.app)
    assert payouts(venue, nodes_of, CHAIN)["payments"] == []
    assert refund(venue, buyer, "settle", tx_hash=sent, chain_id=CHAIN).json["refunded"] == 5
    (row,) = Refund.select().where(Refund.canonical)
    assert (row.chain_id, row.amount, row.account.is_home) == (CHAIN, 5, False)
    sound()


def test_who_was_paid_back_by_a_list_is_owed_what_comes_later(venue, nodes_of):
    """Who stated where to has asked the money back: it never pays for the order."""
    buyer = order(venue)
    pay(nodes_of, buyer, SECOND, 3)
    for node in nodes_of.values():
        pass_hours(node, 1)
    for _ in range(2):
        worker_once(venue.app)
    state(buyer, FRIEND_ADDRESS, SECOND)
    first = payouts(venue, nodes_of, SECOND)
    sign(nodes_of[SECOND], first)
    for _ in range(2):
        worker_once(venue.app)
    assert buyer.now()["strays"][0]["refund_due"] == 0
    pay(nodes_of, buyer, SECOND)
    assert buyer.now()["status"] == "expired"
    second = payouts(venue, nodes_of, SECOND)
    assert [each["amount"] for each in second["payments"]] == [PRICE]
    assert second["payments"][0]["id"] != first["payments"][0]["id"]
    sound()


def test_what_a_list_paid_back_is_found_after_a_restore(venue, nodes_of, environ):
    """The backup knows neither the money on the second network, nor the list that paid it back.

    The worker reads what lists paid before it looks for strays.
    """
    node = nodes_of[SECOND]
    first = node.rpc("eth_getBlockByNumber", "latest", False)
    buyer = paid_twice(venue, nodes_of, PRICE, 3)
    state(buyer, FRIEND_ADDRESS, SECOND)
    sign(node, payouts(venue, nodes_of, SECOND, OWNER), OWNER)
    forget_the_second_network()
    at = datetime.fromtimestamp(int(first["timestamp"], 16), UTC)
    PayoutCursor.insert(
        chain_id=SECOND,
        block_number=int(first["number"], 16),
        block_hash=first["hash"],
        block_time=at,
        restored_at=clock.now(),
    ).execute()
    pass_hours(node, 0.1)
    watcher = Watcher(load(environ).chains[SECOND])
    watcher.look()
    watcher.check_refunds()
    watcher.leave()
    for _ in range(3):
        worker_once(venue.app)
    (stray,) = PaymentIntent.get().stray_accounts
    assert stray.refunded == 3
    assert payouts(venue, nodes_of, SECOND, OWNER)["payments"] == []
    sound()


def forget_the_second_network():
    """Delete what was recorded of it, as a backup of before would."""
    for model in (Payout, PayoutEvent, PayoutCursor):
        model.delete().where(model.chain_id == SECOND).execute()
    for model in (Payment, RefundAddress):
        strays = OrderAccount.select(OrderAccount.id).where(OrderAccount.chain_id == SECOND)
        model.delete().where(model.account.in_(strays)).execute()
    OrderAccount.delete().where(OrderAccount.chain_id == SECOND).execute()
    PaymentIntent.update(books_version=0).execute()


def test_what_came_elsewhere_is_collected_there(venue, nodes_of):
    buyer = paid_twice(venue, nodes_of, PRICE, 3)
    node = nodes_of[SECOND]
    assert money(venue)[SECOND]["to_collect"] == {"orders": 1, "amount": 3}
    assert money(venue)[CHAIN]["to_collect"] == {"orders": 1, "amount": PRICE}
    path = f"{venue.path}/collections"
    found = venue.api().get(path, query_string={"chain_id": SECOND}).json
    for each in found["transactions"]:
        anvil.send(node.rpc, OTHER, {"to": each["to"], "data": each["data"]})
    worker_once(venue.app)
    (row,) = Collection.select()
    assert (row.chain_id, row.amount, row.intent_id) == (SECOND, 3, buyer.intent["id"])
    figures = money(venue)[SECOND]
    assert (figures["collected"], figures["to_collect"]["orders"]) == (3, 0)
    assert money(venue)[CHAIN]["collected"] == 0
    sound()


def waiting(found):
    """Return why orders are not collected, and what they hold."""
    return [(each["reason"], each["atomic_amount"]) for each in found["blocked"]]


def test_what_came_elsewhere_just_now_waits(venue, nodes_of, environ):
    """The list itself finds it by the balance. The worker has not read the logs yet."""
    paid_twice(venue, nodes_of, PRICE, 3)
    other = order(venue, CHAIN)
    pay(nodes_of, other, CHAIN)
    path, query = f"{venue.path}/collections", {"chain_id": SECOND}
    other.pay(nodes_of[SECOND], 4)
    watcher = Watcher(load(environ).chains[SECOND])
    watcher.look()
    watcher.leave()
    found = venue.api().get(path, query_string=query).json
    assert [each["atomic_amount"] for each in found["transactions"] if each["orders"]] == [3]
    assert waiting(found) == [("not_final", 4)]


def test_a_live_order_is_collected_nowhere(venue, nodes_of):
    pay(nodes_of, order(venue), SECOND, 3)
    found = venue.api().get(f"{venue.path}/collections", query_string={"chain_id": SECOND}).json
    assert (found["transactions"], found["left"]["orders"]) == ([], 0)
    assert waiting(found) == [("not_over", 3)]
    assert money(venue)[SECOND]["open"] == 3


def test_money_that_is_out_of_reach_is_shown_apart_and_hinders_nothing(venue, nodes_of):
    Wallet.update(chain_ids=frozenset([CHAIN])).where(Wallet.tenant_id == venue.id).execute()
    buyer = paid_twice(venue, nodes_of, PRICE, 3)
    figures = money(venue)[SECOND]
    assert (figures["received"], figures["owed"], figures["out_of_reach"]) == (0, 0, 3)
    assert refunds(venue)["data"] == []
    sent = give_back(nodes_of[SECOND], 3)
    settled = refund(venue, buyer, "settle", tx_hash=sent, chain_id=SECOND)
    assert settled.json["code"] == "no_refund_due"
    path, query = f"{venue.path}/collections", {"chain_id": SECOND}
    found = venue.api().get(path, query_string=query).json
    assert (found["transactions"], waiting(found)) == ([], [("out_of_reach", 3)])
    query["owner_confirmed"] = "true"
    found = venue.api().get(path, query_string=query).json
    assert [each["orders"] for each in found["transactions"] if each["orders"]] == [1]
    assert waiting(found) == []
    sound()


def test_two_tokens_of_one_network_are_paid_back_and_collected_apart(venue, nodes_of):
    node = nodes_of[CHAIN]
    other = anvil.deploy_token(node.rpc)
    buyer = order(venue, CHAIN)
    anvil.mint(node.rpc, other, FRIEND_ADDRESS, 3)
    anvil.transfer(node.rpc, other, buyer.intent["address"], 3, sender=FRIEND)
    pay(nodes_of, buyer, CHAIN, PRICE + 7)
    assert all_pages(venue) == [(buyer.intent["id"], CHAIN, 7), (buyer.intent["id"], CHAIN, 3)]
    rows = venue.api("read").get(f"{venue.path}/money").json["data"]
    assert sorted((row["received"], row["owed"], row["kept"]) for row in rows) == [
        (3, 3, 0),
        (PRICE + 7, 7, PRICE),
    ]
    query = {"chain_id": CHAIN, "token": other}
    found = venue.api().get(f"{venue.path}/collections", query_string=query).json
    assert [each["atomic_amount"] for each in found["transactions"] if each["orders"]] == [3]
    state(buyer, FRIEND_ADDRESS)
    named = {"chain_id": CHAIN, "token_address": other}
    assert payees.state(buyer, FRIEND_ADDRESS, **named).status_code == 200
    anvil.mint(node.rpc, other, account(node, PAYER), 3)
    body = {"chain_id": CHAIN, "payer": account(node, PAYER), "token": other}
    body["accept_unwitnessed"] = True
    found = venue.api().post(f"{venue.path}/payouts", body).json
    assert [each["amount"] for each in found["payments"]] == [3]
    sent = sign(node, found)[-1]
    assert refund(venue, buyer, "settle", tx_hash=sent).json["code"] == "refund_not_seen"
    done = refund(venue, buyer, "settle", tx_hash=sent, chain_id=CHAIN, token_address=other)
    assert (done.json["refunded"], done.json["amount"]) == (3, 0)
    worker_once(venue.app)
    assert all_pages(venue) == [(buyer.intent["id"], CHAIN, 7)]
    sound()


def test_a_dead_network_stops_its_list(venue, nodes_of):
    paid_twice(venue, nodes_of)
    nodes_of[SECOND].stop()
    answer = venue.api().get(f"{venue.path}/collections", query_string={"chain_id": SECOND})
    assert (answer.status_code, answer.json["code"]) == (503, "chain_unavailable")


def test_a_canceled_event_owes_what_its_orders_received_elsewhere(shop, nodes_of):
    buyer = order(shop)
    pay(nodes_of, buyer, SECOND, 3)
    path = f"{shop.path}/events/{buyer.intent['event_id']}/status"
    assert shop.api().post(path, {"status": "canceled"}).status_code == 200
    assert all_pages(shop) == [(buyer.intent["id"], SECOND, 3)]
    sound()


def test_a_canceled_ticket_type_owes_what_its_orders_received_elsewhere(shop, nodes_of):
    buyer = order(shop)
    pay(nodes_of, buyer, SECOND, 3)
    path = f"{shop.path}/events/{buyer.intent['event_id']}/tickets/{buyer.intent['ticket_id']}"
    assert shop.api().post(f"{path}/status", {"status": "canceled"}).status_code == 200
    assert all_pages(shop) == [(buyer.intent["id"], SECOND, 3)]
    sound()


@pytest.mark.parametrize("chain_ids", [BOTH, [CHAIN]])
def test_money_that_is_owed_elsewhere_keeps_its_buyer(venue, nodes_of, chain_ids):
    """Money that is out of reach does not."""
    ids = frozenset(chain_ids)
    Wallet.update(chain_ids=ids).where(Wallet.tenant_id == venue.id).execute()
    buyer = venue.buyer(
        venue.ticket(carts_of(venue), chain_ids=[CHAIN]), buyer={"email": "ada@example.org"}
    )
    pay_from(nodes_of[CHAIN], FRIEND, buyer, PRICE)
    pay(nodes_of, buyer, SECOND, 3)
    long_ago, at = clock.now() - timedelta(days=100), clock.now() - timedelta(days=8)
    Event.update(start_at=long_ago, end_at=None, erasure_due_at=at).execute()
    assert erasure.erase_old(90) == 1
    kept = PaymentIntent.get_by_id(buyer.intent["id"]).buyer_email
    assert kept == ("ada@example.org" if SECOND in chain_ids else None)
