"""What to sign so that organizers have their money, tried by signing it as a stranger."""

import json

import pytest

from tests.support.factories import CHAIN, PRICE, cli, new_organizer, worker_once
from tests.support.receivers import BUYER, COIN, OWNER, STRANGER, Chain, gathering
from tests.support.relayer import held
from tests.support.wallets import use_address
from ticketing.chain import receivers
from ticketing.models.collections import Collection
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.models.wallets import Wallet
from ticketing.services.money import collecting
from tools import anvil

DAY = 86_400
FREEZE = "freeze(address,bool)"


@pytest.fixture
def chain(node):
    """The app's node, with the factory."""
    return Chain(node)


@pytest.fixture
def token(environ, chain):
    """What tickets are paid in: a token of USDC's shape. The buyer has enough of it."""
    token = chain.token()
    environ["TOKEN_ADDRESS_31337"] = token
    chain.mint(token, (chain.accounts[BUYER], 10**12))
    return token


@pytest.fixture
def shop(token, app, chain):
    """An organizer with an address, who sells on the chain."""
    shop = new_organizer(app, "shop", address=chain.accounts[OWNER])
    worker_once(app)
    return shop


def sold(shop, node, count):
    """Sell tickets, and return their buyers."""
    ticket = shop.ticket()
    buyers = [shop.buyer(ticket) for _ in range(count)]
    for buyer in buyers:
        buyer.pay(node)
    worker_once(shop.app)
    assert {buyer.now()["status"] for buyer in buyers} == {"confirmed"}
    return buyers


def asked(shop, status=200, **query):
    answer = shop.api().get(f"{shop.path}/collections", query_string={"chain_id": 31337, **query})
    assert answer.status_code == status, answer.json
    return answer.json


def in_short(answer):
    return [
        (each["purpose"], each["orders"], each["atomic_amount"], each["direct"], each["tried"])
        for each in answer["transactions"]
    ]


def sign(chain, answer):
    for each in answer["transactions"]:
        chain.send(STRANGER, each["to"], each["data"])


def freeze(chain, token, address, *, is_frozen=True):
    chain.set(token, FREEZE, address, is_frozen)


def end(shop, node, seconds):
    """Let time pass on the chain."""
    node.rpc("evm_increaseTime", seconds)
    node.rpc("anvil_mine", "0x1")
    worker_once(shop.app)


def test_a_stranger_signs_and_the_owner_has_it(shop, chain, node, token):
    sold(shop, node, 3)
    answer = asked(shop)
    assert in_short(answer) == [("collect", 3, 3 * PRICE, False, True)]
    (transaction,) = answer["transactions"]
    assert (transaction["to"], transaction["owner"]) == (
        receivers.FACTORY,
        chain.accounts[OWNER],
    )
    assert (answer["factory"], answer["token_address"]) == (receivers.FACTORY, token)
    assert (answer["blocked"], answer["looked_up_to"]) == ([], None)
    assert answer["left"] == {"orders": 0, "atomic_amount": 0}
    sign(chain, answer)
    assert chain.held(token, chain.accounts[OWNER]) == 3 * PRICE
    assert asked(shop)["transactions"] == []


def test_without_the_factory_it_is_deployed_first(app, node):
    owner = node.rpc("eth_accounts")[OWNER]
    shop = new_organizer(app, "shop", address=owner)
    worker_once(app)
    assert asked(shop)["transactions"] == []
    sold(shop, node, 1)
    answer = asked(shop)
    assert in_short(answer) == [
        ("deploy", 0, 0, False, True),
        ("collect", 1, PRICE, False, False),
    ]
    for each in answer["transactions"]:
        anvil.send(node.rpc, STRANGER, {"to": each["to"], "data": each["data"]})
    assert held(node, owner) == PRICE


def test_one_frozen_receiver_blocks_no_other(shop, chain, node, token):
    buyers = sold(shop, node, 5)
    frozen = buyers[3].intent
    freeze(chain, token, frozen["address"])
    answer = asked(shop)
    assert in_short(answer) == [("collect", 4, 4 * PRICE, False, True)]
    assert answer["blocked"] == [
        {"intent_id": frozen["id"], "reason": "transfer_fails", "atomic_amount": PRICE}
    ]
    assert answer["left"] == {"orders": 0, "atomic_amount": 0}
    sign(chain, answer)
    assert chain.held(token, chain.accounts[OWNER]) == 4 * PRICE


def test_a_frozen_gathering_receiver_is_gone_around(shop, chain, node, token):
    buyers = sold(shop, node, 3)
    freeze(chain, token, gathering(chain.accounts[OWNER]))
    freeze(chain, token, buyers[0].intent["address"])
    answer = asked(shop)
    assert in_short(answer) == [("collect", 2, 2 * PRICE, True, True)]
    assert [each["intent_id"] for each in answer["blocked"]] == [buyers[0].intent["id"]]
    sign(chain, answer)
    assert chain.held(token, chain.accounts[OWNER]) == 2 * PRICE


def test_live_and_recent_orders_wait(shop, chain, node, token):
    sold(shop, node, 1)
    ticket = shop.ticket()
    buyer = shop.buyer(ticket)
    buyer.pay(node, 7)
    worker_once(shop.app)
    waits = [{"intent_id": buyer.intent["id"], "reason": "not_over", "atomic_amount": 7}]
    for _ in range(2):
        answer = asked(shop)
        assert in_short(answer) == [("collect", 1, PRICE, False, True)]
        assert answer["blocked"] == waits
        end(shop, node, 2000)
    assert buyer.now()["status"] == "expired"
    end(shop, node, DAY)
    answer = asked(shop)
    assert (in_short(answer), answer["blocked"]) == ([("collect", 2, PRICE + 7, False, True)], [])


def test_a_payment_that_is_not_final_waits(three_deep, shop, chain, node, token):
    (buyer,) = sold_deep(shop, node)
    sign(chain, asked(shop))
    worker_once(shop.app)
    buyer.pay(node, 3)
    worker_once(shop.app)
    answer = asked(shop)
    waits = {"intent_id": buyer.intent["id"], "reason": "not_final", "atomic_amount": 3}
    assert (answer["transactions"], answer["blocked"]) == ([], [waits])
    node.rpc("anvil_mine", "0x2")
    worker_once(shop.app)
    answer = asked(shop)
    assert (in_short(answer), answer["blocked"]) == ([("collect", 1, 3, False, True)], [])


def test_strangers_who_pay_again_and_again_hold_nothing_back(three_deep, shop, chain, node, token):
    """Neither a confirmed order nor one that ended, whether the worker has read the unit or not."""
    ended = shop.buyer(shop.ticket())
    ended.pay(node, 7)
    worker_once(shop.app)
    end(shop, node, 2000)
    end(shop, node, DAY)
    (buyer,) = sold_deep(shop, node)
    assert ended.now()["status"] == "expired"
    for units in range(1, 6):
        for each in (buyer, ended):
            each.pay(node, 1)
        if units % 2:
            worker_once(shop.app)
        answer = asked(shop)
        assert in_short(answer) == [("collect", 2, PRICE + 7 + 2 * units, False, True)]
        assert answer["blocked"] == []
    sign(chain, answer)
    assert chain.held(token, chain.accounts[OWNER]) == PRICE + 17
    worker_once(shop.app)
    assert asked(shop)["transactions"] == []


def test_a_balance_below_what_is_booked_waits(shop, chain, node, token):
    """The issuer of the token took some of it, or all."""
    buyers = sold(shop, node, 3)
    for buyer, left in zip(buyers, (PRICE, 3, 0), strict=True):
        chain.take(token, buyer.intent["address"], left=left)
    answer = asked(shop)
    assert in_short(answer) == [("collect", 1, PRICE, False, True)]
    assert answer["blocked"] == [
        {"intent_id": each.intent["id"], "reason": "another_balance", "atomic_amount": left}
        for each, left in zip(buyers[1:], (3, 0), strict=True)
    ]


@pytest.mark.sql
@pytest.mark.parametrize("room", [(1000, 1000), (1, 2)])
def test_all_money_is_proposed_or_blocked_or_left(
    three_deep, shop, chain, node, token, tmp_path, monkeypatch, room
):
    """Of all kinds of orders, in orders and in money, by the books and on the chain."""
    monkeypatch.setattr(collecting, "MOST_BLOCKED", room[0])
    monkeypatch.setattr(collecting, "_MOST_HOLDINGS", room[1])
    monkeypatch.setattr("ticketing.services.money.collectable.PAGE", 2)
    ticket = shop.ticket()
    old = shop.buyer(ticket)
    old.pay(node, 11)
    worker_once(shop.app)
    end(shop, node, 2000)
    end(shop, node, DAY)
    recent = shop.buyer(ticket)
    recent.pay(node, 13)
    worker_once(shop.app)
    end(shop, node, 2000)
    (collected,) = sold_deep(shop, node)
    of_order = PaymentIntent.get_by_id(collected.intent["id"])
    secret = bytes.fromhex(of_order.wallet.secret)
    salt = receivers.order_salt(secret, of_order.address_index)
    chain.collect(chain.accounts[OWNER], token, [salt])
    plain, paid_on, paid_unseen, frozen, reduced, emptied = (shop.buyer(ticket) for _ in range(6))
    live = shop.buyer(ticket)
    for each in (plain, paid_on, paid_unseen, frozen, reduced, emptied):
        each.pay(node)
    live.pay(node, 17)
    node.rpc("anvil_mine", "0x2")
    worker_once(shop.app)
    buyers = [old, recent, live, plain, paid_on, paid_unseen, frozen, reduced, emptied, collected]
    statuses = ["expired"] * 2 + ["awaiting_payment"] + ["confirmed"] * 7
    assert [each.now()["status"] for each in buyers] == statuses
    collected.pay(node, 23)
    paid_on.pay(node, 29)
    worker_once(shop.app)
    freeze(chain, token, frozen.intent["address"])
    assert adds_up(shop, chain, token, buyers, tmp_path) == 10

    for each in (paid_unseen, old):
        each.pay(node, 31)
    chain.take(token, reduced.intent["address"], left=3)
    chain.take(token, emptied.intent["address"], left=0)
    answer = asked(shop)
    assert counted(answer)[0] == 10
    if room[0] == 1:  # what has no room is counted by the books
        assert len(answer["blocked"]) == 1 and answer["left"]["orders"] > 2
        return
    assert counted(answer)[1] == sum(chain.held(token, each.intent["address"]) for each in buyers)
    blocked = [
        (recent, "not_over", 13),
        (reduced, "another_balance", 3),
        (emptied, "another_balance", 0),
        (live, "not_over", 17),
        (collected, "not_final", 23),
        (frozen, "transfer_fails", PRICE),
    ]
    assert {tuple(each.values()) for each in answer["blocked"]} == {
        (each.intent["id"], *why) for each, *why in blocked
    }


def adds_up(shop, chain, token, buyers, tmp_path):
    """Check that the answer and the command's file have all that is known, and nothing else."""
    answer = asked(shop)
    (row,) = shop.api("read").get(f"{shop.path}/money").json["data"]
    known = row["received"] - row["collected"]
    at_addresses = sum(chain.held(token, each.intent["address"]) for each in buyers)
    assert counted(answer) == (len(buyers), known) and known == at_addresses

    path = tmp_path / "c.json"
    command = ("wallet", "collections", "shop", "--chain-id", "31337", "--output", str(path))
    said = cli(shop.app, *command)
    file = json.loads(path.read_text())
    (wallet,) = file["wallets"]
    ready = [each["atomic_amount"] for each in wallet["orders"]]
    waiting = [each["atomic_amount"] for each in file["blocked"]]
    assert row["to_collect"] == {"orders": len(ready), "amount": sum(ready)}
    assert sum(ready) + sum(waiting) == known
    assert "orders not in it: 1, with 23 units: what they hold is not final yet" in said
    assert "orders not in it: 2, with 30 units: they are live, or ended less than" in said
    return len(ready) + len(waiting)


def counted(answer):
    """Return how many orders, and how much money, an answer has in all its parts."""
    of_orders = [each for each in answer["transactions"] if each["orders"]]
    orders = sum(each["orders"] for each in of_orders) + len(answer["blocked"])
    parts = [*of_orders, *answer["blocked"], answer["left"]]
    return orders + answer["left"]["orders"], sum(each["atomic_amount"] for each in parts)


def sold_deep(shop, node):
    buyer = shop.buyer(shop.ticket())
    buyer.pay(node)
    node.rpc("anvil_mine", "0x2")
    worker_once(shop.app)
    assert buyer.now()["status"] == "confirmed"
    return [buyer]


def test_what_was_collected_is_not_collected_again(shop, chain, node, token):
    first, second = sold(shop, node, 2)
    book_collection(first)
    assert in_short(asked(shop)) == [("collect", 1, PRICE, False, True)]
    (wallet,) = json.loads(cli(shop.app, "wallet", "collections", "shop", "--chain-id", "31337"))[
        "wallets"
    ]
    assert [each["intent_id"] for each in wallet["orders"]] == [second.intent["id"]]


def book_collection(buyer):
    """Book that all of an order was collected."""
    of_order = PaymentIntent.get(PaymentIntent.id == buyer.intent["id"])
    payment = Payment.get(Payment.intent == of_order)
    shared = ("chain_id", "tx_hash", "block_number", "block_hash", "block_time", "amount")
    Collection.insert(
        {each: getattr(payment, each) for each in shared}
        | {
            "id": "col_1",
            "intent": of_order.id,
            "account": of_order.home.id,
            "token_address": of_order.token_address,
        }
        | {"log_index": 99, "recipient": COIN, "canonical": True, "seen_at": payment.seen_at}
    ).execute()


def test_each_owner_gets_what_its_orders_hold(shop, chain, node, token):
    sold(shop, node, 1)
    other = chain.owner()
    use_address(shop.id, other, CHAIN)
    sold(shop, node, 2)
    answer = asked(shop)
    assert [each["owner"] for each in answer["transactions"]] == [chain.accounts[OWNER], other]
    sign(chain, answer)
    held = [chain.held(token, each) for each in (chain.accounts[OWNER], other)]
    assert held == [PRICE, 2 * PRICE]


def test_no_more_than_ten_transactions_and_the_rest_is_said(shop, chain, node, token, monkeypatch):
    monkeypatch.setattr(collecting, "MOST_TRANSACTIONS", 2)
    monkeypatch.setattr(collecting, "_MOST_HOLDINGS", 2)
    monkeypatch.setattr("ticketing.services.money.collectable.PAGE", 2)
    monkeypatch.setattr("ticketing.chain.collecting.MOST_ORDERS", 1)
    sold(shop, node, 4)
    answer = asked(shop)
    assert in_short(answer) == [("collect", 1, PRICE, False, True)] * 2
    assert answer["left"] == {"orders": 2, "atomic_amount": 2 * PRICE}


def test_an_exchange_gets_no_less_than_its_minimum(shop, chain, node, token):
    Wallet.update(least_collected=2 * PRICE).where(Wallet.owner.is_null(False)).execute()
    sold(shop, node, 1)
    answer = asked(shop)
    assert answer["transactions"] == []
    assert answer["left"] == {"orders": 1, "atomic_amount": PRICE}
    sold(shop, node, 1)
    assert in_short(asked(shop)) == [("collect", 2, 2 * PRICE, False, True)]


def test_what_a_gathering_receiver_holds_is_collected_without_orders(shop, chain, token):
    chain.mint(token, (gathering(chain.accounts[OWNER]), 9))
    answer = asked(shop)
    assert in_short(answer) == [("collect", 0, 9, False, True)]
    sign(chain, answer)
    assert chain.held(token, chain.accounts[OWNER]) == 9


def test_other_tokens_and_coins_that_buyers_sent_are_found(shop, chain, node, monkeypatch):
    monkeypatch.setattr("ticketing.services.money.collectable.PAGE", 1)
    monkeypatch.setattr(collecting, "MOST_LOOKED_UP", 1)
    ticket = shop.ticket()
    first, second = shop.buyer(ticket), shop.buyer(ticket)
    other = chain.token()
    chain.mint(other, (second.intent["address"], 5))
    chain.mint(COIN, (second.intent["address"], 7))
    answer = asked(shop, token=other)
    assert (answer["transactions"], answer["looked_up_to"]) == ([], first.intent["id"])
    for money, amount in ((other, 5), (COIN, 7)):
        before = chain.held(money, chain.accounts[OWNER])
        answer = asked(shop, token=money, after=first.intent["id"])
        assert in_short(answer) == [("collect", 1, amount, False, True)]
        assert answer["looked_up_to"] is None
        sign(chain, answer)
        assert chain.held(money, chain.accounts[OWNER]) == before + amount


def test_a_network_that_the_wallet_does_not_name_is_confirmed(shop, chain, node):
    sold(shop, node, 1)
    Wallet.update(chain_ids={8453}).where(Wallet.owner.is_null(False)).execute()
    assert asked(shop, 409)["code"] == "owner_not_confirmed"
    assert len(asked(shop, owner_confirmed="true")["transactions"]) == 1


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"chain_id": 8453}, "chain_id"),
        ({"token": receivers.FACTORY}, "token"),
        ({"token": "0x" + "12" * 20}, "token"),
        ({"token": anvil.TOKEN_ADDRESS.replace("F", "f", 1)}, "token"),
    ],
)
def test_what_is_no_network_or_no_token_is_refused(shop, query, field):
    assert asked(shop, 422, **query)["errors"].keys() == {field}


def test_others_read_nothing(shop, neighbour, api):
    path = f"{shop.path}/collections?chain_id=31337"
    assert neighbour.api().get(path).json["code"] == "wrong_tenant"
    assert shop.api("write").get(path).json["code"] == "insufficient_role"
    assert api.get(path).status_code == 401


def test_nothing_is_proposed_while_the_node_is_silent(bad_node, shop, node):
    sold(shop, node, 1)
    bad_node.go_away()
    assert asked(shop, 503)["code"] == "chain_unavailable"


def test_nothing_is_proposed_before_the_worker_has_read_the_chain(token, app, chain):
    shop = new_organizer(app, "shop", address=chain.accounts[OWNER])
    assert asked(shop, 503)["code"] == "chain_unavailable"
