"""Thieves, copies, facilitators that fail or lie, and chains that change: nobody pays twice."""

import time
from contextlib import ExitStack
from datetime import timedelta

import pytest

from tests.support.factories import PRICE, worker_once
from tests.support.relayer import held
from tests.support.x402 import calldata, encoded, required
from ticketing import clock
from ticketing.backoff import Backoff
from ticketing.chain.errors import RpcSilent
from ticketing.chain.node import Node
from ticketing.errors import ChainUnavailable
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.x402 import X402Settlement
from ticketing.services import checkout, node_slots
from ticketing.services.x402 import claims, sales
from ticketing.services.x402 import facilitator as client
from tools import anvil

pytestmark = pytest.mark.exhaustive


@pytest.fixture
def asked(api, path):
    """What a client must sign, as the first response says: a price and an address."""
    return required(api.post(path))


@pytest.fixture
def payment(asked, wallet):
    return wallet.header(asked)


@pytest.fixture
def impatient(monkeypatch):
    """The worker goes on at once, and nobody waits long for the facilitator."""
    monkeypatch.setattr(claims, "BACKOFF", Backoff((timedelta(0),)))
    monkeypatch.setattr(client, "TIMEOUT_SECONDS", 0.5)


def address(asked):
    return asked["accepts"][0]["payTo"]


def code(answer):
    return answer.status_code, answer.json["code"]


@pytest.mark.parametrize("has_order", [False, True])
def test_a_thief_who_reads_the_calldata_gets_nothing(
    api, path, asked, wallet, node, facilitator, make_order, has_order
):
    good = wallet.payment(asked)
    bought = api.post(path, headers={"PAYMENT-SIGNATURE": encoded(good)})
    assert bought.status_code == 200
    assert len(facilitator.asked) == 1
    block = node.rpc("eth_getBlockByNumber", "latest", True)
    assert [each["input"] for each in block["transactions"]] == [calldata(good["payload"])]
    # What is on the chain, with the claim that the thief got for a price or an order of their own.
    own = required(make_order(path) if has_order else api.post(path))
    accepted = {**own["accepts"][0], "payTo": address(asked)}
    assert accepted["extra"]["claim"].startswith("c_" if has_order else "p_")
    facilitator.asked.clear()
    stolen = {**good, "accepted": accepted}
    answer = api.post(path, headers={"PAYMENT-SIGNATURE": encoded(stolen)})
    assert code(answer) == (400, "invalid_payment")
    # With the thief's own claim and address, the thief must pay, too.
    answer = api.post(path, headers=wallet.header(own, value=1))
    assert code(answer) == (402, "payment_required")
    for each in (answer, api.post(path)):
        assert bought.json["admissions"][0]["code"] not in each.text
        assert bought.json["client_secret"] not in each.text
    assert facilitator.asked == []


def test_a_repeat_of_ones_own_gets_the_same_ticket(api, path, payment, facilitator, asked, node):
    first, again = (api.post(path, headers=payment) for _ in range(2))
    assert first.status_code == again.status_code == 200
    assert first.json["admissions"] == again.json["admissions"]
    assert first.headers["PAYMENT-RESPONSE"] == again.headers["PAYMENT-RESPONSE"]
    assert len(facilitator.asked) == 1
    assert held(node, address(asked)) == PRICE


def test_an_old_payment_gets_its_ticket_after_the_facilitator_is_gone(
    api, path, payment, facilitator
):
    assert api.post(path, headers=payment).status_code == 200
    facilitator.stop()
    assert api.post(path, headers=payment).status_code == 200


@pytest.mark.parametrize("mode", ["submit, then hang", "submit, then fail", "submit, then pending"])
def test_a_facilitator_that_broadcast_and_failed_is_no_reason_to_pay_again(
    api, path, payment, facilitator, impatient, asked, node, mode
):
    facilitator.mode = mode
    # The chain shows the payment, whatever the facilitator says.
    assert api.post(path, headers=payment).status_code == 200
    assert held(node, address(asked)) == PRICE


def test_a_refusal_of_what_was_submitted_is_not_believed(
    api, path, payment, facilitator, asked, node
):
    facilitator.mode = "submit, then refuse"
    assert api.post(path, headers=payment).status_code == 200


@pytest.mark.parametrize("mode", ["hang", "fail", "garbage", "pending", "lie"])
def test_an_unknown_outcome_is_202_and_the_worker_goes_on(
    app, api, path, payment, facilitator, impatient, asked, node, wallet, mode
):
    facilitator.mode = mode
    answer = api.post(path, headers=payment)
    assert answer.status_code == 202
    assert answer.json["admissions"] == [] and "PAYMENT-RESPONSE" not in answer.headers
    assert int(answer.headers["Retry-After"]) > 0
    # Neither the same payment nor another one is submitted meanwhile.
    for each in (payment, wallet.header(asked)):
        assert api.post(path, headers=each).status_code == 202
    assert len(facilitator.asked) == 1
    facilitator.mode = "submit"
    facilitator.wake()
    worker_once(app)
    assert api.post(path, headers=payment).status_code == 200
    assert held(node, address(asked)) == PRICE


def test_a_facilitator_that_is_down_is_202(app, api, path, payment, facilitator, impatient):
    facilitator.stop()
    assert api.post(path, headers=payment).status_code == 202
    worker_once(app)
    assert api.post(path, headers=payment).status_code == 202


def test_while_a_refused_transfer_cannot_be_read_nobody_is_asked_to_pay_again(
    api, path, payment, facilitator, node, monkeypatch
):
    facilitator.mode = "refuse"

    def silent(*_):
        raise RpcSilent("it does not respond")

    with monkeypatch.context() as patch:
        patch.setattr(Node, "is_authorization_used", silent)
        assert api.post(path, headers=payment).status_code == 202


def test_a_refused_transfer_is_not_looked_for_while_others_wait_for_nodes(
    api, path, payment, facilitator, monkeypatch
):
    facilitator.mode = "refuse"
    look = sales.look

    def look_then_others(intent, config):
        if facilitator.asked:  # it has refused
            others.enter_context(node_slots.slot("one"))
            others.enter_context(node_slots.slot("another"))
        return look(intent, config)

    with ExitStack() as others, monkeypatch.context() as patch:
        patch.setattr(sales, "look", look_then_others)
        assert api.post(path, headers=payment).status_code == 202


def test_a_lying_facilitator_is_asked_three_times_in_all(
    app, api, path, payment, facilitator, impatient, acme, ticket
):
    facilitator.mode = "lie"
    assert api.post(path, headers=payment).status_code == 202
    for _ in range(5):
        worker_once(app)
    assert len(facilitator.asked) == 3
    assert acme.stock(ticket) == (1, 0)


def test_a_transfer_that_expired_is_given_up(
    app, api, path, payment, facilitator, impatient, node, asked
):
    facilitator.mode = "lie"
    assert api.post(path, headers=payment).status_code == 202
    node.rpc("evm_increaseTime", 400)
    node.rpc("anvil_mine", "0x1")
    worker_once(app)
    worker_once(app)
    assert code(api.post(path, headers=payment)) == (410, "order_ended")
    assert held(node, address(asked)) == 0


def test_a_transfer_that_is_submitted_late_falls_under_the_late_rule(
    app, api, path, wallet, facilitator, impatient, node, asked
):
    payment = wallet.payment(asked, validBefore=int(time.time()) + 3_000)
    header = {"PAYMENT-SIGNATURE": encoded(payment)}
    facilitator.mode = "lie"
    assert api.post(path, headers=header).status_code == 202
    node.rpc("evm_increaseTime", 400)
    node.rpc("anvil_mine", "0x1")
    worker_once(app)
    facilitator.submit(payment["payload"])
    worker_once(app)
    worker_once(app)
    answer = api.post(path, headers=header)
    assert answer.status_code == 200 and answer.json["flags"] == ["paid_late"]


@pytest.mark.parametrize("has_order", [False, True])
def test_a_node_that_falls_silent_leaves_the_payment_to_the_worker(
    app, api, path, facilitator, monkeypatch, make_order, wallet, has_order
):
    first = make_order(path) if has_order else api.post(path)
    payment = wallet.header(required(first))

    def silent(*_):
        raise ChainUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(checkout, "settle_now", silent)
        assert api.post(path, headers=payment).status_code == 202
    assert facilitator.asked == []
    worker_once(app)
    assert len(facilitator.asked) == 1
    assert api.post(path, headers=payment).status_code == 200


def test_while_a_node_is_silent_no_order_is_made_for_a_price(
    api, path, payment, facilitator, monkeypatch, acme, ticket
):
    """Nobody knows whether the payer has the money."""

    def silent(*_):
        raise RpcSilent("it does not respond")

    with monkeypatch.context() as patch:
        patch.setattr(Node, "holdings", silent)
        answer = api.post(path, headers=payment)
    assert code(answer) == (503, "chain_unavailable") and int(answer.headers["Retry-After"]) > 0
    assert (facilitator.asked, acme.stock(ticket)) == ([], (0, 0))
    assert api.post(path, headers=payment).status_code == 200


def test_before_the_worker_settles_it_looks_for_another_payment(
    app, api, path, payment, facilitator, monkeypatch, node, asked
):
    def silent(*_):
        raise ChainUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(checkout, "settle_now", silent)
        assert api.post(path, headers=payment).status_code == 202
    anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, address(asked), PRICE)
    worker_once(app)
    assert facilitator.asked == []
    assert api.post(path, headers=payment).status_code == 200


@pytest.mark.parametrize("has_order", [False, True])
def test_a_payment_in_parts_asks_for_the_rest(
    app, api, path, wallet, node, facilitator, make_order, has_order
):
    """Also if the first part arrived, and was seen, before there was an order."""
    asked = required(make_order(path) if has_order else api.post(path))
    anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, address(asked), PRICE - 1_000_000)
    if not has_order:
        worker_once(app)
    answer = api.post(path, headers=wallet.header(asked))
    assert code(answer) == (402, "payment_required")
    assert facilitator.asked == []
    fresh = required(answer)
    assert (address(fresh), fresh["accepts"][0]["amount"]) == (address(asked), "1000000")
    rest = wallet.header(fresh)
    assert api.post(path, headers=rest).status_code == 200
    # The header for the rest still gets the ticket, although nothing is due.
    assert api.post(path, headers=rest).status_code == 200
    assert held(node, address(asked)) == PRICE


def test_after_a_reorganization_the_ticket_is_suspended_and_nobody_pays_again(
    app, api, path, payment, facilitator, node, asked
):
    assert api.post(path, headers=payment).status_code == 200
    worker_once(app)
    transaction = node.rpc("eth_getBlockByNumber", "latest", False)["transactions"][0]
    raw = node.rpc("eth_getRawTransactionByHash", transaction)
    node.rpc("anvil_reorg", 1, [])
    node.rpc("anvil_mine", "0x2")
    worker_once(app)
    answer = api.post(path, headers=payment)
    assert code(answer) == (409, "intent_reversed")
    assert len(facilitator.asked) == 1
    if node.rpc("eth_getTransactionReceipt", transaction) is None:
        node.rpc("eth_sendRawTransaction", raw)
        node.rpc("anvil_mine", "0x1")
    worker_once(app)
    assert api.post(path, headers=payment).status_code == 200
    assert held(node, address(asked)) == PRICE


def test_a_transfer_of_an_order_that_has_ended_is_not_asked_for_again(
    app, api, path, wallet, facilitator, impatient, node, asked
):
    """It is good for an hour more. An empty wallet made such rows for ever."""
    payment = wallet.payment(asked, validBefore=int(time.time()) + 3_000)
    facilitator.mode = "pending"
    header = {"PAYMENT-SIGNATURE": encoded(payment)}
    assert api.post(path, headers=header).status_code == 202
    node.rpc("evm_increaseTime", 400)
    node.rpc("anvil_mine", "0x1")
    worker_once(app)
    worker_once(app)
    (row,) = X402Settlement.select()
    assert row.state == "failed" and row.valid_before > time.time()
    assert code(api.post(path, headers=header)) == (410, "order_ended")


def test_pauses_grow_and_open_orders_come_first(app, api, path, acme, wallet, facilitator):
    """Two hundred old transfers without an outcome do not delay an honest payment."""
    facilitator.mode = "pending"
    integration = acme.with_headers({"X-API-Key": acme.admin_key})
    old, ended, honest = (
        integration.post(path, headers=wallet.header(required(integration.post(path))))
        for _ in range(3)
    )
    assert {each.status_code for each in (old, ended, honest)} == {202}
    moments = zip((old, ended, honest), (3, 2, 1), strict=True)
    for each, minutes in moments:
        past = clock.now() - timedelta(minutes=minutes)
        of_order = X402Settlement.intent == each.json["id"]
        X402Settlement.update(next_at=past, created_at=past).where(of_order).execute()
    PaymentIntent.update(status="reversed").where(PaymentIntent.id == ended.json["id"]).execute()
    found = [row.intent_id for row in claims.due(31337)]
    assert found == [each.json["id"] for each in (old, honest, ended)]
    row = claims.due(31337)[0]
    assert claims.take(row)
    claims.wait(row)
    again = X402Settlement.get(X402Settlement.intent == row.intent_id)
    assert timedelta(seconds=40) < again.next_at - clock.now() < timedelta(seconds=50)
