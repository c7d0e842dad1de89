"""An event is canceled during an order, a free order, or a look of the worker."""

import threading

import pytest

from tests.support.admissions import FREE
from tests.support.factories import PRICE, worker_once
from ticketing.db.connection import database
from ticketing.services.orders import stock
from ticketing.services.payments import booking, settlement

pytestmark = [pytest.mark.sql, pytest.mark.long]

A_MOMENT = 1
"""Seconds. If the other thread waits for a lock, it gets no further in this time."""


class Other(threading.Thread):
    """Runs something at the same time, on its own connection."""

    def __init__(self, act):
        super().__init__()
        self._act = act
        self.answer = None

    def run(self):
        try:
            self.answer = self._act()
        finally:
            database.close()


def canceling(acme, ticket):
    """Cancel the event of a ticket type in another thread."""
    api = acme.with_headers({"X-API-Key": acme.admin_key})
    path = f"{acme.path}/events/{ticket['event_id']}/status"
    return Other(lambda: api.post(path, {"status": "canceled"}).status_code)


def test_an_order_at_that_moment_is_canceled_too(acme, monkeypatch):
    ticket = acme.ticket()
    hold, cancelation = stock.TYPES.hold, canceling(acme, ticket)

    def hold_and_pause(*arguments, **options):
        found = hold(*arguments, **options)
        cancelation.start()
        cancelation.join(A_MOMENT)
        return found

    monkeypatch.setattr(stock.TYPES, "hold", hold_and_pause)
    buyer = acme.buyer(ticket)
    cancelation.join()
    assert cancelation.answer == 200
    assert buyer.now()["status"] == "canceled"
    assert acme.stock(ticket) == (0, 0)
    assert acme.preflight(ticket).status_code == 404


@pytest.mark.parametrize("what", ["purchase", "cancel"])
def test_an_order_that_is_made_and_served_at_that_moment_fails_nobody(acme, monkeypatch, what):
    """It happens after the cancelation has locked all orders, and before it locks the stock."""
    ticket = acme.ticket(**FREE)
    cancelation = canceling(acme, ticket)
    holds_order, wants_order = threading.Event(), threading.Event()
    lock_where, moves = settlement.lock_where, (stock.TYPES.sell, stock.TYPES.release)
    locked = []

    def order():
        made = acme.preflight(ticket)
        if made.status_code != 201:
            return made.status_code
        api = acme.with_headers({"Authorization": f"Bearer {made.json['client_secret']}"})
        return api.post(f"{acme.checkout}/intents/{made.json['id']}/{what}").status_code

    buyer = Other(order)

    def lock_and_let_in(condition):
        if threading.current_thread() is not cancelation:
            return lock_where(condition)
        locked.append(condition)
        if len(locked) == 2:
            wants_order.set()
        found = lock_where(condition)
        if len(locked) == 1:
            buyer.start()
            holds_order.wait(A_MOMENT)
        return found

    def late(move):
        def move_late(*arguments):
            holds_order.set()
            wants_order.wait(A_MOMENT)
            return move(*arguments)

        return move_late

    monkeypatch.setattr(settlement, "lock_where", lock_and_let_in)
    for move in moves:
        monkeypatch.setattr(stock.TYPES, move.__name__, late(move))
    cancelation.start()
    cancelation.join()
    buyer.join()
    assert cancelation.answer == 200
    assert buyer.answer in {"purchase": (404, 409), "cancel": (404, 200)}[what]
    assert acme.stock(ticket) == (0, 0)


@pytest.mark.parametrize("which", ["settle_or_set_aside", "_move_cursor"])
def test_money_that_the_worker_books_at_that_moment_is_owed(acme, node, monkeypatch, which):
    ticket = acme.ticket()
    buyers = [acme.buyer(ticket) for _ in range(3)]
    worker_once(acme.app)
    for buyer in buyers:
        buyer.pay(node, PRICE - 1)
    act, cancelation = getattr(booking, which), canceling(acme, ticket)

    def act_beside(*arguments, **options):
        if cancelation.ident is None:
            cancelation.start()
            cancelation.join(A_MOMENT)
        return act(*arguments, **options)

    monkeypatch.setattr(booking, which, act_beside)
    worker_once(acme.app)
    cancelation.join()
    assert cancelation.answer == 200
    found = [(each.now()["status"], each.now()["refund_due"]) for each in buyers]
    assert found == [("canceled", PRICE - 1)] * 3
    assert acme.stock(ticket) == (0, 0)
