"""Refunds that an organizer signs as a list: each is paid once, and books itself."""

from datetime import timedelta
from functools import partial

import pytest

from tests.support.factories import CHAIN, Api, cli, new_organizer, worker_once
from tests.support.feed import News
from tests.support.payouts import (
    OTHER,
    OWNER,
    PAYER,
    ask,
    end_lists,
    fund,
    listed,
    owed,
    pass_hours_here,
    pay_with_id,
    sign,
    with_address,
)
from tests.support.races import at_once
from tests.support.receivers import OddCode
from tests.support.refunds import (
    FRIEND_ADDRESS,
    STRANGER_ADDRESS,
    account,
    give_back,
    pass_hours,
    settled,
    state,
    waive,
)
from tests.support.tripwire import Killed, Tripwire
from ticketing import clock
from ticketing.chain import address, receivers
from ticketing.chain.node import connect
from ticketing.config import load
from ticketing.models.payouts import Payout, PayoutEvent
from ticketing.models.refunds import Refund, RefundAddress
from ticketing.services import chains
from ticketing.services.access.audit_log import Actor
from ticketing.services.money import payouts
from ticketing.services.payments import payout_events
from ticketing.worker.payout_reader import PayoutReader
from ticketing.worker.watcher import Watcher
from tools import anvil

REFUSED = r"failed|revert"

pytestmark = pytest.mark.usefixtures("node")


@pytest.fixture
def venue(app, node):
    """An organizer whose wallet is an ordinary address."""
    return with_address(app, node)


def due(buyers):
    return [each.now()["refund_due"] for each in buyers]


NOTHING = {"orders": 0, "amount": 0}


def blocked(buyer, amount, reason, **known):
    """An order as a list names it that cannot be paid now."""
    unknown = dict.fromkeys(("until", "tx_hash", "payer", "payment_id"))
    return {"intent_id": buyer.intent["id"], "amount": amount, "reason": reason, **unknown, **known}


def refund_step(of_list):
    (step,) = [each for each in of_list["transactions"] if each["purpose"] == "refund"]
    return step


def test_a_list_is_signed_and_books_itself(app, node, venue):
    buyers = owed(venue, node, 7, 9)
    fund(node, 20)
    of_list = listed(venue, node)
    assert {**of_list, "valid_before": None, "transactions": None, "safe": None} == {
        "chain_id": CHAIN,
        "token_address": anvil.TOKEN_ADDRESS,
        "payer": address.checksum(account(node, PAYER)),
        "factory": receivers.FACTORY,
        "valid_before": None,
        "sum": 16,
        "balance": 20,
        "allowance": 0,
        "transactions": None,
        "payments": [
            {
                "intent_id": buyer.intent["id"],
                "id": row.payment_id,
                "to": anvil.BUYER,
                "amount": amount,
            }
            for buyer, amount in zip(buyers, (7, 9), strict=True)
            for row in Payout.select().where(Payout.intent == buyer.intent["id"])
        ],
        "blocked": [],
        "listed_for_another": [],
        "unbooked": [],
        "left": {"orders": 0, "amount": 0},
        "safe": None,
    }
    steps = [(each["purpose"], each["orders"], each["amount"]) for each in of_list["transactions"]]
    assert steps == [("deploy", 0, 0), ("approve", 2, 16), ("refund", 2, 16)]
    assert [(each["to"], each["data"]) for each in of_list["safe"]["transactions"]] == [
        (each["to"], each["data"]) for each in of_list["transactions"]
    ]
    news = News(venue)
    tx_hash = sign(node, of_list)[-1]
    worker_once(app)
    assert due(buyers) == [0, 0]
    (refund,) = buyers[0].now()["refunds"]
    assert (refund["tx_hash"], refund["amount"], refund["recipient"]) == (tx_hash, 7, anvil.BUYER)
    assert refund["sender"] == of_list["payer"]
    facts = [(type, data["amount"], data["automatic"]) for type, data in news.all()]
    assert sorted(facts) == [("refund.settled", 7, True), ("refund.settled", 9, True)]
    again = listed(venue, node)
    assert (again["payments"], again["transactions"], again["unbooked"]) == ([], [], [])
    assert "right" in cli(app, "reconcile")


@pytest.mark.long
def test_a_list_that_is_sent_twice_pays_once(app, node, venue):
    (buyer,) = owed(venue, node, 7)
    fund(node, 50)
    first = listed(venue, node)
    second = listed(venue, node)
    assert [each["id"] for each in first["payments"]] == [each["id"] for each in second["payments"]]
    sign(node, first)
    anvil.send(node.rpc, PAYER, {"to": second["token_address"], "data": approve_of(second)})
    with pytest.raises(RuntimeError, match=REFUSED):
        anvil.send(node.rpc, PAYER, refund_of(second))
    before = listed(venue, node)
    assert before["payments"] == []
    (blocked,) = before["blocked"]
    assert (blocked["reason"], blocked["tx_hash"][:2]) == ("already_paid", "0x")
    worker_once(app)
    assert due([buyer]) == [0]
    buyer.pay(node, 3)
    worker_once(app)
    third = listed(venue, node)
    assert (third["sum"], len(third["payments"])) == (3, 1)
    assert third["payments"][0]["id"] != first["payments"][0]["id"]
    sign(node, third)
    worker_once(app)
    assert (due([buyer]), len(buyer.now()["refunds"])) == ([0], 2)


def approve_of(of_list):
    return next(each["data"] for each in of_list["transactions"] if each["purpose"] == "approve")


def refund_of(of_list):
    step = refund_step(of_list)
    return {"to": step["to"], "data": step["data"]}


def test_a_list_that_is_too_old_pays_nothing_and_another_payer_may_have_one(
    app, node, venue, monkeypatch
):
    (buyer,) = owed(venue, node, 7)
    fund(node, 50), fund(node, 50, OTHER)
    of_list = listed(venue, node)
    assert listed(venue, node, OTHER)["listed_for_another"] == [
        {
            "intent_id": buyer.intent["id"],
            "amount": 7,
            "payer": of_list["payer"],
            "until": of_list["valid_before"],
        }
    ]
    assert listed(venue, node, OTHER)["payments"] == []
    end_lists(node, monkeypatch)
    with pytest.raises(RuntimeError, match=REFUSED):
        sign(node, of_list)
    assert listed(venue, node, OTHER)["payments"] == []  # nothing is final after its end yet
    worker_once(app)
    other = listed(venue, node, OTHER)
    assert [each["id"] for each in other["payments"]] == [of_list["payments"][0]["id"]]
    assert listed(venue, node)["payments"] == []
    sign(node, other, OTHER)
    worker_once(app)
    assert Refund.get().amount == 7


def test_a_list_has_not_ended_before_the_clock_of_the_server_is_past_its_end(
    app, node, venue, monkeypatch
):
    """A node could invent a late block."""
    owed(venue, node, 7)
    fund(node, 50), fund(node, 50, OTHER)
    of_list = listed(venue, node)
    pass_hours(node, 73)
    worker_once(app)
    (waits,) = listed(venue, node, OTHER)["listed_for_another"]
    assert (waits["payer"], waits["until"]) == (of_list["payer"], of_list["valid_before"])
    pass_hours_here(monkeypatch, 71.9)
    assert listed(venue, node, OTHER)["payments"] == []
    pass_hours_here(monkeypatch, 0.2)
    assert [each["amount"] for each in listed(venue, node, OTHER)["payments"]] == [7]


def test_a_reorganization_takes_a_booked_refund_back_and_it_books_itself_again(app, node, venue):
    (buyer,) = owed(venue, node, 7)
    fund(node, 50)
    of_list = listed(venue, node)
    tx_hash = sign(node, of_list)[-1]
    raw = node.rpc("eth_getRawTransactionByHash", tx_hash)
    worker_once(app)
    assert due([buyer]) == [0]
    node.rpc("anvil_reorg", 1, [])
    worker_once(app)
    node.rpc("anvil_mine", "0x1")
    worker_once(app)
    assert (due([buyer]), buyer.now()["refunds"]) == ([7], [])
    same = listed(venue, node)
    assert [each["id"] for each in same["payments"]] == [each["id"] for each in of_list["payments"]]
    node.rpc("eth_sendRawTransaction", raw)
    worker_once(app)
    assert (due([buyer]), len(buyer.now()["refunds"])) == ([0], 1)
    assert "right" in cli(app, "reconcile")


def test_it_books_itself_as_deep_as_a_payment(three_deep, app, node, venue):
    ticket = venue.ticket()
    buyer = venue.buyer(ticket)
    buyer.pay(node, buyer.intent["amount"] + 7)
    node.rpc("anvil_mine", "0x2")
    worker_once(app)
    state(buyer, anvil.BUYER)
    fund(node, 50)
    of_list = listed(venue, node)
    tx_hash = sign(node, of_list)[-1]
    node.rpc("anvil_mine", "0x1")
    worker_once(app)
    assert due([buyer]) == [7]
    (blocked,) = listed(venue, node)["blocked"]
    assert (blocked["reason"], blocked["tx_hash"]) == ("already_paid", tx_hash)
    node.rpc("anvil_mine", "0x1")
    worker_once(app)
    assert due([buyer]) == [0]


def test_a_stranger_who_pays_exactly_what_was_listed_is_booked(app, node, venue):
    """The payer's own signature still pays. So it is named, and counts when more is due."""
    (buyer,) = owed(venue, node, 7)
    fund(node, 50), fund(node, 50, OTHER)
    of_list = listed(venue, node)
    tx_hash = sign(node, of_list, OTHER)[-1]
    worker_once(app)
    assert due([buyer]) == [0]
    (refund,) = buyer.now()["refunds"]
    assert (refund["tx_hash"], refund["amount"]) == (tx_hash, 7)
    assert refund["sender"] == address.checksum(account(node, OTHER))
    assert listed(venue, node)["unbooked"] == []
    second = sign(node, {"transactions": of_list["transactions"][1:]})[-1]
    worker_once(app)
    assert listed(venue, node)["unbooked"] == [
        {
            "intent_id": buyer.intent["id"],
            "id": of_list["payments"][0]["id"],
            "payer": of_list["payer"],
            "tx_hash": second,
            "to": anvil.BUYER,
            "reason": "nothing_due",
        }
    ]
    assert "right" in cli(app, "reconcile")


OTHERWISE = {
    "another payee": {"to": FRIEND_ADDRESS},
    "less": {"atomic": 6},
    "more": {"atomic": 8},
    "another token": {"token": None},
}


@pytest.mark.parametrize("otherwise", OTHERWISE.values(), ids=OTHERWISE)
def test_a_stranger_with_a_true_id_and_another_payment_changes_nothing(app, node, venue, otherwise):
    (buyer,) = owed(venue, node, 7)
    fund(node, 50), fund(node, 50, OTHER)
    if "token" in otherwise:
        otherwise = {"token": anvil.deploy_token(node.rpc)}
        anvil.mint(node.rpc, otherwise["token"], account(node, OTHER), 50)
    of_list = listed(venue, node)
    pay_with_id(node, of_list, OTHER, **otherwise)
    worker_once(app)
    assert due([buyer]) == [7]
    again = listed(venue, node)
    assert (again["payments"], again["blocked"]) == (of_list["payments"], [])
    assert again["unbooked"] == []
    sign(node, again)
    worker_once(app)
    assert due([buyer]) == [0]
    assert [each["sender"] for each in buyer.now()["refunds"]] == [of_list["payer"]]


def test_a_payment_that_was_settled_by_hand_is_booked_once(app, node, venue):
    (buyer,) = owed(venue, node, 7)
    fund(node, 50)
    of_list = listed(venue, node)
    assert settled(venue, buyer, give_back(node, 7)) == 7
    sign(node, of_list)
    worker_once(app)
    (kept,) = listed(venue, node)["unbooked"]
    assert (kept["reason"], kept["intent_id"]) == ("nothing_due", buyer.intent["id"])
    assert kept["payer"] == of_list["payer"]
    buyer.pay(node, 7)  # later than the second refund, so that one does not pay for it
    worker_once(app)
    assert due([buyer]) == [7]
    assert settled(venue, buyer, kept["tx_hash"]) == 0
    assert "right" in cli(app, "reconcile")


def test_what_is_due_later_for_earlier_money_is_booked_then(app, node, venue):
    """The organizer pays the price of a seat back first, and voids the admission afterwards."""
    (buyer,) = owed(venue, node, 7)
    fund(node, 50)
    of_list = listed(venue, node)
    assert settled(venue, buyer, give_back(node, 7)) == 7
    sign(node, of_list)
    worker_once(app)
    assert listed(venue, node)["unbooked"][0]["reason"] == "nothing_due"
    intent = f"{venue.path}/intents/{buyer.intent['id']}"
    (admission,) = venue.api().get(intent).json["admissions"]
    body = {"reason": "ill", "refund": True}
    path = f"{venue.path}/admissions/{admission['id']}/void"
    assert venue.api().post(path, body).status_code == 200
    worker_once(app)
    assert [each["amount"] for each in buyer.now()["refunds"]] == [7, 7]
    assert listed(venue, node)["unbooked"] == []


def test_a_listed_payment_is_booked_whatever_was_stated_since(app, node, venue):
    """By the rules of payees.py alone, the address would not count any more."""
    (buyer,) = owed(venue, node, 7, to=STRANGER_ADDRESS)
    fund(node, 50)
    of_list = listed(venue, node)
    state(buyer, FRIEND_ADDRESS)
    long_ago = clock.now() - timedelta(hours=73)
    RefundAddress.update(replaced_at=long_ago).where(
        RefundAddress.replaced_at.is_null(False)
    ).execute()
    sign(node, of_list)
    worker_once(app)
    assert due([buyer]) == [0]
    assert [each["recipient"] for each in buyer.now()["refunds"]] == [STRANGER_ADDRESS]
    assert listed(venue, node)["unbooked"] == []


def test_a_frozen_payee_blocks_nobody_else(app, node, venue):
    buyers = owed(venue, node, 7, 8, 9)
    assert state(buyers[1], FRIEND_ADDRESS).status_code == 200
    fund(node, 50)
    with OddCode(node, anvil.TOKEN_ADDRESS) as token:
        token.mint(account(node, PAYER), 50)
        token.freeze(FRIEND_ADDRESS)
        of_list = listed(venue, node)
    assert [each["amount"] for each in of_list["payments"]] == [7, 9]
    assert of_list["blocked"] == [blocked(buyers[1], 8, "transfer_refused")]
    assert of_list["left"] == NOTHING


def test_what_exceeds_the_balance_is_left_out(app, node, venue):
    buyers = owed(venue, node, 7, 8, 2)
    fund(node, 10)
    of_list = listed(venue, node)
    assert [each["intent_id"] for each in of_list["payments"]] == [
        buyers[0].intent["id"],
        buyers[2].intent["id"],
    ]
    assert (of_list["sum"], of_list["balance"]) == (9, 10)
    assert of_list["blocked"] == [blocked(buyers[1], 8, "beyond_balance")]
    assert of_list["left"] == NOTHING


def test_only_orders_with_a_stated_address_are_listed(node, venue):
    (buyer,) = owed(venue, node, 7, to=None)
    fund(node, 50)
    of_list = listed(venue, node)
    assert (of_list["payments"], of_list["left"]) == ([], NOTHING)
    assert of_list["blocked"] == [blocked(buyer, 7, "no_payee")]


def test_a_transfer_of_a_list_counts_for_its_order_only(app, node, venue):
    first, second = owed(venue, node, 7, 9)
    fund(node, 50)
    tx_hash = sign(node, listed(venue, node))[-1]
    assert settled(venue, second, tx_hash) == 9
    assert settled(venue, first, tx_hash) == 7
    worker_once(app)
    assert due([first, second]) == [0, 0]
    assert Refund.select().count() == 2
    assert listed(venue, node)["unbooked"] == []
    assert PayoutEvent.select().where(PayoutEvent.waits).count() == 0


def test_nothing_is_lost_while_the_worker_does_not_run(app, node, venue):
    buyers = owed(venue, node, 7, 9)
    fund(node, 50)
    sign(node, listed(venue, node))
    node.rpc("anvil_mine", "0x40")
    worker_once(app)
    worker_once(app)
    assert due(buyers) == [0, 0]


def test_two_tenants_may_have_one_payer(app, node, venue):
    other = new_organizer(app, "hall", address=account(node, OWNER))
    (mine,), (theirs,) = owed(venue, node, 7), owed(other, node, 9)
    fund(node, 50)
    for organizer in (venue, other):
        sign(node, listed(organizer, node))
    worker_once(app)
    assert due([mine, theirs]) == [0, 0]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"payer": "0x" + "0" * 40}, "payer"),
        ({"payer": anvil.TOKEN_ADDRESS}, "payer"),
        ({"payer": receivers.FACTORY}, "payer"),
        ({"payer": "0x" + "aB" * 20}, "payer"),
        ({"chain_id": 1}, "chain_id"),
        ({"token": "0x" + "aB" * 20}, "token"),
    ],
)
def test_what_cannot_be_listed_is_refused(app, node, venue, fields, field):
    answer = ask(venue, node, **fields)
    assert (answer.status_code, list(answer.json["errors"])) == (422, [field])


def test_an_order_cannot_be_the_payer(app, node, venue):
    buyer = venue.buyer(venue.ticket())
    assert ask(venue, node, payer=buyer.intent["address"]).status_code == 422


def test_a_chain_without_receivers_is_refused(app, node):
    organizer = new_organizer(app, "venue", address=account(node, OWNER))
    assert ask(organizer, node).status_code == 422


def test_only_an_admin_gets_a_list(app, node, venue):
    assert ask(venue, node, role="write").status_code == 403


@pytest.mark.sql
def test_two_admins_with_two_wallets_at_once_never_share_an_order(app, node, venue):
    owed(venue, node, 7, 8, 9)
    fund(node, 50)
    fund(node, 50, OTHER)
    api = venue.api()

    def ask_as(index):
        body = {"chain_id": CHAIN, "payer": account(node, index), "accept_unwitnessed": True}
        answer = Api(app.test_client(), api.headers).post(f"{venue.path}/payouts", body)
        assert answer.status_code in (200, 503), answer.json
        return {each["intent_id"] for each in answer.json.get("payments", ())}

    mine, theirs = at_once(partial(ask_as, PAYER), partial(ask_as, OTHER))
    assert not mine & theirs
    assert len(mine | theirs) == Payout.select().count() == 3
    assert len(listed(venue, node)["payments"]) + len(listed(venue, node, OTHER)["payments"]) == 3


def test_a_list_whose_answer_was_lost_is_the_same_again(app, node, venue, monkeypatch):
    owed(venue, node, 7)
    fund(node, 50)
    with monkeypatch.context() as patched:
        patched.setattr(payouts, "_answer", lambda *_: 1 / 0)
        assert ask(venue, node).status_code == 500
    (row,) = Payout.select()
    assert [each["id"] for each in listed(venue, node)["payments"]] == [row.payment_id]
    assert Payout.select().count() == 1


def test_an_order_that_changes_while_it_is_tried_is_left_out(app, node, venue, monkeypatch):
    stays, moves, waived = owed(venue, node, 7, 8, 9)
    fund(node, 50)
    store = payouts._store

    def change_first(*arguments):
        assert state(moves, FRIEND_ADDRESS).status_code == 200
        assert waive(venue, waived, 9).status_code == 200
        return store(*arguments)

    monkeypatch.setattr(payouts, "_store", change_first)
    of_list = ask(venue, node).json
    assert [each["intent_id"] for each in of_list["payments"]] == [stays.intent["id"]]
    # What was not final yet, or is listed differently now, comes with the next list.
    assert (of_list["sum"], of_list["left"]) == (7, {"orders": 1, "amount": 8})


def test_a_node_that_does_not_answer_is_said(bad_node, app, venue, node):
    owed(venue, node, 7)
    bad_node.go_away()
    assert ask(venue, node).status_code == 503


def test_another_payer_does_not_pay_again_what_a_node_left_out(
    bad_node, app, venue, node, monkeypatch
):
    """The node's logs lack the event for longer than the list lives."""
    (buyer,) = owed(venue, node, 7)
    fund(node, 50)
    fund(node, 50, OTHER)
    of_list = listed(venue, node)
    sign(node, of_list)
    bad_node.rules.append(
        lambda question, answer: (
            {**answer, "result": []} if question["method"] == "eth_getLogs" else answer
        )
    )
    worker_once(app)
    end_lists(node, monkeypatch)
    worker_once(app)
    for_other = listed(venue, node, OTHER)
    used = {"payer": of_list["payer"], "payment_id": of_list["payments"][0]["id"]}
    assert for_other["payments"] == []
    assert for_other["blocked"] == [blocked(buyer, 7, "already_paid", **used)]
    assert due([buyer]) == [7]


@pytest.mark.long
def test_a_kill_at_any_statement_loses_nothing(app, node, venue, environ, monkeypatch):
    """While a list is stored, and while what it paid is read and booked."""
    monkeypatch.setattr(payout_events, "AGAIN", timedelta(0))  # a try that was killed counts as one
    (buyer,) = owed(venue, node, 7)
    fund(node, 50)
    chains_enabled, payer = load(environ).chains, account(node, PAYER)
    chain, by = chains_enabled[CHAIN], Actor("cli", "payouts_create_payout")
    tripwire = Tripwire()
    tripwire.watch_database()

    def until_it_ends(act):
        """Kill it at its first statement, then at its second one, until none is left."""
        ended, point = [], 0
        while not ended:
            point += 1
            with tripwire.armed(point, lambda: None, Killed):
                ended.append(act())
        return ended[0], point

    of_list, kills = until_it_ends(
        lambda: payouts.propose(
            venue.id, CHAIN, None, payer, chains_enabled, by, accept_unwitnessed=True
        )
    )
    assert kills > 10
    (row,) = Payout.select()
    assert [each.payment.id for each in of_list.payments] == [row.payment_id]
    sign(
        node,
        {"transactions": [{"to": each.to, "data": each.data} for each in of_list.transactions]},
    )
    watcher = Watcher(chain)
    watcher.look()
    watcher.leave()
    at = chains.cursor(CHAIN)
    _, kills = until_it_ends(lambda: PayoutReader(chain, connect(chain)).run(at))
    assert kills > 10
    assert due([buyer]) == [0]
    assert Refund.select().count() == 1
    assert "right" in cli(app, "reconcile")


def test_what_exceeds_the_balance_is_named_and_what_was_paid_is_not(venue, node):
    buyers = owed(venue, node, 5, 5)
    found = listed(venue, node)
    assert found["blocked"] == [blocked(each, 5, "beyond_balance") for each in buyers]
    assert found["left"] == NOTHING
    fund(node, 12)
    of_list = listed(venue, node)
    paid = sign(node, of_list)[-1]
    found = listed(venue, node)
    assert (found["balance"], found["left"]) == (2, NOTHING)
    assert found["blocked"] == [
        blocked(
            each,
            5,
            "already_paid",
            payer=of_list["payer"],
            payment_id=payment["id"],
            tx_hash=paid,
        )
        for each, payment in zip(buyers, of_list["payments"], strict=True)
    ]
