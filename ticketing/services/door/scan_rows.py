"""The queries of scans: stored scans, the admissions that they are about, changes of both.

Most requests are of one scan, so the queries of one nonce or one admission are prepared.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from peewee import JOIN, ModelSelect

from ticketing.constants import AdmissionStatus
from ticketing.db.connection import locked
from ticketing.models.admissions import Admission
from ticketing.models.door import SCANNED_TYPE, Scan
from ticketing.models.prepared import Prepared, prepared_insert
from ticketing.models.ticket_types import TicketType
from ticketing.scanning import ScanOutcome

_COLUMNS = (
    Admission.id,
    Admission.tenant,
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
    Admission.returned_at,
    *SCANNED_TYPE,
)

insert = prepared_insert(Scan)


def _with_nonces(event_id: Any, nonces: Sequence[Any]) -> ModelSelect[Scan]:
    return (
        Scan.select(Scan, Admission.id, Admission.ticket_type, *SCANNED_TYPE)
        .join(Admission, JOIN.LEFT_OUTER)
        .join(TicketType, JOIN.LEFT_OUTER)
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


def _admissions() -> ModelSelect[Admission]:
    return Admission.select(*_COLUMNS).join(TicketType)


@Prepared
def _lock_one(event_id: Any, admission_id: Any) -> ModelSelect[Admission]:
    is_it = (Admission.id == admission_id) & (Admission.event == event_id)
    return locked(_admissions().where(is_it), of=Admission)


def lock(event_id: str, admission_ids: Collection[str], codes: Collection[str]) -> list[Admission]:
    """Lock the event's admissions with these ids or codes, in the order of their ids."""
    if len(admission_ids) == 1 and not codes:
        return _lock_one.rows(event_id=event_id, admission_id=next(iter(admission_ids)))
    conditions = [
        field.in_(list(values))
        for field, values in ((Admission.id, admission_ids), (Admission.code, codes))
        if values
    ]
    if not conditions:
        return []
    condition = conditions[0] if len(conditions) == 1 else conditions[0] | conditions[1]
    query = _admissions().where(condition, Admission.event == event_id)
    return list(locked(query.order_by(Admission.id), of=Admission))


def _qrs(tenant_id: Any, admission_ids: Sequence[Any]) -> ModelSelect[Admission]:
    return Admission.select(Admission.qr).where(
        Admission.id.in_(admission_ids), Admission.tenant == tenant_id
    )


@Prepared
def _qr(tenant_id: Any, admission_id: Any) -> ModelSelect[Admission]:
    return _qrs(tenant_id, [admission_id])


def stored_qrs(tenant_id: str, admission_ids: Collection[str]) -> set[str]:
    """Return the texts of QR codes of a tenant's admissions, of their present generations."""
    if len(admission_ids) == 1:
        rows = _qr.tuples(tenant_id=tenant_id, admission_id=next(iter(admission_ids)))
    else:
        rows = list(_qrs(tenant_id, list(admission_ids)).tuples())
    return {qr for (qr,) in rows if qr is not None}


def codes_of_other_events(tenant_id: str, event_id: str, codes: Collection[str]) -> set[str]:
    """Return which of these codes belong to other events of the tenant."""
    if not codes:
        return set()
    admissions = Admission.select(Admission.code).where(
        Admission.code.in_(list(codes)), Admission.tenant == tenant_id, Admission.event != event_id
    )
    return {admission.code for admission in admissions}


@Prepared
def _let_in(admission_id: Any, scan_id: Any, scanned_at: Any, gate: Any) -> Any:
    redeemed = Admission.update(
        redeemed_at=scanned_at, redeemed_gate=gate, redeemed_by=scan_id, change_number=None
    )
    return redeemed.where(Admission.id == admission_id, Admission.redeemed_at.is_null())


def let_in(admission: Admission, scan: Scan) -> bool:
    """Redeem a locked admission. Return whether nobody had redeemed it. The model shows it."""
    is_in = _let_in.run(
        admission_id=admission.id, scan_id=scan.id, scanned_at=scan.scanned_at, gate=scan.gate
    )
    if is_in:
        _show(admission, scan.id, scan.scanned_at, scan.gate)
    return bool(is_in)


def replace(admission: Admission, scan: Scan, successor: Scan | None) -> bool:
    """Take back the redemption by `scan`, and let `successor` take its place.

    Return whether `scan` was what had redeemed it. The model shows the change.
    """
    by, at, gate = (
        (successor.id, successor.scanned_at, successor.gate) if successor else (None, None, None)
    )
    is_replaced = (
        Admission.update(redeemed_at=at, redeemed_gate=gate, redeemed_by=by, change_number=None)
        .where(Admission.id == admission.id, Admission.redeemed_by == scan.id)
        .execute()
    )
    if is_replaced:
        _show(admission, by, at, gate)
    return bool(is_replaced)


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
    conflict: Scan | None = (
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
    return conflict


def is_undone(scan: Scan) -> bool:
    """Return whether a scan was undone."""
    return bool(Scan.select().where(Scan.undoes == scan.id).exists())


def _show(admission: Admission, scan_id: str | None, at: datetime | None, gate: str | None) -> None:
    admission.redeemed_by, admission.redeemed_at, admission.redeemed_gate = scan_id, at, gate
