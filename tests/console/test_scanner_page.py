"""The page on which members open the scanner: who may, for how long, and what they get."""

import pytest

from tests.support.console import sign_in
from tests.support.factories import in_days
from ticketing.models.door import DoorDevice
from ticketing.roles import Role
from ticketing.services.access import members

PATH = "/console/scanner"


@pytest.fixture
def event(acme):
    """A published event of acme."""
    return acme.event()


@pytest.fixture
def doorman(acme):
    """A member of acme with role door."""
    return sign_in(acme, "door", "dora@example.org")


def opened(console, event, **form):
    """Open the scanner at an event, and return the answer of its pairing: what the page does."""
    answer = console.send(f"{PATH}/{event['id']}", form)
    assert answer.status_code == 303, answer.text
    code = answer.location.partition("/door/#")[2]
    paired = console.client.post("/v1/door/pair", json={"pairing_code": code})
    assert paired.status_code == 200, paired.json
    return paired.json


def manifest(acme, event, token):
    path = f"/v1/door/tenants/{acme.slug}/events/{event['id']}/manifest"
    return acme.with_headers({"Authorization": f"Bearer {token}"}).get(path)


def member_of(acme, console):
    return members.find(acme.id, console.email)


def test_the_door_opens_the_scanner_and_nothing_else(acme, event, doorman):
    # /console leads on to the only section that this role has.
    assert doorman.get("/console").location == PATH
    page = doorman.get(PATH).text
    assert "Launch Night" in page and 'action="/console/search"' not in page
    assert "/console/events" not in page and "/console/orders" not in page
    for path in ("/console/events", f"/console/events/{event['id']}", "/console/search?q=x"):
        refused = doorman.get(path)
        assert refused.status_code == 403 and "You are signed in as Door" in refused.text
    paired = opened(doorman, event)
    assert paired["show_names"] is True
    answer = manifest(acme, event, paired["token"])
    assert answer.status_code == 200


def test_the_organizer_sees_whose_device_it_is(acme, event, doorman, writer):
    opened(doorman, event)
    assert "dora@example.org" in writer.get(f"/console/events/{event['id']}/door").text
    (device,) = DoorDevice.select()
    assert device.member_id == member_of(acme, doorman).id and device.revoked_at is None


def test_one_form_makes_one_device(event, doorman):
    first = doorman.send(f"{PATH}/{event['id']}")
    again = doorman.send(f"{PATH}/{event['id']}")
    assert "/door/#" in first.location and again.location == PATH
    assert DoorDevice.select().count() == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda acme, event, member: members.disable(acme.id, member.id),
        lambda acme, event, member: members.change(acme.id, member.id, {"role": Role.READ}),
        lambda acme, event, member: members.change(
            acme.id, member.id, {"role": Role.DOOR, "event_ids": [acme.event()["id"]]}
        ),
    ],
    ids=["disabled", "another role", "another event"],
)
def test_the_scanner_ends_with_the_right_to_scan(acme, event, doorman, change):
    token = opened(doorman, event)["token"]
    change(acme, event, member_of(acme, doorman))
    assert manifest(acme, event, token).status_code == 401


def test_the_scanner_stays_while_the_member_may_scan_there(acme, event, doorman):
    token = opened(doorman, event)["token"]
    member = member_of(acme, doorman)
    limit = {"role": Role.WRITE, "event_ids": [event["id"]]}
    members.change(acme.id, member.id, limit)
    assert manifest(acme, event, token).status_code == 200


def test_a_limited_member_sees_and_opens_the_own_events_only(acme, event):
    other = acme.event(title="Other")
    console = sign_in(acme, "door", "dora@example.org", [event["id"]])
    page = console.get(PATH).text
    assert "Launch Night" in page and "Other" not in page
    for unknown in (other["id"], "evt_none"):
        refused = console.send(f"{PATH}/{unknown}")
        assert refused.status_code == 403 and "Not one of your events" in refused.text
    assert DoorDevice.select().count() == 0


def test_events_that_are_over_or_no_longer_published_are_not_listed(acme, doorman):
    acme.event(title="Draft", status="draft")
    soon = acme.event(title="Soon", start_at=in_days(1))
    page = doorman.get(PATH).text
    assert soon["title"] in page and "Draft" not in page


def test_readers_do_not_scan(event, reader):
    assert reader.get(PATH).status_code == 403
    assert reader.send(f"{PATH}/{event['id']}").status_code == 403
    assert f'href="{PATH}"' not in reader.get("/console").text
