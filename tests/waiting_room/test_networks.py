"""An organizer lets the people of a network come after the others."""

import pytest

from tests.support.order_pages import key_in
from tests.waiting_room.test_turns import SCHOOL, called, pass_by
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_rooms import WaitingRoomTurn
from ticketing.services import client_networks
from ticketing.services.waiting_room import admitting


@pytest.fixture(autouse=True)
def stays_open(monkeypatch):
    monkeypatch.setattr(admitting, "CLOSES_AFTER", 10**12)


def test_its_turns_end_and_its_people_come_last(acme, app, opened, person, time, event):
    TicketType.update(capacity=400, max_per_order=1).execute()
    school = [person(SCHOOL) for _ in range(3)]
    called(school, person, time)
    assert [each.place() for each in school] == [None] * 3
    config = app.extensions["ticketing"]
    (network,) = [
        each for each in client_networks.of_event(acme.id, event["id"], config) if each.turns
    ]
    assert (network.turns, network.came) == (3, 1)
    others = [person() for _ in range(3)]
    for each in others:
        assert each.place() is not None
    keys = [key_in(each.open().text) for each in school]
    done = client_networks.cancel(acme.id, event["id"], network.id, config.keyring)
    assert done.turns == 3 and not WaitingRoomTurn.select().where(~WaitingRoomTurn.used).exists()
    for each, key in zip(school, keys, strict=True):
        refused = each.send(key)
        assert refused.status_code == 429 and "We keep your place" in refused.text
    pass_by(person, time, 5)
    assert [each.place() for each in others] == [None] * 3
    (network,) = [
        each for each in client_networks.of_event(acme.id, event["id"], config) if each.is_last
    ]
    assert network.turns == 0
