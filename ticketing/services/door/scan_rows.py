"""The queries of scans: stored scans, the admissions that they are about, changes of both."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from peewee import JOIN, ModelSelect

from ticketing.constants import AdmissionStatus, ScanOutcome
from ticketing.db.connection import locked
from ticketing.models.admissions import Admission
from ticketing.models.door import Scan
from ticketing.models.prepared import Prepared, prepared_insert

_COLUMNS = (
    Admission.id,
    Admission.event,
    Admission.ticket_type,
    Admission.intent,
    Admission.code,
    Admission.status,
    Admission.generation,
    Admission.qr,
    Admission.redeemed_at,
    Admission.redeemed_gate,
    Admission.redeemed_by,
)

insert = prepared_insert(Scan)


def _with_nonces(event_id: Any, nonces: Sequence[Any]) -> ModelSelect[Scan]:
    return (
        Scan.select(Scan, Admission.id, Admission.ticket_type)
        .join(Admission, JOIN.LEFT_OUTER)
        .where(Scan.event == event_id, Scan.nonce.in_(nonces))
    )


@Prepared
def _with_nonce(event_id: Any, nonce: Any) -> ModelSelect[Scan]:
    return _with_nonces(event_id, [nonce])


def with_nonces(event_id: str, nonces: Collection[str]) -> Sequence[Scan]:
    """Return the event's scans with these nonces, of all credentials."""
    if len(nonces) == 1:
        return _with_nonce.rows(event_id=event_id, nonce=next(iter(nonces)))
    return list(_with_nonces(event_id, list(nonces)))


@Prepared
def _lock_one(event_id: Any, admission_id: Any) -> ModelSelect[Admission]:
    query = Admission.select(*_COLUMNS)
    return locked(query.where(Admission.id == admission_id, Admission.event == event_id))


def lock(event_id: str, admission_ids: Collection[str], codes: Collection[str]) -> list[Admission]:
    """Lock the event's admissions with these ids or codes, in the order of their ids."""
    if len(admission_ids) == 1 and not codes:
        return _lock_one.rows(event_id=event_id, admission_id=next(iter(admission_ids)))
    named = [
        field.in_(list(values))
        for field, values in ((Admission.id, admission_ids), (Admission.code, codes))
        if values
    ]
    if not named:
        return []
    condition = named[0] if len(named) == 1 else named[0] | named[1]
    query = Admission.select(*_COLUMNS).where(condition, Admission.event == event_id)
    return list(locked(query.order_by(Admission.id)))


def stored_qrs(tenant_id: str, admission_ids: Collection[str]) -> set[str]:
    """Return the texts of QR codes of a tenant's admissions, of their present generations."""
    found = Admission.select(Admission.qr).where(
        Admission.id.in_(list(admission_ids)), Admission.tenant == tenant_id
    )
    return {admission.qr for admission in found if admission.qr is not None}


def codes_of_other_events(tenant_id: str, event_id: str, codes: Collection[str]) -> set[str]:
    """Return which of these codes belong to other events of the tenant."""
    if not codes:
        return set()
    found = Admission.select(Admission.code).where(
        Admission.code.in_(list(codes)), Admission.tenant == tenant_id, Admission.event != event_id
    )
    return {admission.code for admission in found}


@Prepared
def _let_in(
    event_id: Any, admission_id: Any, generation: Any, scan_id: Any, scanned_at: Any, gate: Any
) -> Any:
    changed = Admission.update(
        redeemed_at=scanned_at, redeemed_gate=gate, redeemed_by=scan_id, change_number=None
    ).where(
        Admission.id == admission_id,
        Admission.event == event_id,
        Admission.status == AdmissionStatus.VALID,
        Admission.generation == generation,
        Admission.redeemed_at.is_null(),
    )
    return changed.returning(Admission.ticket_type, Admission.intent, Admission.qr)


def admit(admission_id: str, generation: int, scan: Scan) -> Admission | None:
    """Redeem a valid admission of this generation that nobody has redeemed. None if it is not.

    The model has only the columns that a scan reads.
    """
    changed = _let_in.tuples(
        event_id=scan.event_id,
        admission_id=admission_id,
        generation=generation,
        scan_id=scan.id,
        scanned_at=scan.scanned_at,
        gate=scan.gate,
    )
    if not changed:
        return None
    ((ticket_type_id, intent_id, qr),) = changed
    admission = Admission(
        id=admission_id,
        event=scan.event_id,
        ticket_type=ticket_type_id,
        intent=intent_id,
        status=AdmissionStatus.VALID,
        generation=generation,
        qr=qr,
    )
    _show(admission, scan.id, scan.scanned_at, scan.gate)
    return admission


def let_in(admission: Admission, scan: Scan) -> bool:
    """Redeem a locked admission as `admit` does. Return whether it was. The model shows it."""
    is_in = admit(admission.id, admission.generation, scan) is not None
    if is_in:
        _show(admission, scan.id, scan.scanned_at, scan.gate)
    return is_in


def replace(admission: Admission, scan: Scan, successor: Scan | None) -> bool:
    """Take back the redemption by `scan`, and let `successor` take its place.

    Return whether `scan` was what had redeemed it. The model shows the change.
    """
    by, at, gate = (
        (successor.id, successor.scanned_at, successor.gate) if successor else (None, None, None)
    )
    changed = (
        Admission.update(redeemed_at=at, redeemed_gate=gate, redeemed_by=by, change_number=None)
        .where(Admission.id == admission.id, Admission.redeemed_by == scan.id)
        .execute()
    )
    if changed:
        _show(admission, by, at, gate)
    return bool(changed)


def oldest_conflict(admission: Admission, besides: Scan) -> Scan | None:
    """Return the oldest conflict that could redeem the admission as it is. None without one.

    `besides` is a scan that is being undone.
    """
    if admission.status != AdmissionStatus.VALID:
        return None
    undo = Scan.alias()
    undone = undo.select(undo.undoes).where(
        undo.admission == admission.id, undo.undoes.is_null(False)
    )
    found: Scan | None = (
        Scan.select()
        .where(
            Scan.admission == admission.id,
            Scan.outcome == ScanOutcome.CONFLICT,
            Scan.generation == admission.generation,
            Scan.id != besides.id,
            Scan.id.not_in(undone),
        )
        .order_by(Scan.scanned_at, Scan.id)
        .first()
    )
    return found


def is_undone(scan: Scan) -> bool:
    """Return whether a scan was undone."""
    return bool(Scan.select().where(Scan.undoes == scan.id).exists())


def _show(admission: Admission, scan_id: str | None, at: datetime | None, gate: str | None) -> None:
    admission.redeemed_by, admission.redeemed_at, admission.redeemed_gate = scan_id, at, gate
