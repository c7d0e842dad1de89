"""What people who pay nothing leave in the database: bounded for a day, and erased after it."""

import pytest

from tests.support.books import change_home
from tests.support.factories import PRICE, Api, Buyer, worker_once
from tests.support.questions import ask
from tests.support.refunds import pass_hours
from tests.support.stopped_clock import StoppedClock
from tests.support.stored_rows import rows
from ticketing import clock
from ticketing.limits import TEXT_BYTES_OF_ALL, TEXT_BYTES_OF_CLIENT
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.orders import stored_texts
from ticketing.services.payments import reconciliation

pytestmark = pytest.mark.sql

STRANGER, OTHER = "192.0.2.1", "192.0.2.2"
LONG = "x" * 900


@pytest.fixture
def environ(environ):
    return {**environ, "UNPAID_PER_ADDRESS": "100"}


@pytest.fixture
def time(monkeypatch):
    return StoppedClock(monkeypatch, clock.now())  # that of the node


@pytest.fixture
def ticket(acme):
    ticket = acme.ticket(capacity=None)
    ask(acme, ticket["event_id"], identifier="wish", type="long_text")
    return ticket


def order(acme, ticket, address=STRANGER, wish=LONG):
    body = {
        "event_id": ticket["event_id"],
        "ticket_id": ticket["id"],
        "buyer": {"name": "Ada Zaphod", "email": "zaphod@example.org"},
        "answers": {"wish": wish} if wish else {},
    }
    api = Api(acme.app.test_client())
    return api.post(f"{acme.checkout}/preflight", body, environ_overrides={"REMOTE_ADDR": address})


def store(order_of, stored):
    """Let an order have so many bytes."""
    PaymentIntent.update(stored_bytes=stored).where(
        PaymentIntent.id == order_of.json["id"]
    ).execute()


def refused(answer, status, code):
    assert (answer.status_code, answer.json["code"]) == (status, code), answer.json
    return int(answer.headers["Retry-After"])


def texts_left():
    """The tables that still say something of the buyer, but for stored responses."""
    found = {table for table, row in rows() if "aphod" in row or LONG in row}
    return found - {"idempotency_keys"}


def test_a_client_stores_so_much_text_in_a_day(acme, ticket, time):
    first = order(acme, ticket)
    kept = PaymentIntent.get().stored_bytes
    assert kept == 1 + len("Ada Zaphod" + "zaphod@example.org" + LONG)
    store(first, TEXT_BYTES_OF_CLIENT - kept)
    assert order(acme, ticket).status_code == 201
    time.forward(hours=2)
    assert refused(order(acme, ticket), 429, "too_much_text") == 22 * 3600
    # Others buy. A client that pays has as much again.
    assert order(acme, ticket, OTHER).status_code == 201
    change_home(first.json["id"], received=PRICE)
    assert order(acme, ticket).status_code == 201


def test_a_48_stores_three_times_that(acme, ticket):
    for host in range(3):
        store(order(acme, ticket, f"2001:db8:1:{host}::1"), TEXT_BYTES_OF_CLIENT)
    refused(order(acme, ticket, "2001:db8:1:9::1"), 429, "too_much_text")
    assert order(acme, ticket, "2001:db8:2:9::1").status_code == 201


def test_all_clients_together_store_so_much_text_in_a_day(acme, ticket, time, caplog):
    stored_texts.note(TEXT_BYTES_OF_ALL)
    assert refused(order(acme, ticket), 503, "texts_unavailable") == 3600
    (logged,) = [each for each in caplog.records if "no more answers" in each.message]
    assert logged.levelname == "ERROR"
    # What asks nothing is sold meanwhile.
    assert order(acme, acme.ticket(), wish=None).status_code == 201
    time.forward(hours=24)
    assert order(acme, ticket).status_code == 201


def test_what_a_storefront_stores_with_its_key_takes_nothing_from_that(acme, ticket, time):
    stored_texts.note(TEXT_BYTES_OF_ALL - 20_000)
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "answers": {"wish": LONG}}
    for _ in range(25):
        assert acme.api().post(f"{acme.checkout}/preflight", body).status_code == 201
    assert order(acme, ticket).status_code == 201
    time.forward(hours=24)
    assert order(acme, ticket).status_code == 201


def test_what_an_unpaid_order_stored_is_erased_after_a_day(acme, node, ticket, time):
    buyer = Buyer(acme, order(acme, ticket).json)
    billed = buyer.api.post(f"{buyer.path}/billing", {"name": "Zaphod Ltd", "address": LONG[:200]})
    assert billed.status_code == 200, billed.json
    worker_once(acme.app)
    pass_hours(node, 2)
    worker_once(acme.app)
    assert buyer.now()["status"] == "expired"
    everywhere = {"answers", "billing", "payment_intents"}
    time.forward(hours=30)
    worker_once(acme.app)
    assert texts_left() >= everywhere  # the chain is not read so far: it may be paid
    pass_hours(node, 20)
    worker_once(acme.app)
    assert texts_left() >= everywhere
    pass_hours(node, 5)
    worker_once(acme.app)
    worker_once(acme.app)
    assert texts_left() == set()
    erased = PaymentIntent.get()
    assert (erased.stored_bytes, erased.held_by, erased.held_by_site) == (0, None, None)
    # Money that comes still belongs to somebody.
    buyer.pay(node, PRICE)
    pass_hours(node, 25)  # the balance of an old address is read once a day
    worker_once(acme.app)
    worker_once(acme.app)
    late = buyer.now()
    assert (late["status"], late["refund_due"]) == ("expired", PRICE)
    assert reconciliation.reconcile(None) == []


def test_who_paid_or_left_something_keeps_it(acme, node, ticket, time):
    paid, part = (Buyer(acme, order(acme, ticket).json) for _ in range(2))
    paid.pay(node, PRICE)
    part.pay(node, PRICE // 2)
    worker_once(acme.app)
    pass_hours(node, 30)
    time.forward(hours=30)
    worker_once(acme.app)
    worker_once(acme.app)
    assert [each.now()["status"] for each in (paid, part)] == ["confirmed", "expired"]
    assert {each.buyer_name for each in PaymentIntent.select()} == {"Ada Zaphod"}


def test_a_canceled_order_is_erased_a_day_after_its_deadline(acme, node, ticket, time):
    buyer = Buyer(acme, order(acme, ticket).json)
    assert buyer.api.post(f"{buyer.path}/cancel").status_code == 200
    worker_once(acme.app)
    pass_hours(node, 26)
    time.forward(hours=26)
    worker_once(acme.app)
    worker_once(acme.app)
    assert texts_left() == set()
