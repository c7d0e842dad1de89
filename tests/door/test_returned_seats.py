"""Seats that are given back, at the door: who comes keeps the seat, unless somebody pays for it."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import admissions_of, given
from tests.support.doors import Door, now, read_manifest, undo
from tests.support.factories import in_days
from tests.support.races import at_once
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.notifications import Notification
from ticketing.models.ticket_types import TicketType
from ticketing.services.payments import reconciliation

pytestmark = pytest.mark.sql

RACES = 40
"""Of the scan of a seat and an order of it. 10,000 of them were run on each database."""


class ReturningDoor(Door):
    """The door of an event with one seat, whose holder gives it back in time."""

    def __init__(self, acme):
        super().__init__(acme, start_at=in_days(1))
        self.ticket = acme.ticket(
            self.event, price_amount=0, chain_id=None, capacity=1, returns="when_resold"
        )
        (self.seat,) = admissions_of(given(acme, self.ticket))
        self.seat_qr = self.qr(self.seat)

    def give_back(self):
        code = {"Authorization": f"Bearer {now(self.seat).code}"}
        path = f"{self.organizer.checkout}/admissions/{self.seat.id}/return"
        answer = self.organizer.with_headers(code).post(path)
        assert answer.status_code == 200, answer.json

    def move_doors(self, hours):
        at = datetime.now(UTC) + timedelta(hours=hours)
        Event.update(doors_open_at=at).where(Event.id == self.event["id"]).execute()

    def pool(self):
        of_type = TicketType.get_by_id(self.ticket["id"])
        return of_type.sold, of_type.offered, of_type.taken

    def facts(self):
        """Return the types of what was told, the newest last."""
        found = Notification.select(Notification.type).order_by(Notification.id)
        return [each.type for each in found]


@pytest.fixture
def door(acme):
    return ReturningDoor(acme)


@pytest.fixture
def gate(door):
    return door.gate()


def order(door):
    """Order the seat that is given back, without taking it yet."""
    return door.organizer.preflight(door.ticket)


def cancel(door, ordered):
    secret = {"Authorization": f"Bearer {ordered.json['client_secret']}"}
    path = f"{door.organizer.checkout}/intents/{ordered.json['id']}/cancel"
    assert door.organizer.with_headers(secret).post(path).status_code == 200


def test_who_comes_after_all_gets_in_and_keeps_the_seat(door, gate):
    door.give_back()
    door.move_doors(0)
    assert [each["returned"] for each in read_manifest(gate)["admissions"]] == [True]
    assert gate.outcome(qr=door.seat_qr) == "admitted"
    assert now(door.seat).returned_at is None and door.pool() == (1, 0, 0)
    assert door.facts()[-2:] == ["admission.return_canceled", "admission.redeemed"]
    assert [each["returned"] for each in read_manifest(gate)["admissions"]] == [False]
    assert order(door).json["code"] == "sold_out"


def test_a_seat_that_somebody_pays_for_is_refused(door, gate):
    door.give_back()
    assert order(door).status_code == 201
    door.move_doors(0)
    result = gate.scan(qr=door.seat_qr)
    assert (result["outcome"], result["first_at"]) == ("returned", None)
    assert now(door.seat).redeemed_at is None and door.pool() == (1, 1, 1)


def test_a_device_that_let_somebody_in_offline_makes_a_conflict(door, gate):
    """Its manifest was from before the return."""
    door.give_back()
    assert order(door).status_code == 201
    door.move_doors(0)
    result = gate.scan(qr=door.seat_qr, decided="admitted")
    assert result["outcome"] == "conflict" and now(door.seat).redeemed_at is None


def test_seats_of_several_types_in_one_request(door, gate):
    other = door.organizer.ticket(
        door.event, price_amount=0, chain_id=None, capacity=1, returns="when_resold"
    )
    first, ticket = door.seat, door.ticket
    door.give_back()
    (door.seat,) = admissions_of(given(door.organizer, other))
    door.give_back()
    door.move_doors(0)
    scans = [{"qr": door.qr(each)} for each in (first, door.seat)]
    assert [gate.outcome(**each) for each in scans] == ["admitted"] * 2
    for each in (ticket, other):
        assert TicketType.get_by_id(each["id"]).offered == 0


def test_a_scan_and_an_order_of_the_last_seat_do_not_both_win(door):
    """The doors are moved forward while somebody orders the seat."""
    gate = door.desk()

    def scan():
        door.move_doors(0)
        return gate.scan(qr=door.seat_qr)

    for _ in range(RACES):
        door.move_doors(24)
        door.give_back()
        ordered, scanned = at_once(lambda: order(door), scan)
        inside = Admission.get_by_id(door.seat.id).redeemed_at is not None
        if ordered.status_code == 201:
            assert scanned["outcome"] == "returned" and not inside
            assert door.pool() == (1, 1, 1)
            cancel(door, ordered)
            door.move_doors(0)
            scanned = gate.scan(qr=door.seat_qr)
        else:
            # The orders of the rounds before ended unpaid.
            assert ordered.json["code"] in ("sold_out", "sales_ended", "returned_unpaid")
        assert scanned["outcome"] == "admitted" and door.pool() == (1, 0, 0)
        assert gate.results(undo(scanned))[0]["outcome"] == "undone"
    assert reconciliation.reconcile(door.organizer.id) == []
