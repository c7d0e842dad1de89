"""A stolen device: what it can do, and how an organizer takes it back."""

from datetime import timedelta

import pytest

from tests.support.doors import moment, nonce, now, redeem, undo
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.models.door import Scan
from ticketing.services.door import devices
from ticketing.services.payments import reconciliation

pytestmark = pytest.mark.sql


def by_id(admission, **fields):
    """A scan of an admission that a device let in offline, found by its name."""
    return redeem(admission_id=admission.id, generation=1, decided="admitted", **fields)


def revoke(door, gate, **body):
    return door.admin.post(f"{door.devices}/{gate.device['id']}/revoke", body)


def undo_entry(door, admission):
    return door.admin.post(f"{door.organizer.path}/admissions/{admission.id}/undo", {})


def facts_of(door, type):
    feed = door.admin.get(f"{door.organizer.path}/notifications?limit=100").json["data"]
    return [each["data"]["admission_id"] for each in feed if each["type"] == type]


def test_what_it_let_in_is_undone_with_the_device(door, monkeypatch):
    gate, thief = door.gate(gate="North"), door.gate(gate="South")
    before, guest, *stolen = door.admissions(5)
    assert thief.outcome(qr=door.qr(before)) == gate.outcome(qr=door.qr(guest)) == "admitted"
    since = moment(1)
    StoppedClock(monkeypatch, clock.now() + timedelta(minutes=2))
    thief.results(*[redeem(qr=door.qr(each), at=moment(-60)) for each in stolen])
    real = gate.scan(qr=door.qr(stolen[0]), decided="admitted")
    assert real["outcome"] == "conflict"
    assert thief.scan(qr=door.qr(stolen[1]), decided="admitted")["outcome"] == "conflict"
    answer = revoke(door, thief, undo_since=since)
    assert answer.status_code == 200, answer.json
    assert (answer.json["status"], answer.json["undone"]) == ("revoked", 4)
    assert [now(each).redeemed_gate for each in stolen] == ["North", None, None]
    assert now(stolen[1]).redeemed_at is now(stolen[1]).redeemed_by is None
    assert now(before).redeemed_gate == "South" and now(guest).redeemed_gate == "North"
    assert sorted(facts_of(door, "admission.redeem_undone")) == sorted(
        each.id for each in stolen[1:]
    )
    assert gate.outcome(qr=door.qr(stolen[2])) == "admitted"
    assert not gate.api.get(f"{gate.path}/stats").json["conflicts"]
    (entry,) = [
        each
        for each in door.admin.get(f"{door.organizer.path}/audit-log").json["data"]
        if each["action"] == "door_devices_revoke_door_device"
    ]
    assert entry["after"]["undone"] == 4 and "undo_since" in str(entry)
    assert reconciliation.reconcile(None) == []


def test_it_can_be_undone_after_the_device_was_revoked_and_only_once(door):
    thief, ticket = door.gate(), door.admission()
    since = moment(-1)
    assert thief.outcome(qr=door.qr(ticket)) == "admitted"
    assert revoke(door, thief).json["undone"] == 0
    assert now(ticket).redeemed_at is not None
    assert thief.send(redeem(code=ticket.code)).status_code == 401
    undone = [revoke(door, thief, undo_since=since).json for _ in range(2)]
    assert [each["undone"] for each in undone] == [1, 0]
    assert undone[0]["revoked_at"] == undone[1]["revoked_at"]
    assert now(ticket).redeemed_at is None


def test_a_request_that_is_running_when_the_device_is_revoked_lets_nobody_in(door, monkeypatch):
    thief, ticket = door.gate(), door.admission()
    qr = door.qr(ticket)
    recognize = devices.of_token

    def revoked_after_this(*args):
        device = recognize(*args)
        devices.revoke(device.tenant_id, device.event_id, device.id, by="key_x")
        return device

    monkeypatch.setattr(devices, "of_token", revoked_after_this)
    assert thief.send(redeem(qr=qr)).status_code == 401
    assert now(ticket).redeemed_at is None


def test_an_entry_of_any_age_is_undone_by_its_admission(door, monkeypatch):
    first, second = door.gate(gate="North"), door.gate(gate="South")
    ticket = door.admission()
    first.results(redeem(qr=door.qr(ticket)))
    second.results(redeem(qr=door.qr(ticket), decided="admitted"))
    StoppedClock(monkeypatch, clock.now() + timedelta(hours=1))
    answers = [undo_entry(door, ticket) for _ in range(3)]
    assert [each.status_code for each in answers] == [200, 200, 409]
    assert [each.json["redeemed_gate"] for each in answers[:2]] == ["South", None]
    assert answers[1].json["redeemed_at"] is None
    assert answers[2].json["code"] == "not_redeemed"
    assert facts_of(door, "admission.redeem_undone") == [ticket.id]
    assert first.outcome(qr=door.qr(ticket)) == "admitted"


def test_only_who_may_write_undoes_and_only_what_is_theirs(door, neighbour):
    ticket = door.admission()
    path = f"{door.organizer.path}/admissions/{ticket.id}/undo"
    assert door.organizer.api("read").post(path, {}).status_code == 403
    theirs = f"{neighbour.path}/admissions/{ticket.id}/undo"
    assert neighbour.api().post(theirs, {}).status_code == 404


def test_a_device_redeems_by_id_only_what_it_let_in_itself(door, gate):
    ticket = door.admission()
    refused = gate.send(redeem(admission_id=ticket.id, generation=1))
    assert refused.status_code == 422
    assert refused.json["errors"].keys() == {"scans.0.decided"}
    assert door.desk().outcome(admission_id=ticket.id, generation=1) == "admitted"
    assert gate.results(by_id(door.admission()))[0]["outcome"] == "admitted"


def test_a_device_redeems_by_id_slowly(door, gate, monkeypatch):
    tickets = door.admissions(70)
    stopped = StoppedClock(monkeypatch, clock.now().replace(second=5))
    scans = [by_id(each) for each in tickets]
    refused = gate.send(*scans)
    assert (refused.status_code, refused.json["code"]) == (429, "too_many_requests")
    assert refused.headers["Retry-After"] == "55"
    assert [each["outcome"] for each in gate.results(*scans[:60])] == ["admitted"] * 60
    # The same scans again are no new ones, and a QR code is not limited.
    assert [each["outcome"] for each in gate.results(*scans[:60])] == ["admitted"] * 60
    assert gate.send(scans[60]).status_code == 429
    assert gate.outcome(qr=door.qr(tickets[69])) == "admitted"
    assert door.gate().results(scans[61])[0]["outcome"] == "admitted"
    stopped.forward(minutes=1)
    assert gate.results(scans[60])[0]["outcome"] == "admitted"


def test_undos_of_unknown_scans_are_not_stored(door, gate):
    unknown = [undo({"nonce": nonce()}) for _ in range(50)]
    for _ in range(2):
        results = gate.results(*unknown)
        assert {each["outcome"] for each in results} == {"nothing_to_undo"}
    assert Scan.select().count() == 0
    scan = redeem(qr=door.qr(door.admission()))
    assert [each["outcome"] for each in gate.results(scan, undo(scan))] == ["admitted", "undone"]


def test_a_device_stores_a_bounded_number_of_scans(door, gate, monkeypatch):
    monkeypatch.setattr(devices, "SCANS_BEYOND_ADMISSIONS", 8)
    ticket = door.admissions(2)[0]
    wrong = [redeem(code="x") for _ in range(9)]
    gate.results(*wrong)
    gate.results(*wrong)
    last = redeem(qr=door.qr(ticket))
    assert gate.results(last)[0]["outcome"] == "admitted"
    refused = gate.send(redeem(code="x"))
    assert (refused.status_code, refused.json["code"]) == (409, "too_many_scans")
    assert gate.results(last)[0]["outcome"] == "admitted"
    assert Scan.select().count() == 10
    (listed,) = door.admin.get(door.devices).json["data"]
    assert listed["scans"] == 10
    assert door.gate().outcome(code="x") == door.desk().outcome(code="x") == "unknown"
