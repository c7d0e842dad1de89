"""The console's page of an event's door."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.support.doors import Door, redeem
from tests.support.factories import Api
from ticketing.models.door import DoorDevice

CODE = re.compile(r'data-copy="([0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{4})"')
DEVICE = {"name": "Phone 3", "gate": "North", "show_names": ""}


@pytest.fixture
def door(acme):
    """An event whose doors are open."""
    return Door(acme)


@pytest.fixture
def here(door):
    return f"/console/events/{door.event['id']}/door"


def test_a_device_is_paired_with_what_is_shown_once(acme, writer, here):
    shown = writer.send(f"{here}/devices", {**DEVICE, "show_names": ["", "on"]})
    assert shown.status_code == 200
    (code,) = CODE.findall(shown.text)
    bare = code.replace("-", "")
    assert f'data-copy="http://localhost/door/#{bare}"' in shown.text and "<svg" in shown.text
    repeated = writer.send(f"{here}/devices", {**DEVICE, "show_names": ["", "on"]})
    assert bare not in repeated.text and "not shown again" in repeated.text
    assert DoorDevice.select().count() == 1
    paired = Api(acme.app.test_client()).post("/v1/door/pair", {"pairing_code": code})
    assert paired.status_code == 200 and paired.json["show_names"]
    page = writer.get(here).text
    assert "Phone 3" in page and "North" in page and "Paired" in page and bare not in page


def test_a_device_without_a_name_is_shown_again(writer, here):
    answer = writer.send(f"{here}/devices", {"name": "", "gate": "North"})
    assert answer.status_code == 422
    assert 'id="name-error"' in answer.text and 'value="North"' in answer.text


def test_a_device_is_revoked_and_it_is_recorded(acme, door, writer, here):
    device = door.admin.post(door.devices, {"name": "Phone"}).json["id"]
    for _ in range(2):
        answer = writer.send(f"{here}/devices/{device}/revoke")
        assert answer.headers["Location"] == f"{here}#revoked"
    assert DoorDevice.get_by_id(device).revoked_at is not None
    assert f"{device}/revoke" not in writer.get(here).text
    entries = acme.api().get(f"{acme.path}/audit-log").json["data"]
    actions = [each["action"] for each in entries if each["subject"] == device]
    assert actions[0] == "door_devices_revoke_door_device" and len(actions) == 2


def test_counts_show_who_is_inside_and_why_scans_conflict(door, writer, here):
    first, second = door.gate(gate="North"), door.gate(gate="South")
    ticket = door.admission()
    first.results(redeem(qr=door.qr(ticket)))
    second.results(redeem(qr=door.qr(ticket), decided="admitted"))
    for path in (here, f"{here}/counts"):
        page = writer.get(path).text
        assert "Two people came in with the same ticket." in page
        assert "<bdi>North</bdi>" in page and "<bdi>South</bdi>" in page
        assert f"/console/attendees/{ticket.id}" in page
        assert '<rect class="bar-mark" width="1" height="1"/>' in page
    assert f'data-live="{here}/counts"' in writer.get(here).text


def test_the_part_that_is_refreshed_is_no_page(writer, here):
    answer = writer.get(f"{here}/counts")
    assert "<html" not in answer.text and "<dt>Inside</dt>" in answer.text
    assert answer.headers["Cache-Control"] == "no-store"


def test_readers_have_no_door(reader, here):
    for path in (here, f"{here}/counts"):
        assert reader.get(path).status_code == 403
    assert reader.send(f"{here}/devices", DEVICE).status_code == 403


def test_the_door_of_a_neighbour_is_not_found(neighbour, writer, here):
    theirs = Door(neighbour)
    device = theirs.admin.post(theirs.devices, {"name": "Phone"}).json["id"]
    path = f"/console/events/{theirs.event['id']}/door"
    assert writer.get(path).status_code == 404
    assert writer.get(f"{path}/counts").status_code == 404
    assert writer.send(f"{path}/devices", DEVICE).status_code == 404
    for event in (path, here):
        assert writer.send(f"{event}/devices/{device}/revoke").status_code == 404


def test_a_stolen_device_is_noticed_and_its_entries_are_undone(acme, door, writer, here):
    honest, thief = door.gate(name="honest"), door.gate(name="thief")
    tickets = door.admissions(60)
    honest.results(*[redeem(qr=door.qr(each)) for each in tickets[:3]])
    assert "Far more scans" not in writer.get(here).text
    thief.results(*[redeem(code=each.code) for each in tickets[3:]])
    for path in (here, f"{here}/counts"):
        page = writer.get(path).text
        assert "Far more scans than the others" in page and "57 scans" in page
    assert "<bdi>thief</bdi>, <bdi>" not in page and "<bdi>honest</bdi>: 3" not in page
    device = thief.device["id"]
    since = (datetime.now(UTC) - timedelta(minutes=5)).astimezone(ZoneInfo(door.event["timezone"]))
    sent = {"undo_since": since.strftime("%Y-%m-%dT%H:%M:%S")}
    answer = writer.send(f"{here}/devices/{device}/revoke", sent)
    assert answer.headers["Location"] == f"{here}#undone"
    assert door.admin.get(f"{door.path}/stats").json["inside"] == 3
    assert "Far more scans" not in writer.get(here).text
    wrong = writer.send(f"{here}/devices/{device}/revoke", {"undo_since": "yesterday"})
    assert wrong.status_code == 422 and f'id="undo-{device}-error"' in wrong.text
    entries = acme.api().get(f"{acme.path}/audit-log").json["data"]
    (entry,) = [each for each in entries if each["subject"] == device and "undone" in each["after"]]
    assert entry["after"]["undone"] == 57


def test_an_entry_is_undone_on_the_page_of_the_ticket(door, writer, reader):
    gate, ticket = door.gate(), door.admission()
    page = f"/console/attendees/{ticket.id}"
    assert f'action="{page}/undo"' not in writer.get(page).text
    gate.results(redeem(qr=door.qr(ticket)))
    assert f'action="{page}/undo"' in writer.get(page).text
    assert f'action="{page}/undo"' not in reader.get(page).text
    assert reader.send(f"{page}/undo").status_code == 403
    assert writer.send(f"{page}/undo").headers["Location"] == f"{page}#entry-undone"
    refused = writer.send(f"{page}/undo")
    assert refused.status_code == 409 and "Nobody is inside with this ticket" in refused.text
    assert gate.outcome(qr=door.qr(ticket)) == "admitted"


def test_who_revokes_a_device_confirms_that_its_unsent_scans_are_lost(door, writer, here):
    gate = door.gate()
    gate.send(redeem(code="x"), unsynced=0)
    assert "has not sent" not in writer.get(here).text
    gate.send(redeem(code="x"), unsynced=3)
    page = writer.get(here).text
    assert "3 scans that it has not sent are lost." in page
    assert page.index("required> <span>3 scans") < page.index(">Revoke</button>")
