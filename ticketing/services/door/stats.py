"""What a door counts: who is inside, the last scans, and conflicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from peewee import JOIN, ModelSelect, fn

from ticketing.constants import AdmissionStatus
from ticketing.models.admissions import Admission
from ticketing.models.base import literal
from ticketing.models.door import SCANNED_TYPE, DoorDevice, Scan
from ticketing.models.prepared import Prepared
from ticketing.models.ticket_types import TicketType
from ticketing.scanning import ScanOutcome
from ticketing.services.catalog import ticket_types

_QUARTER, _MOST_QUARTERS = 900, 192
"""Seconds of a quarter of an hour, and how many of them a curve has: two days."""

LAST_SCANS = 20
MAX_CONFLICTS = 100
CONSPICUOUS_SCANS = 50
CONSPICUOUS_FACTOR = 4
"""A device is far over the others with so many scans, and so many times their mean."""


@dataclass(frozen=True)
class OfTicketType:
    """The admissions of one ticket type: how many are inside, of how many that could be.

    `admission` False: how many were handed out, of how many.
    """

    ticket_id: str
    name: str
    admission: bool
    inside: int
    admissions: int


@dataclass(frozen=True)
class OfGate:
    """How many came in at one gate. `gate` None: scanned without one."""

    gate: str | None
    inside: int


@dataclass(frozen=True)
class Entries:
    """How many came in within a quarter of an hour. `place`: its number, from the first one on."""

    begin: datetime
    place: int
    count: int


@dataclass(frozen=True)
class Stats:
    """The counts of one event. `conflicts` are those that are open, the newest first.

    `inside`, `admissions` and `by_gate` are of ticket types that let somebody in. `handed_out` and
    `to_hand_out` are of the others: how many were, of how many.
    """

    inside: int
    admissions: int
    handed_out: int
    to_hand_out: int
    by_ticket_type: Sequence[OfTicketType]
    by_gate: Sequence[OfGate]
    last_scans: Sequence[Scan]
    conflicts: Sequence[Scan]


@Prepared
def _counts(event_id: Any) -> ModelSelect[Admission]:
    return (
        Admission.select(
            Admission.ticket_type,
            Admission.redeemed_gate,
            Admission.redeemed_at.is_null(),
            fn.COUNT(Admission.id),
        )
        .where(
            Admission.event == event_id,
            (Admission.status != literal(AdmissionStatus.VOID)) | ~Admission.redeemed_at.is_null(),
        )
        .group_by(Admission.ticket_type, Admission.redeemed_gate, Admission.redeemed_at.is_null())
    )


def _scans(event_id: Any) -> ModelSelect[Scan]:
    return (
        Scan.select(Scan, Admission.id, Admission.ticket_type, *SCANNED_TYPE)
        .join(Admission, JOIN.LEFT_OUTER)
        .join(TicketType, JOIN.LEFT_OUTER)
        .where(Scan.event == event_id)
        .order_by(Scan.id.desc())
    )


@Prepared
def _last_scans(event_id: Any) -> ModelSelect[Scan]:
    return _scans(event_id).limit(LAST_SCANS)


@Prepared
def _conflicts(event_id: Any) -> ModelSelect[Scan]:
    undo = Scan.alias()
    undone = undo.select(undo.id).where(undo.undoes == Scan.id)
    stands = Admission.redeemed_by.is_null() | (Admission.redeemed_by != Scan.id)
    return (
        _scans(event_id)
        .where(Scan.outcome == literal(ScanOutcome.CONFLICT), stands, ~fn.EXISTS(undone))
        .limit(MAX_CONFLICTS)
    )


def conspicuous(event_id: str) -> list[DoorDevice]:
    """Return the devices of an event that sent far more scans than its others.

    So does a stolen phone, and one that scans nonsense. Each is compared with the mean of the
    others that have sent something. One that was revoked is left out: somebody has looked at it.
    """
    devices = list(
        DoorDevice.select(
            DoorDevice.id,
            DoorDevice.name,
            DoorDevice.gate,
            DoorDevice.scans,
            DoorDevice.revoked_at,
        )
        .where(DoorDevice.event == event_id, DoorDevice.scans > 0)
        .order_by(DoorDevice.id)
    )
    total, others = sum(each.scans for each in devices), len(devices) - 1
    return [
        each
        for each in devices
        if others
        and each.revoked_at is None
        and each.scans >= CONSPICUOUS_SCANS
        and each.scans * others > CONSPICUOUS_FACTOR * (total - each.scans)
    ]


def of(event_id: str) -> Stats:
    """Return the counts of an event."""
    rows = _counts.tuples(event_id=event_id)
    by_type = [_of_type(ticket_type, rows) for ticket_type in ticket_types.names(event_id)]
    seats = [counts for counts in by_type if counts.admission]
    others = [counts for counts in by_type if not counts.admission]
    handed_out = {counts.ticket_id for counts in others}
    at_gates: dict[str | None, int] = {}
    for ticket_id, gate, is_outside, count in rows:
        if not is_outside and ticket_id not in handed_out:
            at_gates[gate] = at_gates.get(gate, 0) + count
    gates = sorted(at_gates.items(), key=lambda entry: (entry[0] is None, entry[0] or ""))
    return Stats(
        inside=sum(counts.inside for counts in seats),
        admissions=sum(counts.admissions for counts in seats),
        handed_out=sum(counts.inside for counts in others),
        to_hand_out=sum(counts.admissions for counts in others),
        by_ticket_type=by_type,
        by_gate=[OfGate(gate, inside) for gate, inside in gates],
        last_scans=_last_scans.rows(event_id=event_id),
        conflicts=_conflicts.rows(event_id=event_id),
    )


def _of_type(ticket_type: TicketType, rows: Sequence[Any]) -> OfTicketType:
    own = [(is_outside, count) for owner, _, is_outside, count in rows if owner == ticket_type.id]
    inside = sum(count for is_outside, count in own if not is_outside)
    return OfTicketType(
        ticket_type.id,
        ticket_type.name,
        ticket_type.admission,
        inside,
        sum(count for _, count in own),
    )


def entries(event_id: str) -> list[Entries]:
    """Return how many came in within each quarter of an hour in which somebody did."""
    came: Any = Admission.select(Admission.redeemed_at).where(
        Admission.event == event_id, Admission.redeemed_at.is_null(False)
    )
    slots = Counter(int(at.timestamp()) // _QUARTER for (at,) in came.tuples())
    first = min(slots, default=0)
    return [
        Entries(datetime.fromtimestamp(slot * _QUARTER, UTC), slot - first, slots[slot])
        for slot in sorted(slots)
        if slot - first < _MOST_QUARTERS
    ]
