"""Carts of overlapping ticket types at once, beside a worker and a cancelation: no deadlock."""

import contextlib
import random
import threading
from collections import Counter
from itertools import cycle

import pytest

from tests.support.admissions import FREE
from tests.support.carts import buyer_of, carts_of, order, sold_to
from tests.support.factories import CHAIN, Buyer
from tests.support.races import at_once
from ticketing.db.connection import database, is_sqlite
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import AWAITING, PaymentIntent
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.services.orders import stock
from ticketing.services.payments import (
    chain_settlement,
    reconciliation,
    refund_addresses,
    sale_locks,
)
from tools.anvil import BUYER

from .test_lock_order import MEET_SECONDS, OTHER_CHAIN, past_all_holds

pytestmark = [pytest.mark.sql, pytest.mark.long]

BUYERS, ORDERS = 50, 4
TYPES = 4


def deadlocks():
    """How many deadlocks this database has had."""
    if is_sqlite():
        return 0
    database.execute_sql("SELECT pg_stat_force_next_flush()")
    query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    return database.execute_sql(query).fetchone()[0]


@pytest.fixture
def no_deadlock(app):
    """No transaction of this test may end by a deadlock, also if it is repeated then."""
    before = deadlocks()
    yield
    assert deadlocks() == before


@pytest.fixture
def met_after_first_release(monkeypatch):
    """Each worker waits after its first release, until both have done one or time is up."""
    meeting, own, release = threading.Barrier(2), threading.local(), stock.TYPES.release

    def release_and_meet(*arguments):
        release(*arguments)
        if not hasattr(own, "has_met"):
            own.has_met = True
            with contextlib.suppress(threading.BrokenBarrierError):
                meeting.wait(MEET_SECONDS)

    monkeypatch.setattr(stock.TYPES, "release", release_and_meet)


def held_and_sold(tickets):
    rows = TicketType.select().where(TicketType.id.in_([each["id"] for each in tickets]))
    return sum(each.held for each in rows), sum(each.sold for each in rows)


@pytest.mark.parametrize("capacity", [None, 100])
@pytest.mark.usefixtures("no_deadlock", "met_after_first_release")
def test_carts_of_two_chains_expire_at_once(acme, capacity):
    of = carts_of(acme, capacity=capacity)
    one, two = (acme.ticket(of) for _ in range(2))
    here = [buyer_of(acme, (one, 1), (two, 1)).intent["id"] for _ in range(3)]
    there = [buyer_of(acme, (two, 1), (one, 1)).intent["id"] for _ in range(3)]
    PaymentIntent.update(chain_id=OTHER_CHAIN).where(PaymentIntent.id.in_(there)).execute()
    OrderAccount.update(chain_id=OTHER_CHAIN).where(OrderAccount.intent.in_(there)).execute()
    for chain_id in (CHAIN, OTHER_CHAIN):
        past_all_holds(chain_id)
    moved = at_once(
        lambda: chain_settlement.settle_again(CHAIN, here),
        lambda: chain_settlement.settle_again(OTHER_CHAIN, there),
    )
    assert moved == [3, 3]
    assert held_and_sold([one, two]) == (0, 0)
    assert reconciliation.reconcile(None) == []


def in_threads(acts, until):
    """Run acts in threads until the first of them have ended. Fail if one fails."""
    failures, going = [], threading.Event()

    def run(act, is_endless):
        try:
            act()
            while is_endless and not going.is_set():
                act()
        except BaseException as failure:
            failures.append(failure)
        finally:
            database.close()

    threads = [
        threading.Thread(target=run, args=(act, number >= until)) for number, act in enumerate(acts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads[:until]:
        thread.join()
    going.set()
    for thread in threads[until:]:
        thread.join()
    assert not failures, failures[0]


class Rush:
    """Buyers of carts of one event, a worker that lets them expire, and an organizer."""

    def __init__(self, acme, capacity):
        self.acme = acme
        self.event = carts_of(acme, capacity=capacity)
        self.paid = [acme.ticket(self.event, capacity=None) for _ in range(TYPES)]
        self.free = [acme.ticket(self.event, **FREE, capacity=None) for _ in range(TYPES)]
        self.ending = cycle(self.paid[-1:] + self.free[-1:])
        self.answers = Counter()
        self.enough = threading.Event()

    def buy(self, seed):
        """Order types in any order. Free orders are served or canceled."""
        dice = random.Random(seed)
        for number in range(ORDERS):
            kinds = self.free if (seed + number) % 2 else self.paid
            picked = dice.sample(kinds, dice.randint(2, TYPES))
            answer = order(self.acme, *((each, dice.randint(1, 2)) for each in picked))
            self.answers[answer.status_code, answer.json.get("code")] += 1
            if self.answers[201, None] > BUYERS:
                self.enough.set()
            if answer.status_code == 201 and kinds is self.free:
                buyer = Buyer(self.acme, answer.json)
                done = buyer.purchase() if dice.random() < 0.5 else buyer.cancel()
                self.answers[done.status_code, done.json.get("code")] += 1

    def expire(self):
        """Settle up to 100 orders of the chain at once, after their deadline."""
        unpaid = PaymentIntent.select().where(PaymentIntent.chain_id == CHAIN, AWAITING)
        ids = [each.id for each in unpaid.limit(100)]
        chain_settlement.settle_again(CHAIN, ids)

    def end(self):
        """Cancel a type once enough was ordered, as its organizer does, and again."""
        if not self.enough.wait(0.1):
            return
        ticket = next(self.ending)
        path = f"{self.acme.path}/events/{self.event['id']}/tickets/{ticket['id']}/status"
        api = self.acme.with_headers({"X-API-Key": self.acme.admin_key})
        answer = api.post(path, {"status": "canceled"})
        self.answers["end", answer.status_code] += 1


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
@pytest.mark.parametrize("capacity", [None, 400])
@pytest.mark.usefixtures("no_deadlock")
def test_carts_beside_a_worker_and_the_end_of_a_type(acme, capacity):
    """Not on SQLite: there one transaction writes at a time, and so many wait too long."""
    rush = Rush(acme, capacity)
    past_all_holds(CHAIN)
    buyers = [lambda seed=seed: rush.buy(seed) for seed in range(BUYERS)]
    in_threads([*buyers, rush.expire, rush.end], BUYERS)
    known = {(201, None), (200, None), ("end", 200)}
    known |= {(409, "sold_out"), (404, "not_found"), (409, "intent_canceled")}
    assert rush.answers.keys() <= known, rush.answers
    assert rush.answers[201, None] > BUYERS
    rush.expire()
    rush.expire()
    assert reconciliation.reconcile(None) == []
    held, sold = held_and_sold(rush.paid + rush.free)
    if capacity is not None:
        row = EventStock.get(EventStock.event == rush.event["id"])
        assert (row.held, row.sold) == (held, sold)


@pytest.mark.usefixtures("no_deadlock")
def test_a_buyer_states_an_address_while_the_event_is_canceled(acme, node, monkeypatch):
    """The cancelation has the stock, and wants the sold order, which the buyer has locked."""
    of = carts_of(acme, capacity=10)
    one, two = (acme.ticket(of) for _ in range(2))
    buyer = sold_to(acme, node, (one, 1), (two, 1))
    lock_sale, replace = sale_locks.lock_sale, refund_addresses.refuse_if_nothing_was_received
    has_stock, has_order = threading.Event(), threading.Event()

    def lock_and_let_in(condition):
        found = lock_sale(condition)
        has_stock.set()
        has_order.wait(MEET_SECONDS)
        return found

    def refuse_late(intent):
        has_order.set()
        return replace(intent)

    monkeypatch.setattr(sale_locks, "lock_sale", lock_and_let_in)
    monkeypatch.setattr(refund_addresses, "refuse_if_nothing_was_received", refuse_late)
    api = acme.with_headers({"X-API-Key": acme.admin_key})

    def cancel():
        path = f"{acme.path}/events/{of['id']}/status"
        return api.post(path, {"status": "canceled", "refund": True}).status_code

    def state():
        has_stock.wait(MEET_SECONDS)
        return buyer.api.post(f"{buyer.path}/refund-address", {"address": BUYER}).status_code

    assert at_once(cancel, state) == [200, 200]
    assert buyer.now()["refund_due"] == buyer.intent["amount"]
    assert reconciliation.reconcile(None) == []
