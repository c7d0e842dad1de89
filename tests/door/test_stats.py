"""What a door counts."""

import pytest

from tests.support.admissions import FREE
from tests.support.doors import change, moment, redeem, undo
from ticketing.constants import AdmissionStatus


@pytest.fixture
def read(gate):
    def read():
        answer = gate.api.get(f"{gate.path}/stats")
        assert answer.status_code == 200, answer.text
        return answer.json

    return read


def test_an_empty_door(door, read):
    assert read() == {
        "inside": 0,
        "admissions": 0,
        "handed_out": 0,
        "to_hand_out": 0,
        "by_ticket_type": [
            {"ticket_id": door.ticket["id"], "name": door.ticket["name"], "inside": 0}
            | {"admission": True, "admissions": 0}
        ],
        "by_gate": [],
        "last_scans": [],
        "conflicts": [],
    }


def test_who_is_inside_by_ticket_type_and_gate(door, gate, read):
    balcony = door.organizer.ticket(door.event, name="Balcony", price_amount=0, chain_id=None)
    admissions = door.admissions(4)
    door.ticket, first = balcony, door.ticket
    (upstairs,) = door.admissions(1)
    south, desk = door.gate(gate="South"), door.desk()
    for each, by in zip(admissions, (gate, gate, south, None), strict=True):
        if by:
            by.scan(code=each.code)
    desk.scan(code=upstairs.code)
    change(admissions[3], status=AdmissionStatus.VOID)
    counted = read()
    assert (counted["inside"], counted["admissions"]) == (4, 4)
    of_type = {"admission": True}
    assert counted["by_ticket_type"] == [
        {**of_type, "ticket_id": first["id"], "name": first["name"], "inside": 3, "admissions": 3},
        {**of_type, "ticket_id": balcony["id"], "name": "Balcony", "inside": 1, "admissions": 1},
    ]
    assert counted["by_gate"] == [
        {"gate": "North", "inside": 2},
        {"gate": "South", "inside": 1},
        {"gate": None, "inside": 1},
    ]


def test_what_is_handed_out_is_apart_from_people(door, gate, read):
    shirt = door.organizer.ticket(door.event, name="T-shirt M", admission=False, **FREE)
    guest = door.admission()
    door.ticket = shirt
    first, _ = door.admissions(2)
    result = gate.scan(code=first.code)
    assert result["outcome"] == "admitted"
    assert result["admission"] == {
        "id": first.id,
        "generation": 1,
        "ticket_id": shirt["id"],
        "ticket_name": "T-shirt M",
        "hand_out": True,
    }
    assert gate.scan(code=guest.code)["admission"]["hand_out"] is False
    again = gate.scan(code=first.code)
    assert (again["outcome"], again["admission"]) == ("already_redeemed", result["admission"])
    counted = read()
    assert (counted["inside"], counted["admissions"]) == (1, 1)
    assert (counted["handed_out"], counted["to_hand_out"]) == (1, 2)
    assert counted["by_gate"] == [{"gate": "North", "inside": 1}]
    assert [each["admission"] for each in counted["by_ticket_type"]] == [True, False]
    assert counted["last_scans"][0]["admission"] == result["admission"]
    manifest = gate.api.get(f"{gate.path}/manifest").json["event"]["ticket_types"]
    assert manifest[1] == {"id": shirt["id"], "name": "T-shirt M", "admission": False}


def test_the_last_scans_are_shown_the_newest_first(door, gate, read):
    admission = door.admission()
    scans = [redeem(code=admission.code), *(redeem(code="x") for _ in range(25))]
    gate.results(*scans)
    shown = read()["last_scans"]
    assert [each["nonce"] for each in shown] == [each["nonce"] for each in scans[:5:-1]]
    assert {each["outcome"] for each in shown} == {"unknown"} and shown[0]["admission"] is None
    gate.results(undo(scans[0]))
    newest = read()["last_scans"][0]
    assert (newest["kind"], newest["outcome"]) == ("undo", "undone")
    assert newest["admission"]["id"] == admission.id
    assert newest["credential"] == gate.device["id"] and newest["gate"] == "North"


def test_open_conflicts_are_shown_with_their_reason(door, gate, read):
    one, two = door.admissions(2)
    south = door.gate(gate="South")
    first = redeem(code=one.code, decided="admitted")
    copy = redeem(code=one.code, decided="admitted", at=moment())
    gate.results(first)
    south.results(copy)
    change(two, status=AdmissionStatus.SUSPENDED)
    late = redeem(code=two.code, decided="admitted")
    gate.results(late)
    conflicts = read()["conflicts"]
    assert [(each["nonce"], each["reason"]) for each in conflicts] == [
        (late["nonce"], "suspended"),
        (copy["nonce"], "already_redeemed"),
    ]
    assert conflicts[1]["first_gate"] == "North" and conflicts[1]["gate"] == "South"
    # The copy takes the place of the first; what stands is no conflict any more.
    gate.results(undo(first))
    assert [each["nonce"] for each in read()["conflicts"]] == [late["nonce"]]
    gate.results(undo(late))
    assert read()["conflicts"] == []
    assert read()["by_gate"] == [{"gate": "South", "inside": 1}]
