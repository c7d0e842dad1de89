"""People who do not exist, or come many times, hardly delay the others. The figures are seconds."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from peewee import fn

from tests.support.apps import new_app
from tests.waiting_room.conftest import figures, in_minutes, switch
from ticketing.models.waiting_rooms import WaitingRoomArrivals
from ticketing.response_times import Counts
from ticketing.services.waiting_room import admitting
from ticketing.services.waiting_room.admitting import Seen
from ticketing.services.waiting_room.arrivals import Arrivals
from ticketing.services.waiting_room.places import SECOND

SEATS, HONEST, EVERY = 40, 20, 2
PAGE = "/acme/summer"


@pytest.fixture
def seat(acme, event, time):
    """A free ticket type with few seats, whose sale starts in a minute."""
    fields = {"price_amount": 0, "chain_id": None, "sales_start_at": in_minutes(time, 1)}
    return acme.ticket(event, name="Seat", capacity=SEATS, **fields)


@pytest.fixture
def drawing(acme, admin, event, person):
    """People wait for the start of the sale."""
    switch(acme, admin, event, "on")
    person().open()  # it sees the event, and opens the room
    person().open()


def ask(app: Any, address: str, path: str = PAGE) -> int:
    """Ask for the page as somebody who keeps no cookie. Return the status."""
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "REMOTE_ADDR": address,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "http",
    }
    statuses: list[str] = []
    for _ in app(environ, lambda status, headers, _=None: statuses.append(status)):
        pass
    return int(statuses[0][:3])


def of_one_site(number: int) -> Iterable[str]:
    """Addresses of one IPv6 /48, each in a /64 of its own."""
    return (f"2001:db8:1:{each:x}::1" for each in range(number))


def of_addresses(number: int, times: int) -> Iterable[str]:
    """IPv4 addresses, each some times."""
    return (f"203.0.113.{each % number}" for each in range(number * times))


def last_of(honest, app, time, most):
    """Let all ask every two seconds until they ordered. Return after how many the last one did."""
    waiting = list(honest)
    for second in range(most + 1):
        if second % EVERY == 0:
            for each in list(waiting):
                if each.place() is None:
                    assert each.order().status_code == 303
                    waiting.remove(each)
        if not waiting:
            return second
        time.forward(seconds=1)
        ask(app, "192.0.2.1", "/healthz")  # each request lets the process look at the room
    return most + 1


@pytest.mark.parametrize(
    ("phantoms", "most"),
    [
        ((), 6),
        (tuple(of_one_site(4000)), 10),
        (tuple(of_addresses(50, 80)), 30),
    ],
    ids=["nobody", "a /48", "50 addresses"],
)
def test_requests_that_nobody_follows_hardly_delay_the_others(
    drawing, person, time, app, phantoms, most
):
    honest = [person() for _ in range(HONEST)]
    for each in honest:
        assert each.place() == 0
    for index, address in enumerate(phantoms):
        ask(app, address)
        if index % 100 == 99:  # 40 steps, in the minute before the sale
            time.forward(seconds=1)
    time.forward(seconds=62 - len(phantoms) / 100)

    assert last_of(honest, app, time, most) <= most


@pytest.mark.parametrize(
    ("came", "came_in_memory", "called"), [(5, 10, 1), (0, 0, 9), (50, 100, 10)]
)
def test_of_those_who_were_called_a_share_is_expected(came, came_in_memory, called):
    second = 1_764_000_000
    opened = admitting.opened(second * SECOND, None)
    room = replace(opened, admitted_until=0, called=(10,) * admitting.MEMORY)
    seen = Seen(Arrivals([(second - 10, 1000)]), Counts(9, 0, 0), came, came_in_memory, 0, left=10)

    moved = admitting.moved(room, (second + 1) * SECOND, seen)

    assert moved.called[-1] == called


def waiting_of(acme, admin, event, time, apps):
    for app in apps:
        time.forward(seconds=1.1)
        ask(app, "192.0.2.1", "/healthz")
    return figures(acme, admin, event)["waiting"]


@pytest.mark.parametrize(
    "addresses", [tuple(of_one_site(12)), ("203.0.113.9",) * 12], ids=["a /48", "an address"]
)
def test_of_a_network_five_are_counted_before_the_sale_by_all_processes(
    drawing, acme, admin, event, time, app, environ, addresses
):
    apps = app, new_app(environ)
    before = waiting_of(acme, admin, event, time, apps)
    for each in apps:
        for address in addresses:
            assert ask(each, address) == 200

    assert waiting_of(acme, admin, event, time, apps) == before + 5


def test_a_refused_request_counts_nobody(drawing, acme, admin, event, time, environ):
    limited = new_app({**environ, "RATE_LIMIT_PUBLIC": "3"})
    before = waiting_of(acme, admin, event, time, (limited,))
    assert [ask(limited, "203.0.113.9", "/acme") for _ in range(3)] == [200] * 3

    assert ask(limited, "203.0.113.9") == 429

    assert waiting_of(acme, admin, event, time, (limited,)) == before


def test_of_a_network_one_person_is_counted_in_ten_seconds_of_the_sale(
    drawing, time, app, environ, monkeypatch
):
    monkeypatch.setattr(admitting, "CLOSES_AFTER", 10**12)
    apps = app, new_app(environ)
    time.forward(seconds=62)
    for each in apps:
        ask(each, "203.0.113.9")  # the room is read, and the sale has begun
    time.forward(seconds=1.1)

    for _ in range(22):
        for each in apps:
            ask(each, "203.0.113.9")
        time.forward(seconds=1)

    counted = WaitingRoomArrivals.select(fn.SUM(WaitingRoomArrivals.people)).scalar()
    assert counted == 4  # one opened the room, three came in 23 seconds
