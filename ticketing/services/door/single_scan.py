"""Redeems an admission by a request of one scan: the usual case, in three statements.

All other cases are left to `scans`, and nothing is written for them here.
"""

from __future__ import annotations

from datetime import datetime

from peewee import IntegrityError

from ticketing import clock, credentials
from ticketing.constants import ScanKind, ScanOutcome
from ticketing.db.connection import write_transaction
from ticketing.services.door import scan_rows, ticket_signing
from ticketing.services.door.devices import DoorCaller
from ticketing.services.door.scan_requests import Result, ScanRequest, new_row
from ticketing.services.notifications import facts, feed


class _OtherCase(Exception):
    """Rolls the transaction back."""


def admit(caller: DoorCaller, sent_at: datetime, request: ScanRequest) -> Result | None:
    """Admit by a new nonce and a valid admission that nobody has redeemed. None otherwise."""
    named = _named(request, caller.event.id)
    if named is None:
        return None
    scan = new_row(caller, request, sent_at, clock.now())
    if scan.scanned_at < caller.event.doors_open:
        return None
    try:
        with write_transaction():
            admission = scan_rows.admit(*named, scan)
            if admission is None:
                raise _OtherCase
            if request.qr is not None and not credentials.same(admission.qr or "", request.qr):
                raise _OtherCase
            scan.admission, scan.generation = admission, admission.generation
            scan.first_at, scan.first_gate = scan.scanned_at, scan.gate
            scan.verdict = scan.outcome = ScanOutcome.ADMITTED
            scan_rows.insert(scan)
            feed.record(caller.event.tenant_id, *facts.admission_redeemed(admission))
    except (_OtherCase, IntegrityError):
        # IntegrityError: the nonce is not new.
        return None
    return Result.of(scan)


def _named(request: ScanRequest, event_id: str) -> tuple[str, int] | None:
    """Return the admission that a redemption names by QR code or id, and its generation."""
    if request.kind != ScanKind.REDEEM:
        return None
    if request.qr is not None:
        ticket = ticket_signing.read(request.qr)
        if ticket is None or ticket.event_id != event_id:
            return None
        return ticket.admission_id, ticket.generation
    if request.admission_id is None or request.generation is None:
        return None
    return request.admission_id, request.generation
