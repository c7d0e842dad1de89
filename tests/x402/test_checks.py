"""The checks of a payment, in their order, and what each of them answers."""

import base64
import json

import pytest

from tests.support.factories import PRICE
from tests.support.questions import ask
from tests.support.x402 import TOKEN, Wallet, encoded, required
from ticketing.models.payment_intents import PaymentIntent
from tools import anvil

INVALID = (400, "invalid_payment")
STRANGER = "0x" + "11" * 32


def code(answer):
    return answer.status_code, answer.json["code"]


def send(api, path, payment):
    return api.post(path, headers={"PAYMENT-SIGNATURE": encoded(payment)})


@pytest.fixture(params=[False, True], ids=["price", "order"])
def asked(request, api, path, make_order):
    """What a client must sign: for a price, or for an order that waits for its payment."""
    return required(make_order(path) if request.param else api.post(path))


@pytest.fixture
def payment(asked, wallet):
    """A good payment."""
    return wallet.payment(asked)


def test_the_good_payment_is_good(api, path, payment):
    assert send(api, path, payment).status_code == 200


def _headers():
    yield from ("", "x", "e30=", "e30", "W10=", "IjEi", "bnVsbA==", "ü", "/w==", "a" * 9000)
    yield base64.b64encode(b"[" * 5000).decode()
    yield base64.b64encode(b'{"x402Version": NaN}').decode()
    yield base64.b64encode(b'{"x402Version": 2, "x402Version": 2}').decode()


def test_garbage_is_400(api, path):
    for header in _headers():
        answer = api.post(path, headers={"PAYMENT-SIGNATURE": header})
        assert code(answer) == INVALID, header[:50]


def changed(payment, place, value):
    """A copy of a payment with another value at a place such as accepted.extra.claim."""
    copy = json.loads(json.dumps(payment))
    *parents, name = place.split(".")
    members = copy
    for each in parents:
        members = members[each]
    if value is None:
        del members[name]
    else:
        members[name] = value
    return copy


UNREADABLE = (
    ("x402Version", 1),
    ("x402Version", "2"),
    ("x402Version", None),
    ("accepted", None),
    ("accepted", []),
    ("accepted.scheme", "upto"),
    ("accepted.amount", 5),
    ("accepted.amount", "-5"),
    ("accepted.amount", "5" * 79),
    ("accepted.asset", "0x12"),
    ("accepted.payTo", 1),
    ("accepted.extra", None),
    ("accepted.extra", "x"),
    ("accepted.extra.name", None),
    ("accepted.extra.version", 2),
    ("accepted.extra.claim", None),
    ("accepted.extra.claim", "\ud800"),
    ("payload", "x"),
    ("payload.signature", "0x"),
    ("payload.signature", "0x" + "ab" * 3000),
    ("payload.signature", "no hex"),
    ("payload.authorization", None),
    ("payload.authorization.from", "somebody"),
    ("payload.authorization.value", "1e6"),
    ("payload.authorization.validAfter", "x"),
    ("payload.authorization.validBefore", str(2**64)),
    ("payload.authorization.nonce", "0x12"),
)


def test_what_cannot_be_read_is_400(api, path, payment, facilitator):
    for place, value in UNREADABLE:
        assert code(send(api, path, changed(payment, place, value))) == INVALID, place
    assert facilitator.asked == []


def test_a_wrong_address_a_wrong_ticket_type_and_a_wrong_claim_look_the_same(
    api, path, acme, payment, facilitator
):
    other = acme.ticket(capacity=100)
    other_path = f"{path.rpartition('/tickets/')[0]}/tickets/{other['id']}/orders"
    other_claim = required(api.post(other_path))["accepts"][0]["extra"]["claim"]
    answers = [
        send(api, path, changed(payment, "payload.authorization.to", anvil.BUYER)),
        send(api, other_path, payment),
        send(api, path, changed(payment, "accepted.extra.claim", "c_" + "0" * 40)),
        send(api, path, changed(payment, "accepted.extra.claim", other_claim)),
        send(api, path, changed(payment, "accepted.extra.claim", "")),
    ]
    bodies = [{**each.json, "request_id": None} for each in answers]
    assert all(code(each) == INVALID for each in answers)
    assert all(each == bodies[0] for each in bodies)
    assert facilitator.asked == []


def test_another_tenant_has_no_such_order(api, path, neighbour, payment):
    assert code(send(api, path.replace("acme", neighbour.slug), payment)) == INVALID


OTHER_TERMS = (
    ("accepted.network", "eip155:8453"),
    ("accepted.asset", anvil.BUYER),
    ("accepted.payTo", anvil.BUYER),
    ("accepted.amount", str(PRICE - 1)),
    ("accepted.amount", "0"),
    ("accepted.extra.name", "USDC"),
    ("accepted.extra.version", "1"),
)


def test_other_requirements_get_fresh_ones(api, path, payment, facilitator, wallet):
    orders = PaymentIntent.select().count()
    for place, value in OTHER_TERMS:
        answer = send(api, path, changed(payment, place, value))
        assert code(answer) == (402, "payment_required"), place
        fresh = required(answer)
        # An order keeps its address. For a price, no order is made.
        is_same = fresh["accepts"][0]["payTo"] == payment["accepted"]["payTo"]
        assert is_same == (orders == 1), place
        assert PaymentIntent.select().count() == orders, place
    assert facilitator.asked == []
    assert api.post(path, headers=wallet.header(fresh)).status_code == 200


WRONGLY_SIGNED = (
    ({"value": PRICE - 1}, "not the price"),
    ({"value": PRICE + 1}, "not the price"),
    ({"validBefore": 1}, "has expired"),
    ({"validAfter": 2**40}, "not valid yet"),
)


def test_a_transfer_that_the_token_would_refuse_never_reaches_the_facilitator(
    api, path, asked, wallet, facilitator
):
    for fields, reason in WRONGLY_SIGNED:
        answer = api.post(path, headers=wallet.header(asked, **fields))
        assert code(answer) == (402, "payment_required")
        assert reason in answer.json["detail"] and reason in required(answer)["error"]
    assert facilitator.asked == []


def test_a_signature_of_somebody_else_never_reaches_the_facilitator(
    api, path, payment, facilitator, wallet
):
    stranger = Wallet(STRANGER).payment({"accepts": [payment["accepted"]], "resource": {}})
    forged = changed(payment, "payload.signature", stranger["payload"]["signature"])
    for bad in (forged, changed(payment, "payload.signature", "0x" + "ab" * 65)):
        answer = send(api, path, bad)
        assert code(answer) == (402, "payment_required")
        assert "not the payer's" in answer.json["detail"]
    assert facilitator.asked == []
    assert send(api, path, payment).status_code == 200


def test_the_signature_of_a_contract_is_for_the_facilitator_to_judge(
    api, path, asked, wallet, facilitator, node
):
    facilitator.mode = "refuse"
    node.rpc("anvil_setCode", wallet.address, "0xef0100" + anvil.TOKEN_ADDRESS[2:])
    payment = changed(wallet.payment(asked), "payload.signature", "0x" + "ab" * 100)
    assert code(send(api, path, payment)) == (402, "payment_required")
    assert len(facilitator.asked) == 1


def test_the_facilitator_is_asked_three_times_for_one_order(api, path, wallet, facilitator):
    asked = required(api.post(path))
    facilitator.mode = "refuse"
    for _ in range(3):
        answer = api.post(path, headers=wallet.header(asked))
        assert code(answer) == (402, "payment_required")
        assert "insufficient_funds" in required(answer)["error"]
    assert code(api.post(path, headers=wallet.header(asked))) == (409, "x402_calls_used")
    assert len(facilitator.asked) == 3


def test_a_nonce_of_another_order_is_400(api, path, wallet, facilitator):
    first, second = (required(api.post(path)) for _ in range(2))
    nonce = "0x" + "77" * 32
    facilitator.mode = "pending"
    assert api.post(path, headers=wallet.header(first, nonce=nonce)).status_code == 202
    assert code(api.post(path, headers=wallet.header(second, nonce=nonce))) == INVALID


def test_a_canceled_order_is_gone(api, path, acme, wallet, facilitator):
    facilitator.mode = "refuse"
    answer = api.post(path, headers=wallet.header(required(api.post(path))))
    intent, secret = answer.json["intent"], answer.json["client_secret"]
    cancel = f"{acme.checkout}/intents/{intent['id']}/cancel"
    assert api.post(cancel, headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    gone = api.post(path, headers=wallet.header(required(answer)))
    assert code(gone) == (410, "order_ended")
    assert gone.json["intent"]["status"] == "canceled"
    assert len(facilitator.asked) == 1


def test_an_expired_order_is_gone(api, path, wallet, facilitator, node, app):
    facilitator.mode = "refuse"
    answer = api.post(path, headers=wallet.header(required(api.post(path))))
    payment = wallet.header(required(answer), validBefore=2**40)
    node.rpc("evm_increaseTime", 400)
    node.rpc("anvil_mine", "0x1")
    assert code(api.post(path, headers=payment)) == (410, "order_ended")
    assert len(facilitator.asked) == 1


def test_no_secret_is_logged(api, path, wallet, facilitator, caplog):
    caplog.set_level("DEBUG")
    facilitator.mode = "fail"
    asked = required(api.post(path))
    answer = api.post(path, headers=wallet.header(asked))
    for secret in (asked["accepts"][0]["extra"]["claim"], answer.json["client_secret"], TOKEN):
        assert secret not in caplog.text
    assert facilitator.url not in caplog.text


def test_a_missing_answer_is_refused_before_a_price_is_named(api, path, acme, ticket, wallet):
    ask(acme, ticket["event_id"], identifier="diet", required=True)
    refused = api.post(path)
    assert (refused.status_code, list(refused.json["errors"])) == (422, ["answers.diet"])
    assert "PAYMENT-REQUIRED" not in refused.headers and acme.stock(ticket) == (0, 0)
    body = {"answers": {"diet": "Cake"}}
    order = api.post(path, body, headers=wallet.header(required(api.post(path, body))))
    made = acme.api().get(f"{acme.path}/intents/{order.json['id']}").json
    assert made["answers"] == {"diet": "Cake"}
