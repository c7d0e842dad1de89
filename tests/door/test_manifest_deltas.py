"""Deltas of the manifest: what changed since it was last read, and which cursors are refused."""

import threading

import pytest

from tests.support.doors import Door, change, ids_of, read_manifest, redeem, undo
from tests.support.factories import cli
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import database, is_sqlite, write_transaction
from ticketing.models.admissions import Admission
from ticketing.services import sequencing

pytestmark = pytest.mark.sql


def test_a_delta_has_what_changed_and_nothing_else(door, gate):
    first, second, third = door.admissions(3)
    cursor = read_manifest(gate)["cursor"]
    assert read_manifest(gate, cursor)["admissions"] == []
    gate.scan(code=second.code)
    delta = read_manifest(gate, cursor)
    assert ids_of(delta) == {second.id}
    assert delta["admissions"][0]["redeemed_at"] is not None
    for each, fields in (
        (first, {"status": AdmissionStatus.VOID}),
        (third, {"generation": 2, "code": "n" * 20, "qr": None}),
        (second, {"holder_name": "Ada"}),
    ):
        cursor = delta["cursor"]
        change(each, **fields)
        delta = read_manifest(gate, cursor)
        assert ids_of(delta) == {each.id}
    assert ids_of(read_manifest(gate, delta["cursor"])) == set()
    new = door.admission()
    assert ids_of(read_manifest(gate, delta["cursor"])) == {new.id}
    scan = redeem(code=new.code)
    cursor = read_manifest(gate)["cursor"]
    gate.results(scan)
    gate.results(undo(scan))
    (undone,) = read_manifest(gate, cursor)["admissions"]
    assert undone["redeemed_at"] is None


def test_two_devices_each_get_every_change(door, gate):
    other, admissions = door.gate(), door.admissions(6)
    mine, theirs = read_manifest(gate)["cursor"], read_manifest(other)["cursor"]
    seen = {gate.device["id"]: set(), other.device["id"]: set()}
    for place, each in enumerate(admissions):
        gate.scan(code=each.code)
        if place % 2:
            delta = read_manifest(gate, mine)
            mine, seen[gate.device["id"]] = delta["cursor"], seen[gate.device["id"]] | ids_of(delta)
    delta = read_manifest(other, theirs)
    everything = {each.id for each in admissions}
    assert seen[gate.device["id"]] == ids_of(delta) == everything


def test_a_change_that_is_committed_later_is_not_missed(door, gate):
    """It began before the manifest was read, and ends after a later change was read."""
    late, early = door.admissions(2)
    cursor = read_manifest(gate)["cursor"]
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
    delta = read_manifest(gate, cursor)
    assert ids_of(delta) == (set() if is_sqlite() else {early.id})
    cursor = delta["cursor"]
    assert ids_of(read_manifest(gate, cursor)) == set()
    may_commit.set()
    assert done.wait(60)
    thread.join()
    delta = read_manifest(gate, cursor)
    assert [(each["id"], each["status"]) for each in delta["admissions"]] == [(late.id, "void")]
    assert ids_of(read_manifest(gate, delta["cursor"])) == set()


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
        read_manifest(gate, cursor)
        change(admission, holder_name="x")
        gate.api.get(f"{gate.path}/manifest")
        locked.set()
    else:
        thread.start()
    assert locked.wait(60)
    again = gate.api.get(f"{gate.path}/manifest", headers={"If-None-Match": tag})
    assert again.status_code == 200
    assert again.json["admissions"][0]["status"] == "suspended"
    assert [each["status"] for each in read_manifest(gate, cursor)["admissions"]] == ["suspended"]
    may_end.set()
    if not is_sqlite():
        thread.join()
        assert [each["status"] for each in read_manifest(gate, cursor)["admissions"]] == ["void"]


def test_many_changes_at_once_are_all_seen(door, gate):
    """Threads change and commit in any order while a device keeps reading."""
    admissions = door.admissions(40)
    cursor, seen = read_manifest(gate)["cursor"], set()
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
        delta = read_manifest(gate, cursor)
        cursor, seen = delta["cursor"], seen | ids_of(delta)
    seen |= ids_of(read_manifest(gate, cursor))
    assert seen == {each.id for each in admissions}
    numbers = [each.change_number for each in Admission.select()]
    assert None not in numbers and len(set(numbers)) == len(numbers)


def test_many_changes_are_numbered_in_several_transactions(door, gate, monkeypatch):
    monkeypatch.setattr(sequencing, "AT_ONCE", 7)
    cursor, admissions = read_manifest(gate)["cursor"], door.admissions(16)
    assert ids_of(read_manifest(gate, cursor)) == {each.id for each in admissions}
    assert sorted(each.change_number for each in Admission.select()) == list(range(1, 17))


def test_a_cursor_that_was_changed_or_is_of_another_event_is_refused(door, gate):
    door.admission()
    cursor = read_manifest(gate)["cursor"]
    other = Door(door.organizer)
    foreign = read_manifest(other.gate())["cursor"]
    typo = cursor[:-1] + ("A" if cursor[-1] != "A" else "B")
    listed = door.admin.get(f"{door.organizer.path}/events?limit=1").json["next_cursor"]
    for since in (foreign, typo, cursor + "A", "x", "", "a b", "x" * 1001, listed):
        answer = gate.api.get(f"{gate.path}/manifest", query_string={"since": since})
        assert answer.status_code == 422, since
        assert answer.json["errors"].keys() == {"since"}


def test_a_cursor_from_after_the_backup_is_refused(door, gate):
    """The database was restored: the changes that the device knows never happened here."""
    door.admissions(2)
    cursor = read_manifest(gate)["cursor"]
    database.execute_sql("UPDATE event_doors SET last_change = 1")
    answer = gate.api.get(f"{gate.path}/manifest", query_string={"since": cursor})
    assert answer.status_code == 422


def test_after_a_restore_every_device_reads_a_whole_manifest(app, door, gate):
    door.admission()
    cursor = read_manifest(gate)["cursor"]
    cli(app, "db", "restored")
    answer = gate.api.get(f"{gate.path}/manifest", query_string={"since": cursor})
    assert answer.status_code == 422
    assert len(read_manifest(gate)["admissions"]) == 1
