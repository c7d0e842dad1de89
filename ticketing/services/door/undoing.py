"""Undo for organizers: one admission's entry, or all that a door device let in since a time."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from peewee import JOIN

from ticketing import clock, ids
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import NotRedeemed
from ticketing.models.admissions import Admission
from ticketing.models.door import DoorDevice, Scan
from ticketing.scanning import ScanKind, ScanOutcome
from ticketing.services.door import scan_rows
from ticketing.services.notifications import facts, feed
from ticketing.services.orders import admissions

_AT_ONCE = 200
"""Rows of one statement. A row of `scans` has 19 values, and SQLite takes 32,766."""
T = TypeVar("T")
_LET_IN = (ScanOutcome.ADMITTED, ScanOutcome.CONFLICT)


def undo_entry(tenant_id: str, admission_id: str, *, by: str) -> Admission:
    """Undo the scan that let an admission's holder in, whatever its age. Return the admission.

    The oldest conflict of the admission takes its place. `by` is the credential that asks.
    NotFound. NotRedeemed if nobody is inside with it.
    """
    unlocked = admissions.get(tenant_id, admission_id)
    with write_transaction():
        (admission,) = scan_rows.lock(unlocked.event_id, {admission_id}, ())
        if admission.redeemed_by is None:
            raise NotRedeemed
        _undo(tenant_id, {admission.id: admission}, [Scan.get_by_id(admission.redeemed_by)], by)
    return admissions.get(tenant_id, admission_id)


def undo_device(device: DoorDevice, since: datetime, *, by: str) -> int:
    """Undo what a device redeemed and its conflicts, received since a time. Return how many.

    The server's clock decides, because the device may send any time of its own. Conflicts of other
    devices take the places. Call it in the transaction that revokes the device and holds the lock
    on its row, so that no scan of it comes in between.
    """
    sent = (
        (Scan.event == device.event_id)
        & (Scan.credential == device.id)
        & (Scan.kind == ScanKind.REDEEM)
        & (Scan.outcome.in_(_LET_IN))
        & (Scan.received_at >= since)
    )
    of_device = Scan.select(Scan.admission).where(sent, Scan.admission.is_null(False))
    rows = Admission.select().where(Admission.id.in_(of_device))
    by_id = {row.id: row for row in locked(rows.order_by(Admission.id))}
    undo = Scan.alias()
    standing = (
        Scan.select(Scan)
        .join(undo, JOIN.LEFT_OUTER, on=(undo.undoes == Scan.id))
        .where(sent, undo.id.is_null())
        .order_by(Scan.id)
    )
    targets = [
        scan
        for scan in standing
        if scan.outcome == ScanOutcome.CONFLICT or _let_in(by_id.get(scan.admission_id or ""), scan)
    ]
    _undo(device.tenant_id, by_id, targets, by)
    return len(targets)


def _let_in(admission: Admission | None, scan: Scan) -> bool:
    return admission is not None and admission.redeemed_by == scan.id


def _undo(tenant_id: str, by_id: Mapping[str, Admission], targets: Sequence[Scan], by: str) -> None:
    """Undo scans of locked admissions. They let somebody in, or are open conflicts."""
    redeeming = [scan for scan in targets if _let_in(by_id.get(scan.admission_id or ""), scan)]
    successors = _successors(by_id, redeeming, {scan.id for scan in targets})
    alone = [by_id[str(scan.admission_id)] for scan in redeeming if scan.id not in successors]
    for some in _chunks(alone):
        Admission.update(
            redeemed_at=None, redeemed_gate=None, redeemed_by=None, change_number=None
        ).where(Admission.id.in_([admission.id for admission in some])).execute()
    for admission in alone:
        admission.redeemed_at = admission.redeemed_gate = admission.redeemed_by = None
    for scan in redeeming:
        if scan.id in successors:
            scan_rows.replace(by_id[str(scan.admission_id)], scan, successors[scan.id])
    now = clock.now()
    for some_scans in _chunks(targets):
        Scan.insert_many([_row(scan, by_id, by, now) for scan in some_scans]).execute()
    feed.record_all(tenant_id, [facts.redeem_undone(admission) for admission in alone])


def _successors(
    by_id: Mapping[str, Admission], redeeming: Sequence[Scan], besides: Collection[str]
) -> dict[str, Scan]:
    """Return for each scan that is undone the oldest conflict that takes its place, if any."""
    undo = Scan.alias()
    oldest: dict[str, Scan] = {}
    for some in _chunks([scan.admission_id for scan in redeeming]):
        conflicts = (
            Scan.select(Scan)
            .join(undo, JOIN.LEFT_OUTER, on=(undo.undoes == Scan.id))
            .where(
                Scan.admission.in_(some),
                Scan.outcome == ScanOutcome.CONFLICT,
                undo.id.is_null(),
            )
            .order_by(Scan.scanned_at, Scan.id)
        )
        for conflict in conflicts:
            admission = by_id[str(conflict.admission_id)]
            is_good = (
                admission.status == AdmissionStatus.VALID
                and conflict.generation == admission.generation
                and conflict.id not in besides
            )
            if is_good:
                oldest.setdefault(admission.id, conflict)
    return {scan.id: oldest[scan.admission_id] for scan in redeeming if scan.admission_id in oldest}


def _row(target: Scan, by_id: Mapping[str, Admission], by: str, now: datetime) -> dict[str, object]:
    """Return the row of the undo of a scan."""
    admission = by_id.get(target.admission_id or "")
    return {
        "id": ids.new(ids.SCAN),
        "event": target.event_id,
        "credential": by,
        "nonce": str(uuid.uuid4()),
        "kind": ScanKind.UNDO,
        # Nobody sends this nonce, so there is no content to compare.
        "content_digest": target.id,
        "admission": target.admission_id,
        "generation": target.generation,
        "verdict": ScanOutcome.UNDONE,
        "outcome": ScanOutcome.UNDONE,
        "undoes": target.id,
        "device_at": now,
        "scanned_at": now,
        "received_at": now,
        "first_at": admission and admission.redeemed_at,
        "first_gate": admission and admission.redeemed_gate,
    }


def _chunks(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(rows), _AT_ONCE):
        yield rows[start : start + _AT_ONCE]
