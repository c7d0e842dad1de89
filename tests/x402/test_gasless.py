"""Anyone who has the link pays a live order with a signature: once, exactly what is due."""

from datetime import timedelta

import pytest

from tests.support.credentials_table import bearer
from tests.support.factories import PRICE, Api, Buyer, worker_once
from tests.support.gasless import address_of, signed
from tests.support.relayer import held
from tests.support.stopped_clock import StoppedClock
from tests.support.x402 import BUYER_KEY
from ticketing import clock, credentials, links
from ticketing.backoff import Backoff
from ticketing.db.connection import write_transaction
from ticketing.models.x402 import X402Settlement
from ticketing.services.payments import settlement
from ticketing.services.x402 import claims
from tools import anvil

pytestmark = pytest.mark.long

STRANGER_KEY = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"
MINUTE = 60


class Payer:
    """Somebody with a wallet and a secret of an order."""

    def __init__(self, buyer, secret=None, key=BUYER_KEY):
        self.buyer, self.key = buyer, key
        app = buyer.organizer.app
        self.api = Api(app.test_client(), bearer(secret or buyer.intent["client_secret"]))
        self.path = f"{buyer.path}/gasless"
        self.address = address_of(key)

    def asked(self):
        return self.api.get(f"{self.path}?payer={self.address}")

    def signed(self, **changes):
        """The body of the second request. `changes` are of the message that is signed."""
        answer = self.asked()
        assert answer.status_code == 200, answer.text
        return signed(answer.json["typed_data"], self.key, **changes)

    def send(self, body):
        return self.api.post(self.path, body)

    def pay(self, **changes):
        return self.send(self.signed(**changes))


@pytest.fixture
def buyer(acme, ticket):
    return acme.buyer(ticket)


@pytest.fixture
def payer(buyer):
    return Payer(buyer)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(claims, "BACKOFF", Backoff((timedelta(0),)))


def code(answer):
    return answer.status_code, answer.json["code"]


def of_link(buyer):
    """Somebody who has the payment link."""
    keyring = buyer.organizer.app.extensions["ticketing"].keyring
    return Payer(buyer, credentials.pay_secret(keyring.current, buyer.intent["id"], 0))


def test_it_pays_exactly_what_is_due_and_nothing_else_leaves(payer, buyer, node, facilitator):
    before = held(node, payer.address)
    data = payer.asked().json["typed_data"]
    message = data["message"]
    assert (message["from"], message["to"]) == (payer.address, buyer.intent["address"])
    assert (message["value"], message["validAfter"]) == (str(PRICE), "0")
    left = int(message["validBefore"]) - clock.now().timestamp()
    assert 4 * MINUTE < left <= 5 * MINUTE
    assert X402Settlement.select().count() == 0 and facilitator.asked == []
    answer = payer.pay()
    assert (answer.status_code, answer.json["status"]) == (200, "confirmed")
    assert (held(node, buyer.intent["address"]), before - held(node, payer.address)) == (
        PRICE,
        PRICE,
    )
    assert buyer.purchase().json["admissions"]
    assert code(payer.asked()) == (409, "payment_sent")


def test_a_repeat_changes_nothing(payer, facilitator, buyer):
    body = payer.signed()
    answers = [payer.send(body) for _ in range(3)]
    assert [each.json["status"] for each in answers] == ["confirmed"] * 3
    assert len(facilitator.asked) == 1


def test_who_has_the_payment_link_pays_and_learns_nothing(buyer, facilitator):
    other = of_link(buyer)
    answer = other.pay()
    assert answer.status_code == 200
    assert set(answer.json) == set(other.api.get(f"{buyer.path}/payment").json)
    refused = other.asked()
    assert code(refused) == (409, "payment_sent") and "intent" not in refused.json


def test_it_needs_a_secret_of_this_order(buyer, acme, ticket, neighbour):
    payer = of_link(acme.buyer(ticket))
    payer.path = f"{buyer.path}/gasless"
    assert payer.asked().status_code == 404
    there = buyer.path.replace(acme.slug, neighbour.slug)
    assert buyer.api.get(f"{there}/gasless?payer={payer.address}").status_code == 404
    anybody = Api(acme.app.test_client())
    assert anybody.get(f"{buyer.path}/gasless?payer={payer.address}").status_code == 401


def test_after_a_part_exactly_the_rest_is_signed(app, payer, buyer, node):
    anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, buyer.intent["address"], 2_000_000)
    worker_once(app)
    assert payer.asked().json["typed_data"]["message"]["value"] == str(PRICE - 2_000_000)
    assert payer.pay().json["status"] == "confirmed"
    assert held(node, buyer.intent["address"]) == PRICE


@pytest.mark.parametrize("is_seen", [True, False])
def test_if_the_sum_changed_since_it_is_refused(app, payer, buyer, node, facilitator, is_seen):
    body = payer.signed()
    anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, buyer.intent["address"], 2_000_000)
    if is_seen:
        worker_once(app)
    assert code(payer.send(body)) == (409, "transfer_outdated")
    assert facilitator.asked == []
    assert payer.pay().status_code == 200


def test_what_is_not_asked_for_is_refused(payer, buyer, facilitator, node):
    hold = int(clock.now().timestamp()) + 20 * MINUTE
    wrong = [
        {"value": str(PRICE - 1)},
        {"value": str(PRICE + 1)},
        {"to": payer.address},
        {"validAfter": "1"},
        {"validBefore": "1"},
        {"validBefore": str(hold)},
        {"nonce": "0x" + "11" * 32},
    ]
    for changes in wrong:
        assert code(payer.pay(**changes)) == (409, "transfer_outdated"), changes
    stolen = {**payer.signed(), "signature": Payer(buyer, key=STRANGER_KEY).signed()["signature"]}
    answer = payer.send(stolen)
    assert code(answer) == (422, "invalid_request") and list(answer.json["errors"]) == ["signature"]
    assert facilitator.asked == [] and X402Settlement.select().count() == 0


def test_what_cannot_be_a_signed_transfer_is_422(payer):
    good = payer.signed()
    bad = [
        {},
        {**good, "more": 1},
        {**good, "signature": "0x"},
        {**good, "signature": "0x" + "11" * 2049},
        *({**good, name: "x"} for name in good),
        *({**good, name: None} for name in good),
        {**good, "value": PRICE},
        {**good, "value": "9" * 79},
        {**good, "value": "-1"},
    ]
    for body in bad:
        assert code(payer.send(body)) == (422, "invalid_request"), body
    assert payer.api.get(f"{payer.path}?payer=0x12").status_code == 422
    assert payer.api.get(payer.path).status_code == 422


def test_a_contracts_signature_is_left_to_the_facilitator(payer, buyer, node, facilitator):
    body = {**payer.signed(), "signature": "0x" + "ab" * 100}
    assert code(payer.send(body))[0] == 422  # also ERC-6492: the account is not deployed
    facilitator.mode = "refuse"
    node.rpc("anvil_setCode", payer.address, "0x60006000f3")
    assert code(payer.send(body)) == (409, "transfer_refused")
    assert len(facilitator.asked) == 1
    node.rpc("anvil_setCode", payer.address, "0x")


def test_a_refused_transfer_can_be_signed_again_three_times_in_all(payer, facilitator, buyer):
    facilitator.mode = "refuse"
    for _ in range(3):
        answer = payer.pay()
        assert code(answer) == (409, "transfer_refused")
        assert "insufficient_funds" in answer.json["detail"] and "intent" not in answer.json
    payload = facilitator.asked[0]["paymentPayload"]["payload"]
    body = {**payload["authorization"], "signature": payload["signature"]}
    for answer in (payer.asked(), payer.send(body)):
        assert code(answer) == (409, "x402_calls_used") and "intent" not in answer.json


def test_all_that_a_payer_signs_for_a_sum_has_one_nonce(payer, facilitator, node, buyer):
    facilitator.mode = "refuse"
    assert code(payer.pay()) == (409, "transfer_refused")
    node.rpc("evm_increaseTime", 1)
    facilitator.mode = "submit"
    assert payer.pay().status_code == 200
    first, second = (each["paymentPayload"]["payload"] for each in facilitator.asked)
    assert first["authorization"]["nonce"] == second["authorization"]["nonce"]
    with pytest.raises(RuntimeError):
        facilitator.submit(first)  # the facilitator kept it, and sends it late
    assert held(node, buyer.intent["address"]) == PRICE


@pytest.mark.parametrize("mode", ["fail", "lie"])
def test_an_unknown_outcome_is_on_its_way_until_it_is_known(
    app, payer, buyer, facilitator, impatient, node, mode
):
    facilitator.mode = mode
    body = payer.signed()
    answer = payer.send(body)
    assert (answer.status_code, answer.json["amount_due"]) == (202, PRICE)
    assert code(payer.asked()) == (409, "payment_sent")
    assert payer.send(body).status_code == 202
    assert len(facilitator.asked) == 1
    facilitator.mode = "submit"
    for _ in range(2):  # it sends it, and then sees it
        worker_once(app)
    assert payer.send(body).status_code == 200
    assert held(node, buyer.intent["address"]) == PRICE


def test_when_its_time_is_over_on_the_chain_it_can_be_signed_again(
    app, payer, buyer, facilitator, impatient, node
):
    facilitator.mode = "lie"
    assert payer.pay().status_code == 202
    node.rpc("evm_increaseTime", 5 * MINUTE - 10)
    node.rpc("anvil_mine", "0x1")
    worker_once(app)
    assert code(payer.asked()) == (409, "payment_sent")
    node.rpc("evm_increaseTime", 20)
    node.rpc("anvil_mine", "0x1")
    worker_once(app)
    facilitator.mode = "submit"
    answer = payer.pay()
    assert answer.status_code == 200, answer.text
    assert held(node, buyer.intent["address"]) == PRICE


def test_what_the_worker_must_send_is_in_the_database_before(
    app, payer, buyer, facilitator, monkeypatch, node
):
    class Killed(BaseException):
        pass

    def die(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("ticketing.services.x402.facilitator.settle", die)
        with pytest.raises(Killed):
            payer.pay()
    row = X402Settlement.get()
    assert (row.state, row.intent_id, row.value) == ("settling", buyer.intent["id"], str(PRICE))
    monkeypatch.setattr(clock, "now", lambda now=clock.now: now() + claims.CLAIM)
    worker_once(app)
    worker_once(app)
    assert len(facilitator.asked) == 1
    assert held(node, buyer.intent["address"]) == PRICE
    assert buyer.now()["status"] == "confirmed"


def test_an_order_that_has_ended_is_not_signed_for(app, payer, buyer, node, facilitator):
    body = payer.signed()
    assert buyer.cancel().status_code == 200
    for answer in (payer.asked(), payer.send(body)):
        assert code(answer) == (409, "intent_canceled") and "intent" not in answer.json
    assert facilitator.asked == []


@pytest.mark.sql
def test_an_order_is_not_canceled_while_its_transfer_settles(
    app, payer, buyer, facilitator, impatient, acme, ticket
):
    facilitator.mode = "lie"
    assert payer.pay().status_code == 202
    answer = buyer.cancel()
    assert code(answer) == (409, "intent_not_cancelable")
    assert "signed transfer" in answer.json["detail"]
    assert acme.stock(ticket) == (1, 0)
    facilitator.mode = "submit"
    for _ in range(2):
        worker_once(app)
    assert buyer.now()["status"] == "confirmed"


def test_the_same_form_does_not_replace_an_order_while_its_transfer_settles(
    payer, buyer, facilitator, impatient
):
    facilitator.mode = "lie"
    assert payer.pay().status_code == 202
    with write_transaction():
        assert not settlement.withdraw(buyer.intent["id"], [buyer.intent["ticket_id"]])
    assert buyer.now()["status"] == "awaiting_payment"


def test_after_the_hold_nobody_signs(app, payer, buyer, node, facilitator):
    body = payer.signed()
    node.rpc("evm_increaseTime", 20 * MINUTE)
    node.rpc("anvil_mine", "0x1")
    worker_once(app)
    for answer in (payer.asked(), payer.send(body)):
        assert code(answer) == (410, "intent_expired")
    assert facilitator.asked == []


def test_an_order_of_an_agent_can_be_paid_so_too(order, acme, facilitator):
    intent = {**order.json["intent"], "client_secret": order.json["client_secret"]}
    paid = Payer(Buyer(acme, intent)).pay()
    assert (paid.status_code, paid.json["status"]) == (200, "confirmed")
    assert len(facilitator.asked) == 1


def test_a_free_order_cannot(acme, facilitator):
    payer = Payer(acme.buyer(acme.ticket(price_amount=0, chain_id=None)))
    assert code(payer.asked()) == (404, "gasless_not_enabled")


def test_its_page_says_what_is_signed_and_what_is_on_its_way(payer, buyer, facilitator, impatient):
    browser = Api(buyer.organizer.app.test_client(), {"Host": "tickets.example.org"})
    keyring = buyer.organizer.app.extensions["ticketing"].keyring
    page = links.order(buyer.intent["id"], 0, keyring)
    text = browser.get(page).text
    assert "you sign a permission for exactly 5.00 USDC" in text and "data-settling" not in text
    facilitator.mode = "fail"
    assert payer.pay().status_code == 202
    for each in (page, links.payment(buyer.intent["id"], 0, keyring)):
        text = browser.get(each).text
        assert "data-settling" in text and "A payment was signed, and is on its way." in text
        assert 'id="open-wallet"' not in text
        assert "/cancel" not in text and "you sign a permission" not in text


def test_a_body_that_is_too_large_is_413(payer):
    body = {"signature": "0x" + "1" * 70_000}
    assert payer.send(body).status_code == 413


class TestLimits:
    @pytest.fixture
    def environ(self, environ):
        environ["RATE_LIMIT_ORDER"] = "2"
        return environ

    def test_the_limits_of_the_order_and_of_its_payers_apply(self, payer, buyer, monkeypatch):
        StoppedClock(monkeypatch, clock.now())  # one minute
        for each, most in ((payer, 2), (of_link(buyer), 6)):
            assert [each.asked().status_code for _ in range(most)] == [200] * most
            assert each.send({}).status_code == 429
