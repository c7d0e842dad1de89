"""Scans that are sent again or at once: each counts once, and gets the same answer."""

import threading

import pytest

from tests.support.doors import NOTHING, change, moment, nonce, now, redeem, undo
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import database
from ticketing.models.door import Scan

pytestmark = pytest.mark.sql


def test_the_same_scan_again_gets_the_same_answer(door, gate, admission, qr):
    scan = redeem(qr=qr)
    first = gate.results(scan)
    change(admission, status=AdmissionStatus.VOID)
    assert gate.results(scan) == first
    twice = redeem(code="x", nonce=nonce().upper())
    assert len({str(each) for each in gate.results(twice, twice, scan, twice)}) == 2
    assert Scan.select().count() == 2


def test_the_same_nonce_with_other_content_is_refused(gate, qr):
    scan = redeem(qr=qr)
    gate.results(scan)
    for other in (
        {**scan, "at": moment(-1)},
        {**scan, "decided": "admitted"},
        {"nonce": scan["nonce"], "kind": "undo", "of": scan["nonce"]},
    ):
        (answer,) = gate.results(other)
        assert answer == {"nonce": scan["nonce"], "outcome": "nonce_reused", **NOTHING}
    one, two = redeem(code="x"), redeem(code="y")
    two["nonce"] = one["nonce"]
    assert [each["outcome"] for each in gate.results(one, two)] == ["unknown", "nonce_reused"]


def test_nonces_belong_to_one_credential(door, gate, qr):
    scan = redeem(qr=qr)
    assert gate.results(scan)[0]["outcome"] == "admitted"
    assert door.gate().results(scan)[0]["outcome"] == "already_redeemed"


def test_a_scan_that_was_undone_and_is_sent_again_does_not_admit_again(gate, admission, qr):
    scan = redeem(qr=qr)
    first = gate.results(scan)
    gate.results(undo(scan))
    assert gate.results(scan) == first
    assert now(admission).redeemed_at is None
    assert Scan.select().count() == 2


def test_a_scan_that_was_refused_and_is_sent_again_stays_refused(gate, admission, qr):
    change(admission, status=AdmissionStatus.SUSPENDED)
    scan = redeem(qr=qr)
    first = gate.results(scan)
    assert first[0]["outcome"] == "suspended"
    change(admission, status=AdmissionStatus.VALID)
    assert gate.results(scan) == first
    assert now(admission).redeemed_at is None
    assert gate.outcome(qr=qr) == "admitted"


def test_of_many_that_scan_one_ticket_at_once_one_is_admitted(door, qr):
    gates, together, answers = [door.gate() for _ in range(8)], threading.Barrier(8), []

    def scan(gate):
        together.wait()
        answers.append(gate.outcome(qr=qr))
        database.close()

    _run([threading.Thread(target=scan, args=(gate,)) for gate in gates])
    assert sorted(answers) == ["admitted"] + ["already_redeemed"] * 7


def test_a_request_that_is_sent_again_while_it_runs_gets_the_same_answers(door, gate):
    """A phone that waited too long: both run at once, in any order of their scans."""
    scans = [redeem(code=each.code) for each in door.admissions(20)]
    together, answers = threading.Barrier(6), []

    def send(place):
        mine = scans[place:] + scans[:place]
        together.wait()
        answers.append({each["nonce"]: each for each in gate.results(*mine)})
        database.close()

    _run([threading.Thread(target=send, args=(3 * place,)) for place in range(6)])
    assert all(each == answers[0] for each in answers) and len(answers) == 6
    assert {each["outcome"] for each in answers[0].values()} == {"admitted"}
    assert Scan.select().count() == 20


def _run(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
