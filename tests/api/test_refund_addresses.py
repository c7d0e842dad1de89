"""Where a buyer wants money back: stated with the client secret alone.

Here a statement counts at once. When it does: tests/notifications/mail/test_payees.py.
"""

from datetime import UTC, datetime

import pytest

from tests.support.admissions import given
from tests.support.factories import Api
from tests.support.order_pages import press, text_of
from tests.support.refunds import received
from tests.support.stopped_clock import StoppedClock
from ticketing.models.notifications import Notification
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import RefundAddress
from tools import anvil

ADDRESS = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
OTHER = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"


@pytest.fixture
def environ(environ):
    return {**environ, "REFUND_CHANGE_HOURS": "0"}


@pytest.fixture
def unpaid(acme):
    """A buyer who has paid nothing."""
    return acme.buyer(acme.ticket())


@pytest.fixture
def buyer(unpaid):
    """A buyer who has paid the smallest part of the price."""
    received(unpaid)
    return unpaid


def changes(buyer):
    """How many changes were recorded, each of which is a mail."""
    of_order = Notification.intent_id == buyer.intent["id"]
    type = Notification.type == "refund.address_changed"
    return Notification.select().where(of_order, type).count()


def addresses(number):
    return [f"0x{'ab' * 19}{place:02x}" for place in range(1, number + 1)]


def state(buyer, address, api=None):
    return (api or buyer.api).post(f"{buyer.path}/refund-address", {"address": address})


def history(buyer):
    rows = RefundAddress.select().order_by(RefundAddress.id)
    return [
        (row.address, row.replaced_at is None)
        for row in rows
        if row.intent_id == buyer.intent["id"]
    ]


def test_it_is_shown_by_the_order(buyer):
    assert buyer.now()["refund_address"] is None
    answer = state(buyer, ADDRESS)
    assert (answer.status_code, answer.json["refund_address"]) == (200, ADDRESS)
    assert buyer.now() == answer.json


@pytest.mark.parametrize("status", ["awaiting_payment", "expired", "canceled"])
def test_it_is_refused_while_nothing_was_ever_received(unpaid, status):
    PaymentIntent.update(status=status).execute()
    answer = state(unpaid, ADDRESS)
    assert (answer.status_code, answer.json["code"]) == (409, "nothing_received")
    assert unpaid.now()["refund_address"] is None
    assert (changes(unpaid), history(unpaid)) == (0, [])


def test_it_is_refused_for_a_free_order_confirmed_or_not(acme):
    free = acme.ticket(price_amount=0, chain_id=None)
    for buyer in (acme.buyer(free), given(acme, free)):
        answer = state(buyer, ADDRESS)
        assert (answer.status_code, answer.json["code"]) == (409, "nothing_received")
        assert changes(buyer) == 0


def test_a_payment_that_a_reorganization_removed_was_received(unpaid):
    received(unpaid, canonical=False)
    assert unpaid.now()["amount_received"] == 0
    assert state(unpaid, ADDRESS).status_code == 200


class TestFiveTimesADay:
    """An order's address is stated or changed five times in 24 hours."""

    pytestmark = pytest.mark.sql

    @pytest.fixture
    def time(self, monkeypatch):
        return StoppedClock(monkeypatch, datetime.now(UTC))

    def test_the_sixth_change_is_refused_until_the_first_is_a_day_old(self, time, buyer):
        for address in addresses(5):
            assert state(buyer, address).status_code == 200
            time.forward(hours=1)
        answer = state(buyer, ADDRESS)
        assert (answer.status_code, answer.json["code"]) == (429, "too_many_changes")
        assert answer.headers["Retry-After"] == str(19 * 3600)
        assert (changes(buyer), len(history(buyer))) == (5, 5)
        time.forward(hours=18, minutes=59)
        assert state(buyer, ADDRESS).status_code == 429
        time.forward(minutes=1)
        assert state(buyer, ADDRESS).status_code == 200
        assert state(buyer, OTHER).status_code == 429
        assert changes(buyer) == 6

    def test_what_changes_nothing_is_not_counted_and_never_refused(self, time, buyer):
        for address in addresses(5):
            for _ in range(3):
                assert state(buyer, address).status_code == 200
        assert changes(buyer) == 5
        assert state(buyer, ADDRESS).status_code == 429
        assert state(buyer, addresses(5)[-1]).status_code == 200
        assert changes(buyer) == 5

    def test_each_order_has_its_own_five(self, acme, time, buyer):
        other = acme.buyer(acme.ticket())
        received(other)
        for address in addresses(5):
            state(buyer, address)
        assert state(buyer, ADDRESS).status_code == 429
        assert state(other, ADDRESS).status_code == 200

    def test_the_page_says_it_in_words(self, time, buyer):
        for address in addresses(5):
            assert press(buyer, "refund-address", address=address).status_code == 303
        answer = press(buyer, "refund-address", address=ADDRESS)
        assert answer.status_code == 429
        assert "This address was changed too often today. Try again tomorrow." in text_of(
            answer.text
        )


def test_the_last_one_counts_and_the_history_is_kept(buyer):
    for address in (ADDRESS, OTHER, ADDRESS):
        state(buyer, address)
    assert buyer.now()["refund_address"] == ADDRESS
    assert history(buyer) == [(ADDRESS, False), (OTHER, False), (ADDRESS, True)]
    first, second, _ = RefundAddress.select().order_by(RefundAddress.id)
    assert first.replaced_at >= second.stated_at


def test_the_same_address_again_changes_nothing(buyer):
    first = state(buyer, ADDRESS)
    assert state(buyer, ADDRESS).json == first.json
    assert state(buyer, ADDRESS.lower()).json == first.json
    assert history(buyer) == [(ADDRESS, True)]


@pytest.mark.parametrize("address", [ADDRESS, ADDRESS.lower(), "0x" + ADDRESS[2:].upper()])
def test_an_address_is_taken_with_its_checksum_or_in_one_case(buyer, address):
    assert state(buyer, address).json["refund_address"] == ADDRESS


@pytest.mark.parametrize(
    "address",
    [
        ADDRESS[:-1] + "7",
        ADDRESS.replace("F7", "f7"),
        "0x" + "0" * 40,
        anvil.TOKEN_ADDRESS,
        anvil.TOKEN_ADDRESS.lower(),
        ADDRESS[2:],
        ADDRESS + "00",
        "",
        1,
        None,
        [ADDRESS],
    ],
)
def test_what_can_receive_no_refund_is_refused(buyer, address):
    answer = state(buyer, address)
    assert answer.status_code == 422
    assert answer.json["errors"].keys() == {"address"}
    assert history(buyer) == []


def test_an_address_that_was_issued_to_anybody_is_refused(acme, neighbour, buyer):
    """Money that arrives there counts as a payment for another order."""
    others = (acme.buyer(acme.ticket()), neighbour.buyer(neighbour.ticket()))
    for issued in (buyer, *others):
        for address in (issued.intent["address"], issued.intent["address"].lower()):
            answer = state(buyer, address)
            assert answer.status_code == 422
            assert answer.json["errors"] == {
                "address": ["Must not be the payment address of an order."]
            }
    assert buyer.now()["refund_address"] is None


@pytest.mark.parametrize("role", ["read", "paywall", "write", "admin"])
def test_no_role_states_it_for_the_buyer(acme, buyer, role):
    for headers in ({"X-API-Key": acme.key(role)}, acme.api(role).headers):
        answer = state(buyer, ADDRESS, acme.with_headers(headers))
        assert (answer.status_code, answer.json["code"]) == (403, "insufficient_role")
    assert buyer.now()["refund_address"] is None


def test_nobody_states_it_for_another_order(app, acme, neighbour, buyer):
    other = acme.buyer(acme.ticket())
    theirs = neighbour.buyer(neighbour.ticket())
    assert state(buyer, ADDRESS, Api(app.test_client())).status_code == 401
    for stranger in (other, theirs):
        assert state(buyer, ADDRESS, stranger.api).status_code == 404
    path = f"{neighbour.checkout}/intents/{buyer.intent['id']}/refund-address"
    assert buyer.api.post(path, {"address": ADDRESS}).status_code == 404
    assert OrderAccount.select().where(OrderAccount.refund_address.is_null(False)).count() == 0


def test_a_replay_with_its_key_states_it_once(buyer):
    headers = {"Idempotency-Key": "0123456789abcdef0123456789abcdef"}
    path = f"{buyer.path}/refund-address"
    first = buyer.api.post(path, {"address": ADDRESS}, headers=headers)
    state(buyer, OTHER)
    again = buyer.api.post(path, {"address": ADDRESS}, headers=headers)
    assert (again.status_code, again.json) == (200, first.json)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert buyer.now()["refund_address"] == OTHER
