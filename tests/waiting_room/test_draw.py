"""Before the sale starts, places are drawn by lot."""

import re

import pytest

from tests.support.apps import new_app
from tests.waiting_room.conftest import in_minutes, switch
from ticketing.services.waiting_room import admitting


@pytest.fixture
def seat(acme, event, time):
    """A free ticket type whose sale starts in ten minutes."""
    starts = in_minutes(time, 10)
    fields = {"price_amount": 0, "chain_id": None, "capacity": None, "sales_start_at": starts}
    return acme.ticket(event, name="Seat", **fields)


@pytest.fixture
def drawing(acme, admin, event, person):
    """People wait for the start of the sale."""
    switch(acme, admin, event, "on")
    person().open()  # the first one sees the event, and opens the room
    person().open()


def position_of(someone):
    someone.preflight()
    return int(re.match(r"wr_(\d+)_", someone.token)[1])


def test_before_the_sale_the_page_says_that_places_are_drawn(drawing, person):
    page = person().open().text

    assert "The sale has not started." in page
    assert "drawn by lot" in page
    assert "Your place" not in page


def test_nobody_gains_by_coming_first_or_again(drawing, person, time):
    ada, bob = person(), person()
    first = position_of(ada)
    time.forward(minutes=2)
    ada.token = None

    assert position_of(ada) == first
    # All are within the second before the sale.
    assert position_of(bob) // 10**6 == first // 10**6
    answer = bob.preflight()
    assert answer.status_code == 429
    assert answer.json["wait_reason"] == "draw"
    assert answer.json["place"] is None
    assert answer.json["wait_seconds"] == 480


def test_who_comes_after_the_start_is_behind_all_others(drawing, person, time, monkeypatch):
    monkeypatch.setattr(admitting, "GROWTH", 1.0)
    early = [person() for _ in range(20)]
    for each in early:
        position_of(each)
    time.forward(minutes=10, seconds=0.5)
    late = person()

    assert position_of(late) > max(position_of(each) for each in early)
    time.forward(seconds=1)
    early[0].open()
    time.forward(seconds=1)
    answers = {each.preflight().status_code for each in early}
    assert answers == {201, 429}
    assert late.preflight().status_code == 429


def test_the_room_opens_half_an_hour_before_the_sale(acme, admin, event, seat, person, time):
    changed = {"sales_start_at": in_minutes(time, 40)}
    admin.patch(f"{acme.path}/events/{event['id']}/tickets/{seat['id']}", changed)
    switch(acme, admin, event, "on")
    person().open()
    assert "drawn by lot" not in person().open().text

    time.forward(minutes=11)
    person().open()

    assert "drawn by lot" in person().open().text


def test_without_a_switch_nobody_waits_for_a_sale(event, person):
    person().open()

    assert "drawn by lot" not in person().open().text


@pytest.mark.parametrize("minutes", [-1, 5, 20])
def test_who_is_in_the_draw_stays_in_it_if_the_start_is_moved(
    drawing, acme, admin, event, seat, person, time, minutes
):
    ada = person()
    ada.open()
    path = f"{acme.path}/events/{event['id']}/tickets/{seat['id']}"
    assert admin.patch(path, {"sales_start_at": in_minutes(time, minutes)}).status_code == 200
    for _ in range(2 if minutes < 0 else minutes - 1):
        ada.open()
        time.forward(seconds=60 if minutes > 0 else 2)
    assert minutes < 0 or "The sale has not started." in ada.open().text

    late = person()
    for _ in range(70):
        time.forward(seconds=1.1)
        if ada.place() is None:
            break

    assert ada.place() is None
    assert late.place() is not None


def test_the_room_stays_when_the_clocks_of_two_hosts_differ(drawing, person, time, environ):
    ada, behind = person(), person(of_app=new_app(environ))
    ada.open()
    time.forward(minutes=10, seconds=0.1)
    ada.open()
    time.forward(seconds=-0.6)  # the clock of the other host
    behind.open()
    time.forward(seconds=1.2)
    behind.open()

    assert behind.place() is not None


def test_the_room_closes_if_the_event_is_canceled(drawing, acme, admin, event, person, time):
    admin.post(f"{acme.path}/events/{event['id']}/status", {"status": "canceled"})
    time.forward(seconds=2)
    person().open()

    assert "This event is canceled." in person().open().text
