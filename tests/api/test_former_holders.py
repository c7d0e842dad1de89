"""What an order and a repeated request show after an admission has changed hands."""

import uuid

import pytest

from tests.support.factories import Api
from tests.support.holders import ADA, JOIN_URL, NOBODY, Held, refused, write
from ticketing.models.admissions import Transfer
from ticketing.models.idempotency import IdempotencyKey


@pytest.fixture
def ticket(acme):
    event = acme.event(online_join_url=JOIN_URL)
    return acme.ticket(event, price_amount=0, chain_id=None)


@pytest.fixture
def buyer(acme, ticket):
    found = acme.buyer(ticket, buyer=ADA)
    found.purchase()
    return found


@pytest.fixture
def held(acme, buyer):
    (found,) = buyer.purchase().json["admissions"]
    return Held(acme, found["id"], found["code"])


def shown_by_order(buyer):
    """What the order shows of its one admission, and its join URL."""
    answer = buyer.purchase().json
    (admission,) = answer["admissions"]
    return admission, answer["online_join_url"]


def test_an_order_shows_nothing_of_an_admission_that_was_transferred(buyer, held):
    admission, join_url = shown_by_order(buyer)
    assert (admission["code"], admission["transferred"]) == (held.code, False)
    assert admission["qr"] is not None and join_url == JOIN_URL
    new = held.transferred(name="Bob")
    secrets = [new.code, new.get().json["qr"], JOIN_URL, "Bob"]
    admission, join_url = shown_by_order(buyer)
    assert (admission["code"], admission["qr"], join_url) == (None, None, None)
    assert (admission["status"], admission["transferred"]) == ("valid", True)
    for text in (buyer.purchase().text, buyer.api.get(buyer.path).text):
        assert not [each for each in secrets if each in text]


@pytest.mark.parametrize("columns", [{"generation": 2}, {"status": "void"}])
def test_an_order_shows_nothing_of_what_was_reissued_or_is_void(buyer, held, columns):
    write(held, **columns)
    admission, join_url = shown_by_order(buyer)
    assert (admission["code"], admission["qr"], join_url) == (None, None, None)
    assert admission["transferred"] is False


def test_an_order_still_shows_the_seats_that_its_buyer_kept(acme, ticket):
    buyer = acme.buyer(ticket, quantity=2)
    first, second = (
        Held(acme, each["id"], each["code"]) for each in buyer.purchase().json["admissions"]
    )
    first.transferred()
    answer = buyer.purchase().json
    assert [each["code"] for each in answer["admissions"]] == [None, second.code]
    assert answer["online_join_url"] == JOIN_URL


def keyed(key):
    return {"headers": {"Idempotency-Key": key}}


def new_key():
    return uuid.uuid4().hex


def test_no_secret_is_in_a_stored_answer(acme, ticket):
    buyer = acme.buyer(ticket)
    bought = buyer.api.post(f"{buyer.path}/purchase", **keyed(new_key())).json
    (admission,) = bought["admissions"]
    held = Held(acme, admission["id"], admission["code"])
    made = held.api.post(f"{held.path}/transfer", **keyed(new_key())).json
    held.api.post(f"{held.path}/transfer/cancel", **keyed(new_key()))
    again = held.api.post(f"{held.path}/transfer", **keyed(new_key())).json
    body = {"offer": again["offer"], "holder": {"name": "Bob", "email": "bob@example.org"}}
    path = f"{acme.checkout}/transfers/accept"
    taken = Api(acme.app.test_client()).post(path, body, **keyed(new_key())).json
    stored = "".join(each.body for each in IdempotencyKey.select())
    assert IdempotencyKey.select().count() == 5
    secrets = [held.code, admission["qr"], JOIN_URL, made["offer"], again["offer"]]
    secrets += [taken["code"], taken["qr"], "Bob", "bob@example.org"]
    assert not [each for each in secrets if each in stored]


def test_a_repeated_purchase_shows_what_is_true_now(acme, ticket):
    buyer = acme.buyer(ticket, buyer=ADA)
    key, path = new_key(), f"{buyer.path}/purchase"
    first = buyer.api.post(path, **keyed(key))
    held = Held(acme, *(first.json["admissions"][0][name] for name in ("id", "code")))
    again = buyer.api.post(path, **keyed(key))
    assert again.json == first.json and first.json["admissions"][0]["code"] == held.code
    new = held.transferred()
    replayed = buyer.api.post(path, **keyed(key))
    assert replayed.headers["Idempotent-Replayed"] == "true"
    (admission,) = replayed.json["admissions"]
    assert (admission["code"], admission["qr"]) == (None, None)
    assert admission["transferred"] is True and replayed.json["online_join_url"] is None
    assert replayed.json.keys() == first.json.keys()
    assert not [each for each in (new.code, held.code, JOIN_URL) if each in replayed.text]


def test_a_repeated_offer_is_the_same_until_it_ends(acme, held):
    key, path = new_key(), f"{held.path}/transfer"
    first = held.api.post(path, **keyed(key))
    again = held.api.post(path, **keyed(key))
    assert (first.status_code, again.status_code) == (201, 201) and first.json == again.json
    assert Transfer.select().count() == 1
    held.cancel()
    ended = held.api.post(path, **keyed(key)).json
    assert ended == {**first.json, "offer": None, "url": None}
    held.transferred()
    refused(held.api.post(path, **keyed(key)), 404, "not_found")


def test_a_repeated_acceptance_shows_the_code_only_while_it_opens_something(acme, held):
    key, path = new_key(), f"{acme.checkout}/transfers/accept"
    body = {"offer": held.offer().json["offer"], "holder": ADA}
    api = Api(acme.app.test_client())
    first, again = (api.post(path, body, **keyed(key)) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.headers["Idempotent-Replayed"] == "true" and again.json == first.json
    new = Held(acme, held.id, first.json["code"])
    third = new.transferred(name="Carol")
    late = api.post(path, body, **keyed(key))
    assert (late.status_code, late.json["generation"]) == (200, 2)
    hidden = [late.json[name] for name in ("code", "qr", "online_join_url")]
    assert hidden == [None, None, None] and late.json["holder"] == NOBODY
    assert not [each for each in (third.code, new.code, "Carol") if each in late.text]
    assert late.json.keys() == first.json.keys()
    # A void one keeps its code, but no QR code and no join URL.
    write(third, status="void", generation=2)
    assert api.post(path, body, **keyed(key)).json["qr"] is None


def test_a_refused_acceptance_is_repeated_but_a_conflict_is_tried_again(acme, held):
    offer, path = held.offer().json["offer"], f"{acme.checkout}/transfers/accept"
    api, key, late = Api(acme.app.test_client()), new_key(), new_key()
    write(held, status="suspended")
    refused(api.post(path, {"offer": offer}, **keyed(key)), 409, "admission_suspended")
    write(held, status="valid")
    assert api.post(path, {"offer": offer}, **keyed(key)).status_code == 200
    for _ in range(2):
        refused(api.post(path, {"offer": offer}, **keyed(late)), 410, "offer_ended")
