"""The manifest: what a device needs offline."""

import base64
import gzip
import hashlib
from datetime import datetime, timedelta

import pytest

from tests.support.doors import Door, change, now, read_manifest
from tests.support.factories import in_days
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import database
from ticketing.models.admissions import Admission
from ticketing.models.door import DoorDevice


def test_it_has_all_that_a_device_needs(door, gate):
    admission = door.admission()
    manifest = read_manifest(gate)
    (shown,) = manifest["admissions"]
    salt = manifest["event"]["code_salt"]
    digests = [
        base64.urlsafe_b64encode(hashlib.sha256((salt + text).encode()).digest()[:16]).decode()
        for text in (admission.code, door.qr(admission))
    ]
    assert shown == {
        "id": admission.id,
        "generation": 1,
        "status": "valid",
        "ticket_id": door.ticket["id"],
        "redeemed_at": None,
        "code_digest": digests[0].rstrip("="),
        "qr_digest": digests[1].rstrip("="),
        "returned": False,
    }
    event = manifest["event"]
    assert (event["id"], event["title"]) == (door.event["id"], door.event["title"])
    assert event["ticket_types"] == [
        {"id": door.ticket["id"], "name": door.ticket["name"], "admission": True}
    ]
    opens = datetime.fromisoformat(event["doors_open_at"])
    assert opens == datetime.fromisoformat(event["start_at"]) - timedelta(hours=2)
    published = gate.api.get(f"{door.organizer.public}/ticket-keys").json["keys"]
    assert manifest["keys"] == published and published[-1]["newest"] is True


@pytest.mark.sql
def test_the_digest_of_a_qr_code_that_is_made_later_is_a_change(door, gate):
    guests = {"holders": [{"name": "Ada"}]}
    path = f"{door.devices.rsplit('/', 1)[0]}/tickets/{door.ticket['id']}/admissions"
    (guest,) = door.admin.post(path, guests).json["admissions"]
    manifest = read_manifest(gate)
    assert manifest["admissions"][0]["qr_digest"] is None
    door.qr(Admission.get_by_id(guest["id"]))
    (changed,) = read_manifest(gate, manifest["cursor"])["admissions"]
    assert changed["id"] == guest["id"] and changed["qr_digest"]
    old = changed["qr_digest"]
    change(Admission.get_by_id(guest["id"]), generation=2, code="n" * 20, qr=None)
    assert read_manifest(gate)["admissions"][0]["qr_digest"] is None
    door.qr(Admission.get_by_id(guest["id"]))
    assert read_manifest(gate)["admissions"][0]["qr_digest"] not in (None, old)


def test_names_are_shown_only_to_devices_that_may_see_them(door, gate):
    change(door.admission(), holder_name="Ada Lovelace")
    assert "holder_name" not in read_manifest(gate)["admissions"][0]
    for other in (door.gate(show_names=True), door.desk()):
        assert read_manifest(other)["admissions"][0]["holder_name"] == "Ada Lovelace"
    assert "Ada Lovelace" not in str(read_manifest(gate))


def test_the_salt_is_that_of_the_event(door, gate):
    other = Door(door.organizer)
    mine, theirs = read_manifest(gate), read_manifest(other.gate())
    assert mine["event"]["code_salt"] == read_manifest(gate)["event"]["code_salt"]
    assert mine["event"]["code_salt"] != theirs["event"]["code_salt"]


def test_it_is_sent_again_only_if_it_changed(door, gate):
    admission = door.admission()
    first = gate.api.get(f"{gate.path}/manifest")
    known = {"If-None-Match": first.headers["ETag"]}
    again = gate.api.get(f"{gate.path}/manifest", headers=known)
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    assert again.headers["Cache-Control"] == "no-store"
    for make in (
        lambda: change(admission, status=AdmissionStatus.SUSPENDED),
        lambda: door.admin.patch(
            f"{door.organizer.path}/events/{door.event['id']}", {"start_at": in_days(1)}
        ),
        lambda: door.organizer.ticket(door.event, name="Balcony"),
    ):
        make()
        fresh = gate.api.get(f"{gate.path}/manifest", headers=known)
        assert fresh.status_code == 200
        known = {"If-None-Match": fresh.headers["ETag"]}
    of_another = {
        "If-None-Match": door.gate(show_names=True).api.get(f"{gate.path}/manifest").headers["ETag"]
    }
    assert gate.api.get(f"{gate.path}/manifest", headers=of_another).status_code == 200


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [
        ("gzip", True),
        ("br;q=1.0, gzip;q=0.8", True),
        ("*", True),
        (None, False),
        ("identity", False),
        ("gzip;q=0", False),
        ("deflate", False),
    ],
)
def test_it_is_compressed_only_if_the_client_accepts_it(door, gate, accepted, is_compressed):
    door.admissions(3)
    headers = {} if accepted is None else {"Accept-Encoding": accepted}
    answer = gate.api.get(f"{gate.path}/manifest", headers=headers)
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert (answer.headers.get("Content-Encoding") == "gzip") is is_compressed
    body = gzip.decompress(answer.data) if is_compressed else answer.data
    assert body == gate.api.get(f"{gate.path}/manifest").data
    assert answer.content_type == "application/json"


def test_unknown_parameters_are_refused(gate):
    assert gate.api.get(f"{gate.path}/manifest?limit=1").status_code == 422
    for wrong in ("x", "-1", "", "1000001"):
        assert gate.api.get(f"{gate.path}/manifest?unsynced={wrong}").status_code == 422
    assert gate.api.get(f"{gate.path}/manifest?unsynced=12").status_code == 200
    assert DoorDevice.get().unsynced == 12


def test_its_statements_do_not_grow_with_the_event(door, gate):
    def statements():
        found, db = [], database.obj
        with pytest.MonkeyPatch.context() as patch:
            cursor = db.cursor
            patch.setattr(db, "cursor", lambda *given: found.append(1) or cursor(*given))
            read_manifest(gate)
        return len(found)

    door.admission()
    read_manifest(gate)
    few = statements()
    door.admissions(50)
    read_manifest(gate)
    assert statements() == few


def test_who_is_inside_is_in_it(door, gate):
    admission = door.admission()
    gate.scan(code=admission.code)
    (shown,) = read_manifest(gate)["admissions"]
    inside = datetime.fromisoformat(shown["redeemed_at"])
    assert inside == now(admission).redeemed_at
