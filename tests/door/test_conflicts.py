"""Undo, and conflicts: what a device admitted offline although it should not have."""

from datetime import timedelta

import pytest

from tests.support.doors import Door, change, moment, nonce, now, redeem, undo
from tests.support.factories import in_days, written
from ticketing import clock
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import database
from ticketing.models.door import Scan

pytestmark = pytest.mark.sql


def offline(admission, minutes_ago=0.0, **fields):
    """A scan that a device admitted by itself."""
    return redeem(code=admission.code, at=moment(-minutes_ago), decided="admitted", **fields)


def paired_yesterday():
    past = written(clock.now() - timedelta(days=1))
    database.execute_sql(f"UPDATE door_devices SET paired_at = '{past}'")


def test_an_undo_takes_back_the_scan_that_it_names(gate, admission):
    scan = redeem(code=admission.code)
    gate.results(scan)
    (undone,) = gate.results(undo(scan))
    assert undone["outcome"] == "undone" and undone["admission"]["id"] == admission.id
    assert undone["first_at"] is undone["first_gate"] is None
    stored = now(admission)
    assert stored.redeemed_at is stored.redeemed_by is stored.redeemed_gate is None
    assert gate.results(undo(scan))[0]["outcome"] == "nothing_to_undo"
    assert gate.outcome(code=admission.code) == "admitted"
    # The first scan is undone; the second one stands.
    assert gate.results(undo(scan))[0]["outcome"] == "nothing_to_undo"
    assert now(admission).redeemed_at is not None


def test_what_did_not_let_anybody_in_cannot_be_undone(gate, admission):
    first, second = redeem(code=admission.code), redeem(code=admission.code)
    gate.results(first, second)
    unknown = redeem(code="x")
    taken_back = undo(first)
    gate.results(unknown, taken_back)
    for of in (second, unknown, taken_back, {"nonce": nonce()}):
        (answer,) = gate.results(undo(of))
        assert answer["outcome"] == "nothing_to_undo"
    itself = undo({"nonce": nonce()})
    itself["of"] = itself["nonce"]
    assert gate.results(itself)[0]["outcome"] == "nothing_to_undo"


def test_a_device_undoes_its_own_scans_for_ten_minutes(door, gate, admission):
    paired_yesterday()
    scan = redeem(code=admission.code, at=moment(-30))
    gate.results(scan)
    other = door.gate()
    paired_yesterday()
    assert other.results(undo(scan))[0]["outcome"] == "nothing_to_undo"
    assert gate.results(undo(scan))[0]["outcome"] == "nothing_to_undo"
    assert gate.results(undo(scan, at=moment(-19)))[0]["outcome"] == "nothing_to_undo"
    # It was undone in time, and is sent now.
    assert gate.results(undo(scan, at=moment(-21)))[0]["outcome"] == "undone"


def test_the_organizer_undoes_any_scan_at_any_time(door, gate, admission):
    paired_yesterday()
    scan = redeem(code=admission.code, at=moment(-600))
    gate.results(scan)
    assert now(admission).redeemed_at is None  # before the doors opened
    scan = redeem(code=admission.code, at=moment(-45))
    gate.results(scan)
    desk = door.desk()
    assert desk.results(undo(scan))[0]["outcome"] == "undone"
    assert desk.results(undo(scan))[0]["outcome"] == "nothing_to_undo"


def test_two_offline_devices_admit_a_copy_and_the_server_lists_a_conflict(door, admission):
    north, south = door.gate(gate="North"), door.gate(gate="South")
    paired_yesterday()
    (first,) = south.results(offline(admission, 20))
    assert first["outcome"] == "admitted"
    (second,) = north.results(offline(admission, 25))
    assert second["outcome"] == "conflict" and second["first_gate"] == "South"
    assert now(admission).redeemed_gate == "South"
    assert [each.verdict for each in Scan.select().order_by(Scan.id)] == [
        "admitted",
        "already_redeemed",
    ]


def test_a_conflict_is_recorded_for_whatever_the_verdict_is(door, gate, neighbour):
    def verdict(admission, **fields):
        (answer,) = gate.results({**offline(admission), **fields})
        return answer["outcome"], Scan.select().order_by(Scan.id.desc()).get().verdict

    void, suspended, old = door.admissions(3)
    change(void, status=AdmissionStatus.VOID)
    change(suspended, status=AdmissionStatus.SUSPENDED)
    qr = door.qr(old)
    change(old, generation=2, qr=None)
    assert verdict(void) == ("conflict", "void")
    assert verdict(suspended) == ("conflict", "suspended")
    scan = redeem(qr=qr, decided="admitted")
    assert gate.results(scan)[0]["outcome"] == "conflict"
    assert gate.outcome(code="x", decided="admitted") == "conflict"
    assert {each.verdict for each in Scan.select()} == {
        "void",
        "suspended",
        "superseded",
        "unknown",
    }
    assert {now(each).redeemed_at for each in (void, suspended, old)} == {None}
    # A ticket of another event was never let in by this door.
    other = Door(door.organizer)
    assert gate.outcome(code=other.admission().code, decided="admitted") == "wrong_event"


def test_who_was_let_in_before_the_doors_opened_is_a_conflict(acme):
    door = Door(acme, start_at=in_days(30))
    gate, admission = door.gate(), door.admission()
    assert gate.results(offline(admission))[0]["outcome"] == "conflict"
    assert now(admission).redeemed_at is None


def test_after_an_undo_the_oldest_conflict_takes_its_place(door, admission):
    gates = [door.gate(gate=name) for name in ("first", "second", "third")]
    paired_yesterday()
    scans = [offline(admission, 8), offline(admission, 5), offline(admission, 7)]
    for gate, scan in zip(gates, scans, strict=True):
        gate.results(scan)
    (undone,) = gates[0].results(undo(scans[0]))
    # The third was earlier than the second.
    assert (undone["outcome"], undone["first_gate"]) == ("undone", "third")
    stored = now(admission)
    assert stored.redeemed_gate == "third" and stored.change_number is None
    assert stored.redeemed_by == Scan.get(Scan.nonce == scans[2]["nonce"]).id
    assert gates[2].results(undo(scans[2]))[0]["first_gate"] == "second"
    assert gates[1].results(undo(scans[1]))[0]["first_gate"] is None
    assert now(admission).redeemed_at is None
    for gate, scan in zip(gates, scans, strict=True):
        assert gate.results(undo(scan))[0]["outcome"] == "nothing_to_undo"


def test_a_conflict_that_was_undone_takes_no_place(door, admission):
    north, south = door.gate(gate="North"), door.gate(gate="South")
    first, second = offline(admission), offline(admission)
    north.results(first)
    south.results(second)
    (sent_away,) = south.results(undo(second))
    assert (sent_away["outcome"], sent_away["first_gate"]) == ("undone", "North")
    assert now(admission).redeemed_gate == "North"
    assert north.results(undo(first))[0]["first_gate"] is None
    assert now(admission).redeemed_at is None


@pytest.mark.parametrize(
    "changes",
    [
        {"status": AdmissionStatus.VOID},
        {"status": AdmissionStatus.SUSPENDED},
        {"generation": 2, "code": "n" * 20, "qr": None},
    ],
)
def test_no_conflict_takes_the_place_on_a_ticket_that_lets_nobody_in(door, admission, changes):
    north, south = door.gate(), door.gate()
    first = offline(admission)
    north.results(first)
    south.results(offline(admission))
    change(admission, **changes)
    assert north.results(undo(first))[0]["outcome"] == "undone"
    assert now(admission).redeemed_at is None


def test_all_of_that_in_one_request(door, gate, admission):
    first, second = offline(admission), offline(admission)
    scans = [first, second, undo(first), undo(second), offline(admission)]
    outcomes = [each["outcome"] for each in gate.results(*scans)]
    assert outcomes == ["admitted", "conflict", "undone", "undone", "admitted"]
    assert [each["outcome"] for each in gate.results(*scans)] == outcomes
