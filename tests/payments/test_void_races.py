"""A void at the moment of a scan, of a settlement, of a reorganization: exactly one wins."""

import threading

import pytest

from tests.support.admissions import (
    FREE,
    admissions_of,
    given,
    invite,
    redeem,
    reissue,
    sold,
    void,
)
from tests.support.factories import PRICE, Buyer, worker_once
from ticketing.db.connection import database
from ticketing.models.admissions import Admission
from ticketing.services.payments import reconciliation

pytestmark = pytest.mark.exhaustive

ROUNDS = 12


def at_once(*acts):
    """Do several things in threads that begin together. Return their results."""
    start, found = threading.Barrier(len(acts)), [None] * len(acts)

    def run(place, act):
        try:
            start.wait()
            found[place] = act()
        finally:
            database.close()

    threads = [threading.Thread(target=run, args=each) for each in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_of_a_void_and_a_scan_exactly_one_wins(acme):
    ticket = acme.ticket(**FREE, capacity=None, max_per_order=100)
    for admission in admissions_of(given(acme, ticket, quantity=ROUNDS)):
        answer, is_inside = at_once(
            lambda a=admission: void(acme, a), lambda a=admission: redeem(a)
        )
        assert (answer.status_code, is_inside) in ((200, False), (409, True))
        now = Admission.get_by_id(admission.id)
        expected = ("valid", True) if is_inside else ("void", False)
        assert (now.status, now.redeemed_at is not None) == expected
    assert reconciliation.reconcile(None) == []


def test_voids_of_one_order_at_once_owe_each_seat_once(acme, node):
    ticket = acme.ticket()
    buyer = sold(acme, node, ticket, quantity=3)
    acts = [lambda a=each: void(acme, a) for each in admissions_of(buyer) for _ in range(2)]
    answers = at_once(*acts)
    assert [answer.status_code for answer in answers] == [200] * 6
    assert (buyer.now()["refund_due"], acme.stock(ticket)) == (3 * PRICE, (0, 0))
    assert reconciliation.reconcile(None) == []


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_void_beside_the_worker_leaves_the_books_right(acme, node, is_gone):
    """The worker takes the payment away, or books another one, at the same time."""
    ticket = acme.ticket()
    worker_once(acme.app)
    snapshot = node.rpc("evm_snapshot")
    buyer = acme.buyer(ticket, quantity=2)
    buyer.pay(node)
    worker_once(acme.app)
    first, second = admissions_of(buyer)
    if is_gone:
        node.rpc("evm_revert", snapshot)
        node.rpc("anvil_mine", "0x5")
    else:
        buyer.pay(node, 7)
    answer, _ = at_once(lambda: void(acme, first), lambda: worker_once(acme.app))
    assert answer.status_code == 200
    worker_once(acme.app)
    statuses = [Admission.get_by_id(each.id).status for each in (first, second)]
    assert statuses == ["void", "suspended" if is_gone else "valid"]
    assert buyer.now()["refund_due"] == (0 if is_gone else PRICE + 7)
    assert acme.stock(ticket) == (0, 1)
    assert reconciliation.reconcile(None) == []


def test_a_canceled_event_has_no_valid_admission_whatever_else_happens(acme):
    """Orders, free purchases, guests, reissues and voids come at the moment of the cancelation."""
    ticket = acme.ticket(**FREE, capacity=None)
    served, waiting = given(acme, ticket, quantity=2), [acme.buyer(ticket) for _ in range(3)]
    first, second = admissions_of(served)
    status = f"{acme.path}/events/{ticket['event_id']}/status"
    api = acme.with_headers({"X-API-Key": acme.admin_key})

    def order():
        answer = acme.preflight(ticket)
        return Buyer(acme, answer.json).purchase() if answer.status_code == 201 else answer

    answers = at_once(
        lambda: api.post(status, {"status": "canceled"}),
        *(buyer.purchase for buyer in waiting),
        *(order for _ in range(3)),
        lambda: invite(acme, ticket, {}, {}),
        lambda: reissue(acme, first),
        lambda: void(acme, second),
    )
    assert answers[0].status_code == 200
    assert {answer.status_code for answer in answers} <= {200, 201, 404, 409}
    assert {each.status for each in Admission.select()} == {"void"}
    assert acme.stock(ticket) == (0, 0)
    assert {buyer.now()["status"] for buyer in waiting} <= {"confirmed", "canceled"}
    assert reconciliation.reconcile(None) == []
