"""Who came first is first: the order of people in a waiting room, and how they keep their place."""

import pytest

from tests.support.apps import new_app
from ticketing.db.connection import database
from ticketing.models.ticket_types import TicketType
from ticketing.services.waiting_room import admitting


@pytest.fixture(autouse=True)
def one_a_second(monkeypatch):
    """One person is called a second, however fast the service is."""
    monkeypatch.setattr(admitting, "FIRST_PER_MINUTE", 60)
    monkeypatch.setattr(admitting, "GROWTH", 1.0)
    monkeypatch.setattr(admitting, "CAREFUL_GROWTH", 1.0)
    monkeypatch.setattr(admitting, "CLOSES_AFTER", 10**12)


def crowd(person, time, number, apart=1.0):
    """Return people who came one after the other."""
    people = []
    for _ in range(number):
        people.append(person())
        assert people[-1].place() is not None
        time.forward(seconds=apart)
    return people


def admitted(people, time, seconds):
    """Let all ask each second. Return the indexes of who was admitted, in this order."""
    found = []
    for _ in range(seconds):
        for index, each in enumerate(people):
            if index not in found and each.place() is None:
                found.append(index)
        time.forward(seconds=1)
    return found


def test_people_are_admitted_in_the_order_of_their_arrival(opened, person, time):
    people = crowd(person, time, 10, apart=1.0)

    assert admitted(people, time, 15) == list(range(10))


def test_a_place_is_how_many_came_before(opened, person, time):
    people = crowd(person, time, 8, apart=0.1)
    time.forward(seconds=1)

    last = person()
    first_answer = last.place()
    time.forward(seconds=1.1)

    # Those of one second are in the order of their lots, so their number is an estimate.
    assert all(1 <= each.place() <= 8 for each in people)
    assert first_answer == last.place() == 9


def test_loading_the_page_again_changes_nothing(opened, person, time):
    people = crowd(person, time, 6)
    for _ in range(20):
        people[5].open()

    assert admitted(people, time, 12) == list(range(6))


def test_a_second_tab_gets_a_later_place(opened, person, time):
    first, *others = crowd(person, time, 5)

    tab = person(first.address)

    assert tab.place() > max(each.place() for each in others if each.place())


def test_a_token_of_another_network_is_not_accepted(opened, person, time):
    people = crowd(person, time, 5)
    thief = person()
    thief.client = people[0].client

    assert thief.place() > max(each.place() or 0 for each in people[1:])


@pytest.mark.parametrize("change", [lambda token: token[:-1] + "0", lambda token: "wr_1"])
def test_a_forged_token_is_not_accepted(opened, person, time, change):
    forger, *others = crowd(person, time, 5)
    forger.preflight()
    forger.token = change(forger.token)

    assert forger.preflight().json["place"] > max(each.place() or 0 for each in others)


def test_one_person_of_a_network_orders_at_a_time(opened, person, time):
    TicketType.update(capacity=40).execute()  # a network may have one order of them
    ada = person("203.0.113.7")
    bob = person("203.0.113.7")
    assert ada.place() and bob.place()
    time.forward(seconds=5)
    ada.open()
    time.forward(seconds=5)

    assert ada.place() is None
    assert "Others in your network are ordering" in bob.open().text

    assert ada.order().status_code == 303
    time.forward(seconds=3)
    assert bob.place() is None


def test_two_tabs_that_ask_at_once_have_one_turn(opened, person, time):
    (ada, *_) = crowd(person, time, 3)
    waiting = ada.client.get_cookie("waiting-room", path="/acme/summer").value
    time.forward(seconds=3)
    ada.open()
    time.forward(seconds=1)
    assert ada.place() is None

    # The other tab still had the cookie of somebody who waits.
    ada.client.set_cookie("waiting-room", waiting, path="/acme/summer")

    assert ada.place() is None
    assert ada.order().status_code == 303


def test_a_turn_is_for_one_order(opened, person, time):
    (ada, *_) = crowd(person, time, 3)
    time.forward(seconds=3)
    ada.open()
    time.forward(seconds=1)

    assert ada.order().status_code == 303

    assert ada.place() is not None
    again = ada.send("0" * 32)
    assert again.status_code == 429
    assert "We keep your place" in again.text


def test_a_turn_that_was_not_used_ends_after_ten_minutes(opened, person, time):
    (ada, *_) = crowd(person, time, 3)
    time.forward(seconds=3)
    ada.open()
    time.forward(seconds=1)
    assert ada.place() is None

    for _ in range(12):
        time.forward(seconds=55)
        person().open()  # somebody always comes, so the room stays open

    assert ada.place() is not None


def test_the_form_is_shown_again_with_what_was_filled_in(opened, person, time, seat):
    ada = person()
    key = "0123456789abcdef" * 2

    refused = ada.send(key, email="ada@example.org")

    assert refused.status_code == 429
    assert "Many people want tickets now" in refused.text
    assert 'value="ada@example.org"' in refused.text

    for _ in range(4):
        time.forward(seconds=1)
        person().open()
    assert ada.send(key, email="ada@example.org").status_code == 303


def test_who_was_away_is_passed_over_once(opened, person, time):
    ada, bob, *_ = crowd(person, time, 3)
    for _ in range(13):
        time.forward(seconds=10)
        bob.open()
        person().open()

    assert ada.place() is not None  # called while they were away
    time.forward(seconds=1.1)
    person().open()
    time.forward(seconds=1.1)
    assert ada.place() is None


def test_who_was_away_for_a_minute_keeps_the_place(opened, person, time):
    ada, bob, *_ = crowd(person, time, 3)
    for _ in range(6):
        time.forward(seconds=10)
        bob.open()

    assert ada.place() is None


def test_a_clock_that_is_set_back_changes_no_order(opened, person, time, monkeypatch):
    people = crowd(person, time, 4)
    seconds = iter(range(100, 1000))
    time.forward(hours=-1)
    monkeypatch.setattr("ticketing.clock.monotonic", lambda: next(seconds) / 10)

    late = person()
    late.open()

    assert late.place() == 5 - sum(each.place() is None for each in people)


def test_processes_and_restarts_agree(opened, person, time, environ):
    other = new_app(environ)
    people = []
    for index in range(8):
        people.append(person(of_app=other) if index % 2 else person())
        assert people[-1].place() is not None
        time.forward(seconds=1)
    restarted = new_app(environ)
    for each in people[4:]:
        each.app, each.client = restarted, _with_cookies_of(each.client, restarted)

    assert admitted(people, time, 14) == list(range(8))


def _with_cookies_of(client, app):
    """Return a browser with the same cookies that asks another process."""
    client.application = app
    return client


def test_a_page_of_somebody_who_waits_costs_no_sql(opened, person, time, monkeypatch):
    people = crowd(person, time, 5, apart=0.0)
    people[4].open()
    asked = []
    monkeypatch.setattr(database.obj, "execute_sql", lambda *given: asked.append(given))

    assert people[4].place() is not None
    assert asked == []
