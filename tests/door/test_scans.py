"""Scans: every outcome, and what is written for it."""

import uuid
from datetime import datetime, timedelta

import pytest

from tests.support.doors import KEYRING, NOTHING, Door, change, moment, now, redeem, undo
from tests.support.factories import in_days, written
from ticketing import clock
from ticketing.constants import AdmissionStatus
from ticketing.credentials import Keyring
from ticketing.db.connection import database
from ticketing.models.door import Scan
from ticketing.services.door import base45, ticket_signing

pytestmark = pytest.mark.sql


def test_a_ticket_is_admitted_once_and_then_told_when_and_where(door, gate, admission, qr):
    first = gate.scan(qr=qr)
    assert (first["outcome"], first["first_gate"]) == ("admitted", "North")
    assert first["admission"] == {
        "id": admission.id,
        "generation": 1,
        "ticket_id": door.ticket["id"],
        "ticket_name": door.ticket["name"],
        "hand_out": False,
    }
    south = door.gate(gate="South")
    again = south.scan(qr=qr)
    assert again == {**first, "nonce": again["nonce"], "outcome": "already_redeemed"}
    stored = now(admission)
    assert stored.redeemed_gate == "North" and stored.change_number is None
    scans = list(Scan.select().order_by(Scan.id))
    assert [each.outcome for each in scans] == ["admitted", "already_redeemed"]
    assert stored.redeemed_by == scans[0].id and stored.redeemed_at == scans[0].scanned_at


def test_a_ticket_is_named_by_qr_by_code_or_by_id_and_generation(door):
    gate = door.desk()
    ways = (
        lambda each: {"qr": door.qr(each)},
        lambda each: {"code": each.code},
        lambda each: {"admission_id": each.id, "generation": 1},
    )
    for way in ways:
        each = door.admission()
        assert gate.outcome(**way(each)) == "admitted"
        assert {gate.outcome(**again(each)) for again in ways} == {"already_redeemed"}


def test_a_typed_code_may_look_different(door, gate):
    for write in (
        str.upper,
        lambda code: " " + "-".join((code[:5], code[5:10], code[10:])) + " ",
        lambda code: code.replace("0", "O").replace("1", "I"),
        lambda code: code.replace("0", "o").replace("1", "l"),
    ):
        assert gate.outcome(code=write(door.admission().code)) == "admitted"


def test_void_and_suspended_tickets_stay_out(door, gate, admission, qr):
    for status in (AdmissionStatus.SUSPENDED, AdmissionStatus.VOID):
        change(admission, status=status)
        answer = gate.scan(qr=qr)
        assert answer["outcome"] == status and answer["admission"]["id"] == admission.id
    assert now(admission).redeemed_at is None


def test_an_older_generation_is_superseded(door, gate, admission, qr):
    old_code = admission.code
    change(admission, generation=2, code="n" * 20, qr=None)
    assert gate.outcome(qr=qr) == "superseded"
    assert door.desk().outcome(admission_id=admission.id, generation=1) == "superseded"
    assert gate.outcome(code=old_code) == "unknown"
    assert gate.outcome(qr=door.qr(admission)) == "admitted"
    # Inside is what the door asks about first.
    assert gate.outcome(qr=qr) == "already_redeemed"


def test_a_generation_that_is_not_there_yet_is_unknown(door, admission):
    assert door.desk().scan(admission_id=admission.id, generation=2)["outcome"] == "unknown"


def test_a_ticket_of_another_event_is_told_so(door, gate):
    other = Door(door.organizer)
    admission = other.admission()
    for way in ({"qr": other.qr(admission)}, {"code": admission.code}):
        answer = gate.scan(**way)
        assert answer == {"nonce": answer["nonce"], "outcome": "wrong_event", **NOTHING}
    by_id = door.desk().scan(admission_id=admission.id, generation=1)
    assert by_id == {"nonce": by_id["nonce"], "outcome": "unknown", **NOTHING}
    assert now(admission).redeemed_at is None


def test_a_ticket_of_another_tenant_is_unknown(door, neighbour):
    other = Door(neighbour)
    admission = other.admission()
    ways = (
        {"qr": other.qr(admission)},
        {"code": admission.code},
        {"admission_id": admission.id, "generation": 1},
    )
    for way in ways:
        answer = door.desk().scan(**way)
        assert answer == {"nonce": answer["nonce"], "outcome": "unknown", **NOTHING}


def test_a_forged_text_is_unknown(door, gate, admission, qr):
    data = base45.decode(qr[3:])

    def changed(place, value):
        return "T1:" + base45.encode(data[:place] + bytes([value]) + data[place + 1 :])

    forged = [
        changed(0, 2),
        changed(1, 2),
        changed(1, 255),
        changed(35, 0),
        changed(35, 2),
        changed(99, data[99] ^ 1),
        changed(40, data[40] ^ 1),
        changed(20, data[20] ^ 1),
        qr[:-1],
        qr[:-3],
        qr + "0",
        qr.lower(),
        qr[3:],
        "T2:" + qr[3:],
        "T1:",
        "T1:ZZZ",
        "é",
        "T1:" + "Z" * 4293,
        "https://example.org/",
        "\x01",
        "🎟" * 100,
    ]
    for text in forged:
        answer = gate.scan(qr=text)
        assert answer == {"nonce": answer["nonce"], "outcome": "unknown", **NOTHING}, text
    assert now(admission).redeemed_at is None
    assert gate.outcome(qr=qr) == "admitted"


def test_a_text_that_was_signed_before_the_secret_key_changed_is_good(door, gate, admission):
    newer = Keyring("n" * 40, KEYRING.current)
    change(admission, qr=None)
    admission, stale = now(admission), now(admission)
    text = ticket_signing.qrs_of([admission], newer)[0]
    # The stored text was lost, as with a backup from before: the signature decides.
    change(admission, qr=None)
    other = ticket_signing.qrs_of([stale], KEYRING)[0]
    assert other != text
    assert gate.outcome(qr=text) == "admitted"
    assert gate.outcome(qr=other) == "already_redeemed"


def test_before_the_doors_open_nobody_is_admitted(acme):
    door = Door(acme, start_at=in_days(30))
    gate, admission = door.gate(), door.admission()
    assert gate.outcome(qr=door.qr(admission)) == "not_open"
    assert now(admission).redeemed_at is None


def test_what_counts_is_the_time_of_the_scan(acme):
    """The doors opened an hour ago; the device was offline since before."""
    door = Door(acme, start_at=in_days(1 / 24))
    gate, admission = door.gate(), door.admission()
    for table in ("events", "door_devices"):
        column = {"events": "created_at", "door_devices": "paired_at"}[table]
        past = clock.now() - timedelta(days=1)
        database.execute_sql(f"UPDATE {table} SET {column} = '{written(past)}'")
    assert gate.outcome(qr=door.qr(admission), at=moment(-90)) == "not_open"
    assert gate.outcome(qr=door.qr(admission), at=moment(-30)) == "admitted"
    inside = now(admission).redeemed_at
    assert timedelta(minutes=29) < clock.now() - inside < timedelta(minutes=40)


@pytest.mark.parametrize(
    ("at", "sent_at"),
    [
        ("1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"),
        ("9999-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
        ("2001-01-01T00:00:00Z", "2001-01-01T00:07:00Z"),
    ],
)
def test_a_clock_that_is_wrong_by_years_is_no_error(door, gate, admission, at, sent_at):
    scan = redeem(qr=door.qr(admission), at=at)
    (answer,) = gate.results(scan, sent_at=sent_at)
    assert answer["outcome"] == "admitted"
    inside = datetime.fromisoformat(answer["first_at"])
    # Not before the device was paired, and not in the future.
    paired = door.admin.get(door.devices).json["data"][0]["paired_at"]
    assert datetime.fromisoformat(paired) <= inside <= clock.now()
    (undone,) = gate.results(undo(scan, at=sent_at), sent_at=sent_at)
    assert undone["outcome"] == "undone"


def test_a_clock_that_is_wrong_by_minutes_is_corrected(door, gate):
    past = clock.now() - timedelta(days=1)
    database.execute_sql(f"UPDATE door_devices SET paired_at = '{written(past)}'")
    for wrong in (-47, 0, 13):
        scan = redeem(code=door.admission().code, at=moment(wrong - 5))
        (answer,) = gate.results(scan, sent_at=moment(wrong))
        ago = clock.now() - datetime.fromisoformat(answer["first_at"])
        assert timedelta(minutes=4.9) < ago < timedelta(minutes=10)


def test_a_batch_is_carried_out_in_order_and_answered_in_order(door, gate):
    one, two = door.admissions(2)
    first = redeem(qr=door.qr(two))
    scans = [
        first,
        redeem(code=one.code),
        redeem(qr=door.qr(two)),
        undo(first),
        redeem(qr=door.qr(two)),
        redeem(qr="nonsense"),
        redeem(admission_id=one.id, generation=1, decided="admitted"),
    ]
    assert [each["outcome"] for each in gate.results(*scans)] == [
        "admitted",
        "admitted",
        "already_redeemed",
        "undone",
        "admitted",
        "unknown",
        "conflict",
    ]


@pytest.mark.exhaustive
def test_five_hundred_scans_fit_one_request(door, gate):
    admissions = door.admissions(100)
    scans = [redeem(qr=door.qr(each), decided="admitted") for each in admissions] * 5
    scans = [{**each, "nonce": str(uuid.uuid4())} for each in scans]
    outcomes = [each["outcome"] for each in gate.results(*scans)]
    assert outcomes == ["admitted"] * 100 + ["conflict"] * 400
    refused = gate.send(*scans, redeem(code="x"))
    assert refused.status_code == 422 and refused.json["errors"].keys() == {"scans"}
    assert gate.send().status_code == 422
    large = gate.send(*(redeem(qr="x" * 4000) for _ in range(70)))
    assert (large.status_code, large.json["code"]) == (413, "body_too_large")


def test_nobody_waits_for_the_check_of_a_signature(door, gate, qr, monkeypatch):
    """It takes milliseconds, and a request may have 500: other writers must not wait for that."""
    check, in_transaction = ticket_signing.is_genuine, []

    def watched(*arguments):
        in_transaction.append(database.in_transaction())
        return check(*arguments)

    monkeypatch.setattr(ticket_signing, "is_genuine", watched)
    forged = [ticket_signing.PREFIX + base45.encode(each) for each in forgeries(qr, 20)]
    results = gate.results(*(redeem(qr=each) for each in [*forged, qr]))
    assert [each["outcome"] for each in results] == ["unknown"] * 20 + ["admitted"]
    assert in_transaction == [False] * 20


def test_one_request_with_many_other_texts_is_checked_at_a_time(door, gate, qr, monkeypatch):
    forged = [ticket_signing.PREFIX + base45.encode(each) for each in forgeries(qr, 60)]
    many = [redeem(qr=each) for each in forged]
    beside = []

    def check(*_):
        if not beside:
            beside.append(None)
            beside[:] = [gate.send(*many), gate.send(redeem(qr=forged[0]), redeem(qr=qr))]
        return False

    monkeypatch.setattr(ticket_signing, "is_genuine", check)
    assert gate.send(*many).status_code == 200
    refused, few = beside
    assert (refused.status_code, refused.json["code"]) == (429, "too_many_requests")
    assert few.status_code == 200


def forgeries(qr, number):
    """Return the bytes of a QR code with other signatures."""
    data = base45.decode(qr.removeprefix(ticket_signing.PREFIX))
    return [data[:-1] + bytes([data[-1] ^ (each + 1)]) for each in range(number)]


@pytest.mark.parametrize(
    ("fields", "at_fault"),
    [
        ({}, "kind"),
        ({"qr": "x", "code": "y"}, "kind"),
        ({"admission_id": "adm_x"}, "kind"),
        ({"generation": 1}, "kind"),
        ({"qr": "x", "of": str(uuid.uuid4())}, "kind"),
        ({"qr": "x", "at": None}, "at"),
        ({"qr": "x" * 4297}, "qr"),
        ({"qr": "x" * 10_240}, "qr"),
        ({"code": "x" * 101}, "code"),
        ({"qr": "a\0b"}, "qr"),
        ({"qr": ""}, "qr"),
        ({"admission_id": "x", "generation": 0}, "generation"),
        ({"admission_id": "x", "generation": 65_536}, "generation"),
        ({"qr": "x", "decided": "maybe"}, "decided"),
        ({"qr": "x", "nonce": "1"}, "nonce"),
        ({"qr": "x", "kind": "enter"}, "kind"),
        ({"qr": "x", "gate": "North"}, "gate"),
    ],
)
def test_a_malformed_scan_is_refused_by_its_field(gate, fields, at_fault):
    answer = gate.send(redeem(code="x"), redeem(**fields))
    assert answer.status_code == 422
    assert answer.json["errors"].keys() == {f"scans.1.{at_fault}"}
    assert Scan.select().count() == 0


def test_scans_are_append_only(gate):
    gate.scan(code="x")
    for statement in ("UPDATE scans SET outcome = 'admitted'", "DELETE FROM scans"):
        with pytest.raises(Exception, match="append-only"):
            database.execute_sql(statement)


def test_a_scan_that_the_device_refused_is_not_taken_because_it_would_redeem(gate, qr):
    answer = gate.send(redeem(qr=qr, decided="refused"))
    assert answer.status_code == 422
    assert answer.json["errors"].keys() == {"scans.0.decided"}
