"""Orders of several ticket types at once, while the event's capacity is set and removed."""

import random
import threading
from collections import Counter
from itertools import pairwise

import pytest

from tests.support.admissions import FREE, invite
from tests.support.factories import Buyer
from ticketing.db.connection import database
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.services.payments import reconciliation

pytestmark = [pytest.mark.sql, pytest.mark.long]

BUYERS, ORDERS = 6, 15
CAPACITY = 40


def in_threads(*acts):
    """Run acts at once, each in a thread with its own connection. Fail if one of them fails."""
    failures = []

    def run(act):
        try:
            act()
        except BaseException as failure:
            failures.append(failure)
            raise
        finally:
            database.close()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


class Crowd:
    """Buyers of all ticket types of one event, and what they are answered."""

    def __init__(self, acme, event):
        self.acme = acme
        self.tickets = [acme.ticket(event, **FREE, capacity=None) for _ in range(3)]
        self.answers = Counter()
        self.going = BUYERS

    def buy(self, seed):
        """Order, then keep the order waiting, cancel it or be served; invite guests at times."""
        dice = random.Random(seed)
        try:
            for _ in range(ORDERS):
                self._step(dice)
        finally:
            self.going -= 1

    def _step(self, dice):
        ticket, what = dice.choice(self.tickets), dice.randrange(8)
        if what == 0:
            self.answers[invite(self.acme, ticket, {}).status_code] += 1
            return
        answer = self.acme.preflight(ticket, quantity=dice.randint(1, 2))
        self.answers[answer.status_code] += 1
        if answer.status_code != 201:
            assert answer.json["code"] in ("sold_out", "capacity_changed")
            return
        buyer = Buyer(self.acme, answer.json)
        if what < 6:
            done = buyer.cancel() if what < 4 else buyer.purchase()
            assert done.status_code == 200


def books_of(event):
    """What the event's own row counts, and what its ticket types add up to."""
    rows = list(TicketType.select().where(TicketType.event == event["id"]))
    sums = sum(each.held for each in rows), sum(each.sold for each in rows)
    row = EventStock.get_or_none(EventStock.event == event["id"])
    return row and (row.held, row.sold), sums


def test_a_full_event_takes_exactly_what_it_has_room_for(acme):
    event = acme.event(capacity=CAPACITY)
    crowd = Crowd(acme, event)

    def fill(seed):
        dice = random.Random(seed)
        for _ in range(CAPACITY):
            acme.preflight(dice.choice(crowd.tickets))

    in_threads(*(lambda seed=seed: fill(seed) for seed in range(BUYERS)))
    assert books_of(event) == ((CAPACITY, 0), (CAPACITY, 0))
    assert reconciliation.reconcile(None) == []


@pytest.mark.parametrize("capacities", [(None, CAPACITY), (CAPACITY, 1), (None, 1, CAPACITY)])
def test_the_books_agree_whatever_the_organizer_does_meanwhile(acme, capacities):
    """A change is made or refused; each order counts in the ticket type and in the event."""
    event = acme.event()
    crowd, api = Crowd(acme, event), acme.with_headers({"X-API-Key": acme.admin_key})
    made = Counter()
    stored = [None]

    def change():
        while crowd.going:
            for capacity in capacities:
                path = f"{acme.path}/events/{event['id']}"
                status = api.patch(path, {"capacity": capacity}).status_code
                made[status] += 1
                if status == 200:
                    stored.append(capacity)

    in_threads(change, *(lambda seed=seed: crowd.buy(seed) for seed in range(BUYERS)))
    assert made.keys() <= {200, 409} and made[200]
    # What was in progress while a capacity was added must be sent again: one order of each buyer.
    added = sum(old is None and new is not None for old, new in pairwise(stored))
    assert crowd.answers.keys() <= {201, 409, 503} and crowd.answers[503] <= BUYERS * added
    last = api.patch(f"{acme.path}/events/{event['id']}", {"capacity": 10**6})
    assert last.status_code == 200
    own, sums = books_of(event)
    assert own == sums
    assert reconciliation.reconcile(None) == []
