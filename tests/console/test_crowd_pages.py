"""The console's page of crowds, and what it says before a free event is published."""

import pytest

from tests.support.admissions import FREE

pytestmark = pytest.mark.one_database

HINT = 'id="crowd"'


@pytest.fixture
def environ(environ):
    return {**environ, "FREE_PER_CLIENT": "10", "CROWD_MOST": "300"}


@pytest.fixture
def event(acme):
    event = acme.event(status="draft")
    acme.ticket(event, **FREE, capacity=51, status="draft")
    return event


def crowds_of(acme, event):
    return acme.api().get(f"{acme.path}/events/{event['id']}/crowds").json["crowds"]


def test_it_is_named_before_a_free_event_is_published(acme, writer, event):
    here = f"/console/events/{event['id']}"
    assert HINT in writer.get(f"{here}/publish").text
    added = writer.send(f"{here}/crowds", {"network": "203.0.113.9/24", "seats": "30"})
    assert added.headers["Location"] == f"{here}/crowds#saved"
    assert HINT not in writer.get(f"{here}/publish").text
    for path in (here, f"{here}/crowds"):
        assert "203.0.113.0/24" in writer.get(path).text
    # The same network again replaces the first.
    writer.send(f"{here}/crowds", {"network": "203.0.113.0/24", "seats": "31"})
    assert crowds_of(acme, event) == [{"network": "203.0.113.0/24", "seats": 31}]
    writer.send(f"{here}/crowds/remove", {"network": "203.0.113.0/24"})
    assert crowds_of(acme, event) == []


def test_only_for_many_free_tickets(acme, writer):
    event = acme.event(status="draft")
    acme.ticket(event, **FREE, capacity=50, status="draft")
    acme.ticket(event, capacity=500, status="draft")
    assert HINT not in writer.get(f"/console/events/{event['id']}/publish").text


def test_what_is_wrong_is_said_at_its_field(acme, writer, event):
    path = f"/console/events/{event['id']}/crowds"
    for network, seats, said in (
        ("the school", "30", "Write an address, or a network such as"),
        ("203.0.0.0/8", "30", "Write an address, or a network such as"),
        ("203.0.113.7", "301", "Write a number from 1 to 300."),
        ("203.0.113.7", "many", "Please write a number."),
    ):
        shown = writer.send(path, {"network": network, "seats": seats})
        assert shown.status_code == 422 and said in shown.text
        assert network in shown.text
    for host in range(10):
        writer.send(path, {"network": f"203.0.113.{host}", "seats": "1"})
    full = writer.send(path, {"network": "203.0.113.10", "seats": "1"})
    assert "at most 10 of them" in full.text
    assert len(crowds_of(acme, event)) == 10
