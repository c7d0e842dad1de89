"""The manifest: what a device needs offline, and what changed since it was last read."""

import base64
import gzip
import hashlib
import threading
from datetime import datetime, timedelta

import pytest

from tests.support.doors import Door, change, now, redeem, undo
from tests.support.factories import cli, in_days
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import database, is_sqlite, write_transaction
from ticketing.models.admissions import Admission
from ticketing.models.door import DoorDevice


def read(gate, since=None, **options):
    query = {} if since is None else {"since": since}
    answer = gate.api.get(f"{gate.path}/manifest", query_string=query, **options)
    assert answer.status_code == 200, answer.text
    return answer.json


def ids_of(manifest):
    return {each["id"] for each in manifest["admissions"]}


def test_it_has_all_that_a_device_needs(door, gate):
    admission = door.admission()
    manifest = read(gate)
    (shown,) = manifest["admissions"]
    salt = manifest["event"]["code_salt"]
    digest = hashlib.sha256((salt + admission.code).encode()).digest()[:16]
    assert shown == {
        "id": admission.id,
        "generation": 1,
        "status": "valid",
        "ticket_id": door.ticket["id"],
        "redeemed_at": None,
        "code_digest": base64.urlsafe_b64encode(digest).decode().rstrip("="),
    }
    event = manifest["event"]
    assert (event["id"], event["title"]) == (door.event["id"], door.event["title"])
    assert event["ticket_types"] == [{"id": door.ticket["id"], "name": door.ticket["name"]}]
    opens = datetime.fromisoformat(event["doors_open_at"])
    assert opens == datetime.fromisoformat(event["start_at"]) - timedelta(hours=2)
    published = gate.api.get(f"{door.organizer.public}/ticket-keys").json["keys"]
    assert manifest["keys"] == published and published[-1]["newest"] is True


def test_names_are_shown_only_to_devices_that_may_see_them(door, gate):
    change(door.admission(), holder_name="Ada Lovelace")
    assert "holder_name" not in read(gate)["admissions"][0]
    for other in (door.gate(show_names=True), door.desk()):
        assert read(other)["admissions"][0]["holder_name"] == "Ada Lovelace"
    assert "Ada Lovelace" not in str(read(gate))


def test_the_salt_is_that_of_the_event(door, gate):
    other = Door(door.organizer)
    mine, theirs = read(gate), read(other.gate())
    assert mine["event"]["code_salt"] == read(gate)["event"]["code_salt"]
    assert mine["event"]["code_salt"] != theirs["event"]["code_salt"]


def test_a_delta_has_what_changed_and_nothing_else(door, gate):
    first, second, third = door.admissions(3)
    cursor = read(gate)["cursor"]
    assert read(gate, cursor)["admissions"] == []
    gate.scan(code=second.code)
    delta = read(gate, cursor)
    assert ids_of(delta) == {second.id}
    assert delta["admissions"][0]["redeemed_at"] is not None
    for each, fields in (
        (first, {"status": AdmissionStatus.VOID}),
        (third, {"generation": 2, "code": "n" * 20, "qr": None}),
        (second, {"holder_name": "Ada"}),
    ):
        cursor = delta["cursor"]
        change(each, **fields)
        delta = read(gate, cursor)
        assert ids_of(delta) == {each.id}
    assert ids_of(read(gate, delta["cursor"])) == set()
    new = door.admission()
    assert ids_of(read(gate, delta["cursor"])) == {new.id}
    scan = redeem(code=new.code)
    cursor = read(gate)["cursor"]
    gate.results(scan)
    gate.results(undo(scan))
    (undone,) = read(gate, cursor)["admissions"]
    assert undone["redeemed_at"] is None


def test_two_devices_each_get_every_change(door, gate):
    other, admissions = door.gate(), door.admissions(6)
    mine, theirs = read(gate)["cursor"], read(other)["cursor"]
    seen = {gate.device["id"]: set(), other.device["id"]: set()}
    for place, each in enumerate(admissions):
        gate.scan(code=each.code)
        if place % 2:
            delta = read(gate, mine)
            mine, seen[gate.device["id"]] = delta["cursor"], seen[gate.device["id"]] | ids_of(delta)
    delta = read(other, theirs)
    everything = {each.id for each in admissions}
    assert seen[gate.device["id"]] == ids_of(delta) == everything


def test_a_change_that_is_committed_later_is_not_missed(door, gate):
    """It began before the manifest was read, and ends after a later change was read."""
    late, early = door.admissions(2)
    cursor = read(gate)["cursor"]
    changed, may_commit, done = threading.Event(), threading.Event(), threading.Event()

    def change_late():
        with write_transaction():
            change(late, status=AdmissionStatus.VOID)
            changed.set()
            assert may_commit.wait(60)
        database.close()
        done.set()

    thread = threading.Thread(target=change_late)
    thread.start()
    assert changed.wait(60)
    if not is_sqlite():  # On SQLite nobody else can write meanwhile.
        change(early, status=AdmissionStatus.SUSPENDED)
    delta = read(gate, cursor)
    assert ids_of(delta) == (set() if is_sqlite() else {early.id})
    cursor = delta["cursor"]
    assert ids_of(read(gate, cursor)) == set()
    may_commit.set()
    assert done.wait(60)
    thread.join()
    delta = read(gate, cursor)
    assert [(each["id"], each["status"]) for each in delta["admissions"]] == [(late.id, "void")]
    assert ids_of(read(gate, delta["cursor"])) == set()


def test_a_change_is_shown_while_its_row_is_locked(door, gate):
    """It is committed, but somebody is about to change the admission again."""
    admission = door.admission()
    first = gate.api.get(f"{gate.path}/manifest")
    cursor, tag = first.json["cursor"], first.headers["ETag"]
    change(admission, status=AdmissionStatus.SUSPENDED)
    locked, may_end = threading.Event(), threading.Event()

    def lock():
        with write_transaction():
            if not is_sqlite():
                change(admission, status=AdmissionStatus.VOID)
            locked.set()
            assert may_end.wait(60)
        database.close()

    thread = threading.Thread(target=lock)
    if is_sqlite():
        read(gate, cursor)
        change(admission, holder_name="x")
        gate.api.get(f"{gate.path}/manifest")
        locked.set()
    else:
        thread.start()
    assert locked.wait(60)
    again = gate.api.get(f"{gate.path}/manifest", headers={"If-None-Match": tag})
    assert again.status_code == 200
    assert again.json["admissions"][0]["status"] == "suspended"
    assert [each["status"] for each in read(gate, cursor)["admissions"]] == ["suspended"]
    may_end.set()
    if not is_sqlite():
        thread.join()
        assert [each["status"] for each in read(gate, cursor)["admissions"]] == ["void"]


def test_many_changes_at_once_are_all_seen(door, gate):
    """Threads change and commit in any order while a device keeps reading."""
    admissions = door.admissions(40)
    cursor, seen = read(gate)["cursor"], set()
    parts = [admissions[place::4] for place in range(4)]

    def work(part):
        for each in part:
            with write_transaction():
                change(each, holder_name=each.id)
        database.close()

    threads = [threading.Thread(target=work, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        delta = read(gate, cursor)
        cursor, seen = delta["cursor"], seen | ids_of(delta)
    seen |= ids_of(read(gate, cursor))
    assert seen == {each.id for each in admissions}
    numbers = [each.change_number for each in Admission.select()]
    assert None not in numbers and len(set(numbers)) == len(numbers)


def test_a_cursor_that_was_changed_or_is_of_another_event_is_refused(door, gate):
    door.admission()
    cursor = read(gate)["cursor"]
    other = Door(door.organizer)
    foreign = read(other.gate())["cursor"]
    typo = cursor[:-1] + ("A" if cursor[-1] != "A" else "B")
    listed = door.admin.get(f"{door.organizer.path}/events?limit=1").json["next_cursor"]
    for since in (foreign, typo, cursor + "A", "x", "", "a b", "x" * 1001, listed):
        answer = gate.api.get(f"{gate.path}/manifest", query_string={"since": since})
        assert answer.status_code == 422, since
        assert answer.json["errors"].keys() == {"since"}


def test_a_cursor_from_after_the_backup_is_refused(door, gate):
    """The database was restored: the changes that the device knows never happened here."""
    door.admissions(2)
    cursor = read(gate)["cursor"]
    database.execute_sql("UPDATE event_doors SET last_change = 1")
    answer = gate.api.get(f"{gate.path}/manifest", query_string={"since": cursor})
    assert answer.status_code == 422


def test_after_a_restore_every_device_reads_a_whole_manifest(app, door, gate):
    door.admission()
    cursor = read(gate)["cursor"]
    cli(app, "db", "restored")
    answer = gate.api.get(f"{gate.path}/manifest", query_string={"since": cursor})
    assert answer.status_code == 422
    assert len(read(gate)["admissions"]) == 1


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
            read(gate)
        return len(found)

    door.admission()
    read(gate)
    few = statements()
    door.admissions(50)
    read(gate)
    assert statements() == few


def test_who_is_inside_is_in_it(door, gate):
    admission = door.admission()
    gate.scan(code=admission.code)
    (shown,) = read(gate)["admissions"]
    inside = datetime.fromisoformat(shown["redeemed_at"])
    assert inside == now(admission).redeemed_at
