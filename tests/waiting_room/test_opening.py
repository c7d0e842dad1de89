"""When a waiting room opens and closes, and what organizers see of it."""

import re

import pytest

from tests.support.console import sign_in
from tests.waiting_room.conftest import figures, switch
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_rooms import (
    WaitingRoom,
    WaitingRoomArrivals,
    WaitingRoomProcess,
    WaitingRoomTurn,
)


def second_of(token):
    """Return the second of the arrival that a token has."""
    return int(token.split("_")[1]) // 10**6


def rows():
    models = (WaitingRoom, WaitingRoomArrivals, WaitingRoomProcess, WaitingRoomTurn)
    return [model.select().count() for model in models]


def test_nobody_waits_by_default(person, seat):
    assert person().place() is None
    assert person().preflight().status_code == 201
    assert rows() == [0, 0, 0, 0]


def test_it_opens_by_itself_when_the_service_is_overloaded(person, time, seat):
    person().open()
    time.forward(seconds=3)
    assert person().preflight(waited=2.5).status_code == 201  # this order opens the room

    assert person().place() == 1
    assert person().preflight().json["code"] == "waiting_room"


def test_it_does_not_open_when_only_some_requests_are_late(person, time, seat):
    time.forward(seconds=3)
    person().open()
    person().preflight(waited=1.5)

    assert person().place() is None


def test_it_stays_closed_if_it_is_off(acme, admin, event, person, time, seat):
    switch(acme, admin, event, "off")
    time.forward(seconds=3)
    person().preflight(waited=2.5)

    assert person().place() is None
    assert person().preflight().status_code == 201


def test_it_closes_when_nobody_has_to_wait(opened, person, time, acme, admin, event):
    for _ in range(30):
        person().open()
        time.forward(seconds=1)

    assert person().place() is None
    assert not figures(acme, admin, event)["is_open"]
    assert rows() == [0, 0, 0, 0]


def test_an_old_token_counts_for_nothing_when_it_opens_again(
    opened, person, time, acme, admin, event
):
    ada = person()
    ada.preflight()
    switch(acme, admin, event, "off")
    time.forward(seconds=1)
    switch(acme, admin, event, "on")
    time.forward(seconds=5)
    bob = person()
    bob.preflight()

    ada.preflight()

    assert second_of(ada.token) == second_of(bob.token)


def test_it_closes_when_all_is_sold(person, time, opened):
    ada = person()
    assert ada.place()
    TicketType.update(capacity=5, sold=5).execute()
    time.forward(seconds=1.1)
    ada.open()

    assert "Sold out" in ada.open().text
    assert rows() == [0, 0, 0, 0]


def test_nobody_is_called_while_unpaid_orders_hold_all(acme, admin, event, person, time, opened):
    TicketType.update(capacity=5, held=5).execute()
    ada = person()
    ada.open()
    for _ in range(5):
        time.forward(seconds=1.1)
        ada.open()

    assert "have not paid for them yet" in ada.open().text
    assert figures(acme, admin, event)["reason"] == "held"

    TicketType.update(held=4).execute()
    for _ in range(2):
        time.forward(seconds=1.1)
        ada.open()
    assert ada.place() is None


def test_no_more_people_are_called_than_seats_are_left(person, time, opened):
    TicketType.update(capacity=20).execute()
    people = [person() for _ in range(100)]
    for each in people:
        each.open()
    for _ in range(8):
        time.forward(seconds=1.1)
        for each in people:
            each.open()

    # Whom a position lets in is known by lot: in one second, as many as expected only about.
    assert 10 <= sum(each.place() is None for each in people) <= 30


def test_organizers_see_how_many_wait(acme, admin, event, person, time, opened):
    for _ in range(3):
        person().open()
    time.forward(seconds=1.1)
    person().open()

    found = figures(acme, admin, event)

    assert found["is_open"]
    assert found["mode"] == "on"
    assert found["reason"] == "queue"
    assert found["waiting"] == 3
    assert found["wait_seconds"] is not None

    page = sign_in(acme).client.get(f"/console/events/{event['id']}").text
    panel = page.split('id="waiting-room"', 1)[1].split("</dl>", 1)[0]
    minutes = -(-found["wait_seconds"] // 60)
    shown = [found["waiting"], minutes, found["admitted_per_minute"]]
    assert re.findall("<dd>(.*)</dd>", panel) == [str(each) for each in shown]


def test_organizers_switch_it_in_the_console(acme, event, seat, person):
    console = sign_in(acme)
    path = f"/console/events/{event['id']}"
    assert "Closed: everybody can order at once." in console.client.get(path).text

    pressed = console.send(f"{path}/waiting-room", {"waiting_room": "on"})

    assert pressed.status_code == 303
    assert "Open: people order one after the other" in console.client.get(path).text
    assert person().place() == 1


def test_a_slow_service_calls_fewer_people(app, acme, admin, event, person, time, opened):
    def called():
        person().open()
        time.forward(seconds=1.1)
        return WaitingRoom.get().per_minute

    def be_slow():
        for _ in range(200):
            app.extensions["waiting_rooms"].times.record(0.9)

    crowd = [person() for _ in range(60)]
    for each in crowd:
        each.open()
    be_slow()
    excused = [called() for _ in range(7)]
    before = [called() for _ in range(3)]
    be_slow()
    after = [called() for _ in range(2)]

    assert excused == sorted(excused) and before == sorted(before)
    assert after[-1] < 0.75 * before[-1]


@pytest.mark.parametrize("mode", ["", "sometimes", None])
def test_other_modes_are_refused(acme, admin, event, mode):
    answer = admin.patch(f"{acme.path}/events/{event['id']}", {"waiting_room": mode})

    assert answer.status_code == 422
