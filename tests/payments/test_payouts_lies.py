"""What a lying node or a stranger can't do: make an organizer pay twice.

Real nodes, with a proxy that lies in one answer. Each test is an attack that took test money once.
"""

import pytest

from tests.support.factories import CHAIN, new_organizer, worker_once
from tests.support.payouts import (
    OTHER,
    OWNER,
    PAYER,
    STRANGER,
    answers_no,
    ask,
    blocked,
    end_lists,
    fund,
    listed,
    owed,
    pass_over,
    refund,
    sign,
    with_address,
    worthless,
)
from tests.support.refunds import account, settled, state
from tests.support.relayer import held
from ticketing.chain import address
from ticketing.chain.answers import TRANSFER_TOPIC
from ticketing.chain.refunded_events import REFUNDED_TOPIC
from ticketing.models.audit_log import AuditLogEntry
from ticketing.models.payments import Payment
from ticketing.models.payouts import PayoutEvent
from ticketing.services.money import payout_checks
from ticketing.worker import witness_check
from tools import anvil

REFUSED = r"revert|failed"

pytestmark = pytest.mark.usefixtures("node")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Nodes that lag and disagree are asked again at once."""
    monkeypatch.setattr(payout_checks, "BEHIND_SECONDS", 0.0)
    monkeypatch.setattr(witness_check, "AGAIN_SECONDS", 0.0)


@pytest.fixture
def venue(app, node):
    venue = with_address(app, node)
    for index in (OWNER, PAYER, OTHER):
        fund(node, 50_000_000, index)
    return venue


def due(buyer):
    return buyer.now()["refund_due"]


# A node that lies.


def invents_a_payment(buyer, amount):
    """Answer with one more Transfer to an order than there is, and tell the truth otherwise."""
    to = buyer.intent["address"].lower()[2:]

    def rule(question, answer):
        if question["method"] != "eth_getLogs":
            return answer
        invented = [
            {**log, "logIndex": "0x99", "data": f"0x{amount:064x}"}
            for log in answer["result"]
            if log["topics"][0] == TRANSFER_TOPIC and log["topics"][2].endswith(to)
        ]
        return {**answer, "result": [*answer["result"], *invented[:1]]}

    return rule


def test_a_payment_that_a_node_invents_is_not_paid_back(bad_node, app, node, venue):
    ticket = venue.ticket(capacity=10)
    honest, liar = venue.buyer(ticket), venue.buyer(ticket)
    honest.pay(node, honest.intent["amount"] + 3)
    worker_once(app)
    bad_node.rules.append(invents_a_payment(liar, 1_000_000_000))
    liar.pay(node)
    worker_once(app)
    bad_node.rules.clear()
    assert due(liar) == 1_000_000_000
    for buyer in (honest, liar):
        assert state(buyer, anvil.BUYER).status_code == 200
    fund(node, 2_000_000_000)
    of_list = listed(venue, node)
    assert [each["intent_id"] for each in of_list["payments"]] == [honest.intent["id"]]
    assert blocked(of_list) == [("not_covered", 1_000_000_000)]


def test_an_event_that_a_node_invents_moves_no_id(bad_node, app, node, venue):
    """The list that can be paid already, and the next one, must have the same ids."""
    buyer, other = owed(venue, node, 7, 9)
    first = listed(venue, node)
    payer = address.checksum(account(node, PAYER))
    id_ = first["payments"][0]["id"]
    refund(node, STRANGER, worthless(node), ("0x" + "77" * 32, anvil.BUYER, 1))

    def rule(question, answer):
        if question["method"] != "eth_getLogs":
            return answer
        mine = [
            {**log, "topics": [REFUNDED_TOPIC, f"0x{payer[2:].lower():0>64}", id_]}
            for log in answer["result"]
            if log["topics"][0] == REFUNDED_TOPIC
        ]
        return {**answer, "result": [*answer["result"], *mine]}

    # The node has the event where it is asked for this id.
    bad_node.rules.append(rule)
    worker_once(app)
    assert PayoutEvent.select().count() == 0
    second = listed(venue, node)
    assert [each["id"] for each in second["payments"]] == [each["id"] for each in first["payments"]]
    bad_node.rules.clear()
    before = held(node, anvil.BUYER)
    sign(node, second)
    with pytest.raises(RuntimeError, match=REFUSED):
        sign(node, {"transactions": [first["transactions"][-1]]})
    worker_once(app)
    assert (due(buyer), due(other), held(node, anvil.BUYER) - before) == (0, 0, 16)


@pytest.fixture
def two_urls(environ, bad_node, node):
    """The first URL lies when a test says so, the second one is honest."""
    environ["RPC_URL_31337"] = f"{bad_node.url} {node.url}"
    return bad_node


def test_another_payer_does_not_pay_again_what_one_node_hides(
    two_urls, app, node, venue, monkeypatch
):
    (buyer,) = owed(venue, node, 7)
    paid = sign(node, listed(venue, node))[-1]
    two_urls.rules.append(answers_no)
    end_lists(node, monkeypatch)
    worker_once(app)
    assert due(buyer) == 7
    other = listed(venue, node, OTHER)
    assert (other["payments"], blocked(other)) == ([], [("already_paid", 7)])
    assert other["blocked"][0]["payer"] == address.checksum(account(node, PAYER))
    two_urls.rules.clear()
    assert settled(venue, buyer, paid) == 7
    assert due(buyer) == 0


def test_an_order_of_an_ended_list_waits_while_a_url_does_not_answer(
    two_urls, app, node, venue, monkeypatch
):
    """The silent one may be the honest one. Orders that were on no list are paid."""
    old, new = owed(venue, node, 7, 9)
    listed_before = ask(venue, node, only=[old.intent["id"]]).json
    end_lists(node, monkeypatch)
    worker_once(app)
    two_urls.refuse("eth_call")
    other = listed(venue, node, OTHER)
    assert [each["intent_id"] for each in other["payments"]] == [new.intent["id"]]
    assert blocked(other) == [("nodes_behind", 7)]
    two_urls.well()
    other = listed(venue, node, OTHER)
    assert len(other["payments"]) == 2
    assert listed_before["payments"][0]["id"] == other["payments"][0]["id"]


def test_a_node_that_lags_names_the_orders_that_wait(bad_node, app, node, venue):
    owed(venue, node, 7, 9)

    def behind(question, answer):
        """Refuse the newest block by its hash, and do not have it."""
        if question["method"] == "eth_call" and isinstance(question["params"][-1], dict):
            return {"id": answer["id"], "error": {"code": -32000, "message": "unknown block"}}
        return answer

    bad_node.rules.append(behind)
    assert listed(venue, node)["sum"] == 16  # it is asked by number, and has the hash
    head = node.rpc("eth_blockNumber")

    def lags(question, answer):
        is_newest = question["method"] == "eth_getBlockByNumber" and question["params"][0] == head
        return {**answer, "result": None} if is_newest else behind(question, answer)

    node.rpc("anvil_mine", "0x1")
    bad_node.rules[:] = [lags]
    of_list = listed(venue, node)
    assert of_list["payments"] == []
    assert {reason for reason, _ in blocked(of_list)} <= {"nodes_behind"}


def test_two_urls_witness_payments_and_an_organizer_says_nothing(two_urls, app, node, venue):
    owed(venue, node, 7, 9)
    worker_once(app)
    assert {each.witnessed for each in Payment.select()} == {True}
    of_list = ask(venue, node, accept_unwitnessed=False).json
    assert (of_list["sum"], of_list["blocked"]) == (16, [])
    (chain,) = venue.api().get("/readyz").json["chains"]
    assert chain["note"] is None
    preview = previewed(venue, node)
    assert [(each["witnessed"], each["payments"]) for each in preview["orders"]] == [(True, [])] * 2


def previewed(venue, node, index=PAYER):
    query = f"chain_id={CHAIN}&payer={account(node, index)}"
    answer = venue.api().get(f"{venue.path}/payouts/preview?{query}")
    assert answer.status_code == 200, answer.json
    return answer.json


def test_with_one_url_nobody_else_has_seen_the_money(app, node, venue):
    (buyer,) = owed(venue, node, 7)
    of_list = ask(venue, node, accept_unwitnessed=False).json
    assert (of_list["payments"], blocked(of_list)) == ([], [("unwitnessed", 7)])
    (chain,) = venue.api().get("/readyz").json["chains"]
    assert chain["note"] == "A second RPC URL protects your refunds."
    (order,) = previewed(venue, node)["orders"]
    (paid,) = order["payments"]
    (booked,) = Payment.select()
    assert (paid["tx_hash"], paid["log_index"]) == (booked.tx_hash, booked.log_index)
    assert paid["address"] == buyer.intent["address"]
    assert int(paid["atomic_amount"]) == buyer.intent["amount"] + 7
    assert order["ids"] == []
    listed(venue, node)
    assert previewed(venue, node)["orders"][0]["ids"] == [
        {
            "payer": address.checksum(account(node, PAYER)),
            "id": listed(venue, node)["payments"][0]["id"],
        }
    ]


def test_money_that_a_node_invents_with_its_balance_is_not_witnessed(two_urls, app, node, venue):
    """It invents the payment, its receipt, and the balance of the address, all alike."""
    amount = 1_000_000_000
    ticket = venue.ticket(capacity=10)
    liar = venue.buyer(ticket)
    order = liar.intent["address"].lower()[2:]
    with_logs = invents_a_payment(liar, amount)

    def rule(question, answer):
        if question["method"] == "eth_getTransactionReceipt" and answer["result"]:
            logs = answer["result"]["logs"]
            more = [{**log, "logIndex": "0x99", "data": f"0x{amount:064x}"} for log in logs]
            return {**answer, "result": {**answer["result"], "logs": [*logs, *more]}}
        if question["method"] == "eth_call" and order in str(question["params"][0]):
            return {**answer, "result": f"0x{amount * 2:064x}"}
        return with_logs(question, answer)

    two_urls.rules.append(rule)
    liar.pay(node)
    worker_once(app)
    assert due(liar) == amount
    assert state(liar, anvil.BUYER).status_code == 200
    worker_once(app)
    fund(node, 2 * amount)
    of_list = ask(venue, node, accept_unwitnessed=False).json
    assert (of_list["payments"], blocked(of_list)) == ([], [("unwitnessed", amount)])
    assert {each.witnessed for each in Payment.select()} == {True, False}


# Strangers, and payers who use an id otherwise.


def test_events_of_strangers_never_change_an_id(app, node, venue):
    """Of any token, amount and payee, while a list is valid and after it was paid."""
    (buyer,) = owed(venue, node, 7)
    first = listed(venue, node)
    (payment,) = first["payments"]
    thief = account(node, STRANGER)
    fund(node, 100, STRANGER)
    refund(node, STRANGER, worthless(node), (payment["id"], anvil.BUYER, 7))
    refund(node, OTHER, anvil.TOKEN_ADDRESS, (payment["id"], thief, 1))
    worker_once(app)
    assert listed(venue, node)["payments"] == [payment]
    assert due(buyer) == 7
    sign(node, {"transactions": first["transactions"][1:]})
    worker_once(app)
    assert due(buyer) == 0
    assert [each["sender"] for each in buyer.now()["refunds"]] == [
        address.checksum(account(node, PAYER))
    ]


def test_what_a_list_says_is_booked_whoever_pays_it_and_the_order_says_who(app, node, venue):
    """A wallet that signs with another account has really paid."""
    (buyer,) = owed(venue, node, 7)
    (payment,) = listed(venue, node)["payments"]
    refund(node, OTHER, anvil.TOKEN_ADDRESS, (payment["id"], payment["to"], 7))
    worker_once(app)
    assert due(buyer) == 0
    (paid,) = buyer.now()["refunds"]
    assert paid["sender"] == address.checksum(account(node, OTHER))


@pytest.mark.parametrize("elsewhere", ["payee", "amount"])
def test_real_money_of_a_payer_that_no_list_has_holds_the_order_back(
    app, node, venue, monkeypatch, elsewhere
):
    (buyer,) = owed(venue, node, 7)
    (payment,) = listed(venue, node)["payments"]
    to, amount = (account(node, STRANGER), 7) if elsewhere == "payee" else (payment["to"], 4)
    paid = refund(node, PAYER, anvil.TOKEN_ADDRESS, (payment["id"], to, amount))
    worker_once(app)
    assert due(buyer) == 7
    of_list = listed(venue, node)
    assert (of_list["payments"], blocked(of_list)) == ([], [("paid_elsewhere", 7)])
    (held_back,) = of_list["blocked"]
    assert (held_back["tx_hash"], held_back["payment_id"]) == (paid, payment["id"])
    word = {"payer": held_back["payer"], "payment_id": held_back["payment_id"]}
    assert pass_over(venue, buyer, "write", **word).status_code == 403
    early = pass_over(venue, buyer, **word)
    assert (early.status_code, early.json["code"]) == (409, "refund_listed")
    end_lists(node, monkeypatch)
    worker_once(app)
    assert pass_over(venue, buyer, **word).status_code == 200
    (next_payment,) = listed(venue, node)["payments"]
    assert next_payment["id"] != payment["id"]
    assert AuditLogEntry.select().where(AuditLogEntry.action == "passed_ids_pass_over_id").exists()


def test_real_money_that_went_elsewhere_is_settled_by_an_administrator(app, node, venue):
    (buyer,) = owed(venue, node, 7)
    (payment,) = listed(venue, node)["payments"]
    paid = refund(node, PAYER, anvil.TOKEN_ADDRESS, (payment["id"], payment["to"], 4))
    worker_once(app)
    assert blocked(listed(venue, node)) == [("paid_elsewhere", 7)]
    assert settled(venue, buyer, paid) == 4
    (rest,) = listed(venue, node)["payments"]
    assert (rest["amount"], rest["id"] != payment["id"]) == (3, True)


def test_an_id_of_another_order_cannot_be_passed_over(app, node, venue):
    mine, other = owed(venue, node, 7, 9)
    payments = listed(venue, node)["payments"]
    of_other = payments[1]["id"]
    word = {"payer": account(node, PAYER), "payment_id": of_other}
    assert pass_over(venue, mine, **word).status_code == 404
    stranger = new_organizer(app, "evil")
    path = f"{stranger.path}/refunds/{other.intent['id']}/pass-over"
    assert stranger.api().post(path, {"reason": "mine", **word}).status_code == 404


# Nothing is left out uncounted.


def test_what_is_due_is_listed_or_blocked_or_left(app, node, venue, monkeypatch):
    monkeypatch.setattr("ticketing.services.money.payout_candidates.SHOWN", 1)
    stated = owed(venue, node, 1, 2, 3, 4, 50_000_001)
    unstated = owed(venue, node, 10, 20, to=None)
    of_another = stated[0]
    ask(venue, node, OTHER, only=[of_another.intent["id"]])
    by_hand = stated[1]
    path = f"{venue.path}/refunds/{by_hand.intent['id']}/by-hand"
    assert venue.api().post(path, {"by_hand": True}).status_code == 200
    fund(node, 7_000_000)
    chosen = [each.intent["id"] for each in (stated[2], stated[4])]
    fund(node, 1)
    of_list = ask(venue, node, OWNER, only=chosen).json
    parts = [*of_list["blocked"], *of_list["listed_for_another"]]
    assert of_list["sum"] == 3
    assert {each["reason"] for each in of_list["blocked"]} == {
        "by_hand",
        "no_payee",
        "not_chosen",
        "beyond_balance",
    }
    assert [each["amount"] for each in of_list["listed_for_another"]] == [1]
    buyers = [*stated, *unstated]
    assert sum(map(due, buyers)) == (
        of_list["sum"] + sum(each["amount"] for each in parts) + of_list["left"]["amount"]
    )
    assert len(buyers) == len(of_list["payments"]) + len(parts) + of_list["left"]["orders"]
    assert of_list["left"] == {"orders": 1, "amount": 20}
    preview = previewed(venue, node, OWNER)
    parts = [*preview["orders"], *preview["blocked"], *preview["listed_for_another"]]
    assert sum(map(due, buyers)) == (
        sum(each["amount"] for each in parts) + preview["left"]["amount"]
    )
