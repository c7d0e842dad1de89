"""What one client that pays nothing can store in a day, and what is left of that a day later."""

import uuid

import pytest

from tests.support.carts import carts_of
from tests.support.factories import Api, Buyer, worker_once
from tests.support.questions import ask
from tests.support.refunds import pass_hours
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.constants import MAX_ANSWER_BYTES, MAX_BILLING, MAX_ITEMS
from ticketing.db.connection import database
from ticketing.limits import DEFAULT_ORDERS_PER_CLIENT
from ticketing.services.erasure import ORDERS_AT_ONCE

pytestmark = pytest.mark.long

STORED, LEFT = 11_000_000, 3_100_000
"""What SECURITY.md and docs/operations.md say."""

QUESTIONS = 16
ANSWERS = {f"q{place}": "x" * (MAX_ANSWER_BYTES // QUESTIONS - 24) for place in range(QUESTIONS)}
BILLING = {"address": "x" * MAX_BILLING}


@pytest.fixture
def environ(environ):
    return {**environ, "ORDERS_PER_CLIENT": str(DEFAULT_ORDERS_PER_CLIENT)}


def size():
    """The bytes of all tables and indexes, without pages that are free."""
    (used,) = database.execute_sql("SELECT SUM(payload + unused) FROM dbstat").fetchone()
    return used


def keyed():
    return {"headers": {"Idempotency-Key": str(uuid.uuid4())}}


def test_the_largest_orders_of_a_day(acme, node, monkeypatch):
    time = StoppedClock(monkeypatch, clock.now())
    event = carts_of(acme)
    tickets = [acme.ticket(event, capacity=None, name=f"Type {n}") for n in range(MAX_ITEMS)]
    for name in ANSWERS:
        ask(acme, event["id"], identifier=name, type="long_text")
    # As large as possible first, then without answers, then without a name, until no order is left.
    texts = [
        {"answers": ANSWERS, "buyer": {"name": "x" * 200, "email": f"{'x' * 60}@example.org"}},
        {"buyer": {"name": "x" * 200, "email": f"{'x' * 60}@example.org"}},
        {},
    ]
    items = [{"ticket_id": each["id"], "quantity": 1} for each in tickets]
    api, codes = Api(acme.app.test_client()), []
    before = size()
    while texts:
        body = {"event_id": event["id"], "items": items, **texts[0]}
        made = api.post(f"{acme.checkout}/preflight", body, **keyed())
        if made.status_code == 429:
            codes.append(made.json["code"])
            texts.pop(0)
            continue
        assert made.status_code == 201, made.json
        buyer = Buyer(acme, made.json)
        for name, sent in (("billing", BILLING), ("cancel", None)):
            done = buyer.api.post(f"{buyer.path}/{name}", sent, **keyed())
            assert done.status_code == 200, done.json
    assert codes == ["too_much_text"] * 2 + ["too_many_orders"]
    stored = size() - before
    assert stored < STORED, stored

    worker_once(acme.app)
    pass_hours(node, 26)
    time.forward(hours=26)
    for _ in range(2 + DEFAULT_ORDERS_PER_CLIENT // ORDERS_AT_ONCE):
        worker_once(acme.app)
    left = size() - before
    assert left < LEFT, left
