"""Who an order is billed to: the buyer writes it, and it is erased with the buyer."""

from datetime import timedelta

import pytest

from tests.support.admissions import FREE, given
from tests.support.stopped_clock import StoppedClock
from ticketing.models.billing import Billing
from ticketing.models.events import Event
from ticketing.models.idempotency import IdempotencyKey

BILL = {"name": "Lovelace Ltd.", "address": "12 St James's Square\nLondon", "tax_id": "GB1"}
NOTHING = dict.fromkeys(BILL)

pytestmark = pytest.mark.sql


@pytest.fixture
def buyer(acme):
    return given(acme, acme.ticket(**FREE), buyer={"name": "Ada", "email": "ada@example.org"})


def write(buyer, body, **options):
    return buyer.api.post(f"{buyer.path}/billing", body, **options)


def billed(buyer):
    return buyer.api.get(f"{buyer.path}/receipt").json["buyer"]


def test_it_is_on_the_receipt_and_can_be_replaced(buyer):
    answer = write(buyer, BILL)
    assert (answer.status_code, answer.json) == (200, {**BILL, "intent_id": buyer.intent["id"]})
    assert billed(buyer) == BILL
    assert write(buyer, {"address": "Paris"}).status_code == 200
    assert billed(buyer) == {"name": "Ada", "address": "Paris", "tax_id": None}
    assert write(buyer, {}).status_code == 200
    assert billed(buyer) == {**NOTHING, "name": "Ada"} and not Billing.select().exists()


def test_all_of_it_has_500_characters_at_most(buyer):
    most = {"name": "n" * 200, "address": "a" * 250, "tax_id": "t" * 50}
    assert write(buyer, most).status_code == 200
    answer = write(buyer, {**most, "address": "a" * 251})
    assert answer.status_code == 422 and set(answer.json["errors"]) == {"address"}
    for wrong in ({"name": " "}, {"tax_id": "t" * 51}, {"vat": "1"}, {"name": "\x00"}):
        assert write(buyer, wrong).status_code == 422, wrong
    assert billed(buyer) == most


def test_only_the_client_secret_writes_it(acme, neighbour, buyer):
    path = f"{buyer.path}/billing"
    for api, status in ((acme.api(), 403), (acme.api("paywall"), 403), (neighbour.api(), 403)):
        assert api.post(path, BILL).status_code == status
    assert acme.with_headers({"Authorization": "Bearer cs_x"}).post(path, BILL).status_code == 404


def test_a_repeat_shows_what_is_written_now(buyer):
    bearer = {"Authorization": f"Bearer {buyer.intent['client_secret']}"}
    keyed = {"headers": {**bearer, "Idempotency-Key": "k" * 32}}
    assert write(buyer, BILL, **keyed).json["name"] == BILL["name"]
    write(buyer, {"name": "Other"})
    again = write(buyer, BILL, **keyed)
    assert again.headers["Idempotent-Replayed"] == "true" and again.json["name"] == "Other"
    assert BILL["name"] not in str(list(IdempotencyKey.select().dicts()))


def test_it_is_erased_with_the_buyer(acme, buyer):
    write(buyer, BILL)
    erased = acme.api().post(f"{acme.path}/intents/{buyer.intent['id']}/erase")
    assert erased.status_code == 200
    assert billed(buyer) == NOTHING and not Billing.select().exists()


def test_it_is_closed_90_days_after_the_event(buyer, monkeypatch):
    over = Event.get().over_at
    stopped = StoppedClock(monkeypatch, over + timedelta(days=90))
    assert write(buyer, BILL).status_code == 200
    stopped.forward(seconds=1)
    answer = write(buyer, BILL)
    assert (answer.status_code, answer.json["code"]) == (409, "billing_closed")
    assert billed(buyer) == BILL
