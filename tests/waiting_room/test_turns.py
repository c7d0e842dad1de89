"""The turns of one network: several at a time, few while others wait, and none for who is idle."""

import pytest

from tests.support.order_pages import key_in
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_rooms import WaitingRoom
from ticketing.services.waiting_room import admitting

SCHOOL = "203.0.113.7"
OTHERS_ORDER = "Others in your network are ordering"


@pytest.fixture(autouse=True)
def stays_open(monkeypatch):
    monkeypatch.setattr(admitting, "CLOSES_AFTER", 10**12)


@pytest.fixture
def seats():
    """Give the event some seats, with a most of each order."""

    def make(capacity, max_per_order):
        TicketType.update(capacity=capacity, max_per_order=max_per_order).execute()

    return make


def pass_by(person, time, seconds):
    """Let time pass, while somebody asks each second."""
    other = person()
    for _ in range(seconds):
        other.open("/acme")
        time.forward(seconds=1)


def called(people, person, time):
    """Let people come, and be called."""
    for each in people:
        assert each.place() is not None
    pass_by(person, time, 5)


@pytest.mark.parametrize(
    ("capacity", "max_per_order", "turns"),
    [
        (200, 5, 2),  # 5 percent are 10 seats: two orders of 5
        (40, 10, 1),  # one order is always possible
        (10_000, 10, 20),  # 50 orders
        (None, 10, 20),
    ],
)
def test_a_network_has_as_many_turns_at_a_time_as_its_share_has_orders(
    opened, person, time, seats, capacity, max_per_order, turns
):
    seats(capacity, max_per_order)
    people = [person(SCHOOL) for _ in range(turns + 2)]
    called(people, person, time)

    pages = [each.open().text for each in people]

    assert ["idempotency_key" in each for each in pages] == [True] * turns + [False] * 2
    assert OTHERS_ORDER in pages[-1]
    assert people[0].order().status_code == 303
    assert people[-1].place() is None


def test_a_wide_network_has_three_times_as_many(opened, person, time, seats):
    seats(40, 10)
    people = [person(f"2001:db8:7:{number}::1") for number in range(4)]
    called(people, person, time)

    admitted = ["idempotency_key" in each.open().text for each in people]

    assert admitted == [True, True, True, False]


def test_of_collected_places_few_are_used_while_others_wait(
    opened, person, time, seats, monkeypatch
):
    WaitingRoom.update(per_minute=60).execute()
    monkeypatch.setattr(admitting, "GROWTH", 1.0)
    monkeypatch.setattr(admitting, "CAREFUL_GROWTH", 1.0)
    seats(400, 1)  # 2 percent are 8 turns
    first = [person() for _ in range(5)]
    farm = [person(SCHOOL) for _ in range(12)]
    others = [person() for _ in range(15)]
    for some in (first, farm, others):
        for each in some:
            assert each.place() is not None
        time.forward(seconds=1.1)

    ordered = []
    for _ in range(45):
        for index, each in enumerate([*first, *farm, *others]):
            if index not in ordered and each.place() is None:
                assert each.order().status_code == 303
                ordered.append(index)
        time.forward(seconds=1)

    assert set(ordered[:5]) == set(range(5))
    assert set(ordered[5:13]) == set(range(5, 13))
    assert set(ordered[13:28]) == set(range(17, 32))
    assert set(ordered[28:]) == set(range(13, 17))


def test_a_turn_ends_after_two_minutes_without_a_request_if_a_neighbor_waits(
    opened, person, time, seats
):
    seats(40, 10)
    idle, neighbor = person(SCHOOL), person(SCHOOL)
    called((idle, neighbor), person, time)
    assert idle.place() is None
    pass_by(person, time, 110)
    assert OTHERS_ORDER in neighbor.open().text
    pass_by(person, time, 11)

    assert neighbor.place() is None

    # The other one has lost nothing but this: now the neighbor has their turn.
    late = idle.send("0" * 32)
    assert late.status_code == 429
    assert "We keep your place" in late.text
    assert neighbor.order().status_code == 303
    assert idle.place() is None
    assert idle.order().status_code == 303


def test_who_asks_keeps_the_turn_for_ten_minutes(opened, person, time, seats):
    seats(40, 10)
    busy, neighbor = person(SCHOOL), person(SCHOOL)
    called((busy, neighbor), person, time)
    for _ in range(5):
        assert busy.place() is None
        assert OTHERS_ORDER in neighbor.open().text
        pass_by(person, time, 100)
    assert busy.place() is None
    assert OTHERS_ORDER in neighbor.open().text
    pass_by(person, time, 101)

    assert neighbor.place() is None
    assert busy.place() is not None


def test_who_is_idle_alone_keeps_the_turn(opened, person, time, seats):
    seats(40, 10)
    ada = person(SCHOOL)
    called((ada,), person, time)
    assert ada.place() is None
    pass_by(person, time, 500)

    assert ada.order().status_code == 303


def test_who_is_idle_holds_no_seat(opened, person, time, seats):
    seats(1, 1)
    idle, other = person(), person()
    called((idle,), person, time)
    assert idle.place() is None
    assert other.place() is not None
    for _ in range(11):
        pass_by(person, time, 10)
        assert other.place() is not None
    pass_by(person, time, 15)

    assert other.place() is None


def test_a_lecture_hall_behind_one_address_has_its_turns(opened, person, time, seats):
    seats(1000, 10)  # 50 seats are 5 orders at a time
    hall = [person(SCHOOL) for _ in range(300)]
    others = [person() for _ in range(20)]
    people = [*hall, *others]
    asks_at = dict.fromkeys(range(len(people)), 0)
    for second in range(600):
        for index in [index for index, at in asks_at.items() if at <= second]:
            page = people[index].open()
            if "idempotency_key" in page.text:
                assert people[index].send(key_in(page.text)).status_code == 303
                del asks_at[index]
            else:
                asks_at[index] = second + int(page.headers["Retry-After"])
        if not asks_at:
            return
        time.forward(seconds=1)

    raise AssertionError(f"{len(asks_at)} had no turn")
