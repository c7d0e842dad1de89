"""Fixtures of the tests of waiting rooms: a stopped clock, an event, and a crowd for it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.support.factories import Api, Organizer
from tests.support.order_pages import SAME_ORIGIN, key_in
from tests.support.stopped_clock import START, StoppedClock
from ticketing import clock
from ticketing.response_times import WAITED

PLACE = re.compile(r"Your place: (\d+)\.")


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> StoppedClock:
    """The clock, stopped, with the seconds that only grow."""
    stopped = StoppedClock(monkeypatch, START)
    monkeypatch.setattr(clock, "monotonic", lambda: (stopped.now - START).total_seconds())
    return stopped


@pytest.fixture
def admin(acme: Organizer) -> Api:
    """A client with acme's key: a JWT has the real time."""
    return acme.with_headers({"X-API-Key": acme.admin_key})


@pytest.fixture
def event(time: StoppedClock, acme: Organizer) -> dict[str, Any]:
    """A published event."""
    return acme.event(title="Summer Concert", slug="summer")


@pytest.fixture
def seat(acme: Organizer, event: dict[str, Any]) -> dict[str, Any]:
    """A free ticket type of it, without an end."""
    return acme.ticket(event, name="Seat", price_amount=0, chain_id=None, capacity=None)


@dataclass
class Person:
    """Somebody with a browser, in a network of their own."""

    app: Flask
    seat: dict[str, Any]
    address: str
    token: str | None = None
    client: Any = field(init=False)

    def __post_init__(self) -> None:
        self.client = self.app.test_client()

    def open(self, path: str = "/acme/summer") -> TestResponse:
        """Open the page of the event, and follow where it leads."""
        for _ in range(3):
            answer = self.client.get(path, environ_overrides={"REMOTE_ADDR": self.address})
            if answer.location is None:
                break
            path = answer.location
        return answer

    def place(self) -> int | None:
        """Open the page, and return the place that it shows. None: the form; 0: the draw."""
        page = self.open().text
        found = PLACE.search(page)
        assert found or 'name="idempotency_key"' in page or "has not started" in page, page
        return int(found[1]) if found else None if 'name="idempotency_key"' in page else 0

    def order(self, **fields: str) -> TestResponse:
        """Open the page, and send the form of the event for one ticket."""
        page = self.open().text
        return self.send(key_in(page), **fields)

    def send(self, key: str, **fields: str) -> TestResponse:
        """Send the form of the event."""
        form = {"idempotency_key": key, f"quantity.{self.seat['id']}": "1", **fields}
        options = {"environ_overrides": {"REMOTE_ADDR": self.address}, "headers": SAME_ORIGIN}
        return self.client.post("/acme/summer/order", data=form, **options)

    def preflight(self, waited: float = 0.0, **headers: str) -> TestResponse:
        """Order as a program does, with the token of the answer before.

        `waited`: for how many seconds the request waited for a thread.
        """
        body = {"event_id": self.seat["event_id"], "ticket_id": self.seat["id"]}
        if self.token is not None:
            headers["Waiting-Room-Token"] = self.token
        options = {"environ_overrides": {"REMOTE_ADDR": self.address, WAITED: waited}}
        answer = Api(self.client).post(
            "/v1/checkout/tenants/acme/preflight", body, headers=headers, **options
        )
        self.token = (answer.json or {}).get("token", self.token)
        return answer


@pytest.fixture
def person(app: Flask, seat: dict[str, Any]) -> Callable[..., Person]:
    """Make people, each in a network of their own."""
    numbers = iter(range(1, 255))

    def make(address: str | None = None, of_app: Flask = app) -> Person:
        return Person(of_app, seat, address or f"198.51.100.{next(numbers)}")

    return make


@pytest.fixture
def opened(acme: Organizer, admin: Api, seat: dict[str, Any], event: dict[str, Any]) -> None:
    """The waiting room of the event is open."""
    switch(acme, admin, event, "on")


def switch(acme: Organizer, admin: Api, event: dict[str, Any], mode: str) -> None:
    """Switch the waiting room of an event."""
    answer = admin.patch(f"{acme.path}/events/{event['id']}", {"waiting_room": mode})
    assert answer.status_code == 200, answer.json


def figures(acme: Organizer, admin: Api, event: dict[str, Any]) -> dict[str, Any]:
    """What organizers see of the room."""
    answer = admin.get(f"{acme.path}/events/{event['id']}/waiting-room")
    assert answer.status_code == 200, answer.json
    return answer.json


def in_minutes(time: StoppedClock, minutes: int) -> str:
    """A time in some minutes, for the API."""
    return clock.rfc3339(time.now + timedelta(minutes=minutes))
