"""The rules by which the scanner decides offline (contract, section 10; docs/door.md)."""

import pytest

from app import create_app
from tests.door.test_door_page import EXAMPLE
from tests.support.databases import only_once
from tests.support.factories import Organizer
from tests.support.many_admissions import many
from tests.support.scanner import Doors, forged
from ticketing.config import load
from ticketing.db.connection import database
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.pages import door as page

pytestmark = only_once

HOUR = 3_600_000
NOW = 1_800_000_000_000
TICKETS = 20_000
FASTEST_OF = 20
BOUND_MS = 300

DECIDE = """async ([path, presented, facts]) => {
    const { decide } = await import(path);
    const known = facts.known ?? undefined;
    return decide(presented, { ...facts, known, seen: facts.seen ?? undefined });
}"""

PARSE = """async ([path, text, jwk]) => {
    const { importKeys, isGenuine, parse } = await import(path);
    const ticket = parse(text);
    if (ticket === null) return null;
    const { keyNumber, admissionId, eventId, generation } = ticket;
    const good = await isGenuine(ticket, await importKeys([jwk]));
    return { keyNumber, admissionId, eventId, generation, good };
}"""

MEASURE = """async ([path, qr]) => {
    const { Door } = await import(path + "door.js");
    const { ofQr } = await import(path + "recognizing.js");
    const door = await Door.load();
    const started = performance.now();
    const presented = await ofQr(qr, door);
    const decision = await door.present(presented, Date.now());
    return [door.admissions.size, decision, performance.now() - started];
}"""

TICKET = {
    "admissionId": "adm_1",
    "eventId": "evt_1",
    "generation": 2,
    "isGenuine": True,
    "isNewestKey": True,
}
DOOR = {
    "eventId": "evt_1",
    "expiresAt": NOW + HOUR,
    "opensAt": NOW - HOUR,
    "syncedAt": NOW - HOUR,
    "ahead": 0,
}
VALID = {"status": "valid", "generation": 2, "redeemed_at": None}
INSIDE = {"generation": 2, "inside": "a nonce"}
OUTSIDE = {"generation": 2, "inside": None}


@pytest.fixture
def scanner(visit, stack):
    """The page, not paired."""
    opened = visit(stack.url)
    opened.goto("/door/")
    return opened


def ticket(**fields):
    return {**TICKET, **fields}


def facts(known=VALID, seen=None, **door):
    return {"known": known, "seen": seen, "now": NOW, "door": {**DOOR, **door}}


LONG_AGO = {"syncedAt": NOW - 24 * HOUR - 1}
RULES = [
    ("admitted", ticket(), facts()),
    ("admitted", ticket(isNewestKey=False), facts()),
    ("admitted", ticket(), facts(seen=OUTSIDE)),
    ("admitted", ticket(generation=3), facts()),
    ("new", ticket(), facts(known=None)),
    ("not_listed", ticket(isNewestKey=False), facts(known=None)),
    # The signature and the event are first.
    ("forged", ticket(isGenuine=False), facts(seen=INSIDE, **LONG_AGO)),
    ("wrong_event", ticket(eventId="evt_2"), facts(known=None, **LONG_AGO)),
    # A device without a sync, or whose time is over, admits nobody.
    ("not_synced", ticket(), facts(**LONG_AGO)),
    ("not_synced", ticket(), facts(syncedAt=None)),
    ("admitted", ticket(), facts(syncedAt=NOW - 24 * HOUR)),
    ("device_expired", ticket(), facts(expiresAt=NOW - 1)),
    ("device_expired", ticket(), facts(expiresAt=NOW + HOUR, ahead=-2 * HOUR)),
    ("admitted", ticket(), facts(expiresAt=NOW - 1, ahead=HOUR)),
    # The same admission twice on one device is refused, always.
    ("twice", ticket(), facts(seen=INSIDE)),
    ("twice", ticket(generation=3), facts(seen=INSIDE)),
    ("twice", ticket(), facts(known=None, seen=INSIDE)),
    ("twice", ticket(), facts(known={**VALID, "status": "void"}, seen=INSIDE)),
    # What the manifest knows.
    ("void", ticket(), facts(known={**VALID, "status": "void"})),
    ("void", ticket(generation=3), facts(known={**VALID, "status": "void"})),
    ("suspended", ticket(), facts(known={**VALID, "status": "suspended"})),
    ("already_redeemed", ticket(), facts(known={**VALID, "redeemed_at": "2026-01-01T00:00:00Z"})),
    (
        "already_redeemed",
        ticket(generation=3),
        facts(known={**VALID, "redeemed_at": "2026-01-01T00:00:00Z"}),
    ),
    # Generations: the manifest's, and those seen on this device.
    ("superseded", ticket(generation=1), facts()),
    ("superseded", ticket(), facts(seen={"generation": 3, "inside": None})),
    ("superseded", ticket(), facts(known=None, seen={"generation": 3, "inside": None})),
    # The server would refuse it too.
    ("not_open", ticket(), facts(opensAt=NOW + 1)),
    ("not_open", ticket(), facts(opensAt=NOW - HOUR, ahead=2 * HOUR)),
    ("superseded", ticket(generation=1), facts(opensAt=NOW + 1)),
    # Without signatures and without a digest of the QR code, nothing is admitted.
    ("not_listed", ticket(isGenuine=None), facts()),
    ("not_listed", ticket(isGenuine=None), facts(known=None)),
    ("not_listed", ticket(isGenuine=None, generation=3), facts()),
    ("superseded", ticket(isGenuine=None, generation=1), facts()),
]


def test_every_rule_in_its_order(scanner):
    wrong = [
        (decision, presented, known, found)
        for decision, presented, known in RULES
        if (found := scanner.evaluate(DECIDE, [page.url("deciding.js"), presented, known]))
        != decision
    ]
    assert wrong == []


def test_it_reads_the_example_of_the_documentation(scanner):
    jwk = {"kid": EXAMPLE["key number"], "x": EXAMPLE["public key (`x`, base64url)"]}
    read = [page.url("ticket.js"), EXAMPLE["text"], jwk]
    assert scanner.evaluate(PARSE, read) == {
        "keyNumber": EXAMPLE["key number"],
        "admissionId": EXAMPLE["admission"],
        "eventId": EXAMPLE["event"],
        "generation": int(EXAMPLE["generation"]),
        "good": True,
    }
    read[1] = forged(EXAMPLE["text"])
    assert scanner.evaluate(PARSE, read)["good"] is False
    read[2] = {**jwk, "kid": "2"}
    assert scanner.evaluate(PARSE, read)["good"] is False
    text = EXAMPLE["text"]
    for wrong in (
        "",
        "T1:",
        text.lower(),
        text[:-1],
        text + "0",
        text[:-1] + "a",
        "T2:" + text[3:],
    ):
        assert scanner.evaluate(PARSE, [page.url("ticket.js"), wrong, jwk]) is None, wrong
    too_large = "T1:" + ":::" + text[6:]
    assert scanner.evaluate(PARSE, [page.url("ticket.js"), too_large, jwk]) is None


def test_it_decides_fast_with_20000_tickets(visit, remote, stack):
    doors = Doors(remote, stack.url)
    tickets = doors.tickets(FASTEST_OF)
    fill(stack, doors, TICKETS - FASTEST_OF)
    phone = doors.phone(visit)
    found = [phone.page.evaluate(MEASURE, [page.url(""), each["qr"]]) for each in tickets]
    assert {(size, decision) for size, decision, _ in found} == {(TICKETS, "admitted")}
    assert min(milliseconds for _, _, milliseconds in found) < BOUND_MS


def fill(stack, doors, count):
    """Add tickets of guests, behind the back of the server."""
    app = create_app(load(stack.environ))
    try:
        tenant = Tenant.get(Tenant.slug == doors.remote.path.rsplit("/", 1)[1])
        many(Organizer(app, tenant.slug, tenant.id, ""), doors.ticket, count)
        of_type = TicketType.id == doors.ticket["id"]
        TicketType.update(sold=TicketType.sold + count).where(of_type).execute()
    finally:
        database.close()
