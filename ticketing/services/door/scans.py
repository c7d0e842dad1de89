"""Scans at the door: redeem admissions, and undo that. One transaction for all of a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime

from peewee import IntegrityError

from ticketing import clock, ids
from ticketing.conflicts import StillRunning
from ticketing.constants import (
    UNDO_WITHIN,
    AdmissionStatus,
    Decision,
    ScanKind,
    ScanOutcome,
)
from ticketing.db.connection import write_transaction
from ticketing.models.admissions import Admission
from ticketing.models.door import Scan
from ticketing.services.access.rate_limits import OneAtATime
from ticketing.services.door import scan_rows, single_scan, ticket_signing
from ticketing.services.door.devices import DoorCaller
from ticketing.services.door.scan_requests import Result, ScanRequest, new_row
from ticketing.services.door.ticket_signing import Ticket
from ticketing.services.notifications import facts, feed
from ticketing.services.notifications.facts import Fact

FEW_CHECKS = 20
"""So many signatures of one request are always checked. A device that is online has fewer."""

_many_checks = OneAtATime(retry_after=1)
_ATTEMPTS = 5
_NO_CONFLICT = (ScanOutcome.ADMITTED, ScanOutcome.WRONG_EVENT)

Presented = tuple[Admission, int] | ScanOutcome
"""The admission that a scan presents, and of which generation; or why there is none."""


def submit(caller: DoorCaller, sent_at: datetime, requests: Sequence[ScanRequest]) -> list[Result]:
    """Carry out scans in their order, all or none. Return their results in the same order.

    `sent_at` is the device's clock when it sent them. A scan that was carried out before gets the
    same result again. StillRunning if other requests with the same nonces keep coming in between.
    TooManyRequests if many unknown QR codes must be checked, and those of another request are.
    """
    admitted = single_scan.admit(caller, sent_at, requests[0]) if len(requests) == 1 else None
    if admitted is not None:
        return [admitted]
    tickets = _genuine_tickets(caller.event.tenant_id, requests)
    for _ in range(_ATTEMPTS):
        try:
            with write_transaction():
                return _Batch(caller, sent_at, requests, tickets).run()
        except IntegrityError:
            # Another request with the same nonce, or an undo of the same scan, was committed.
            continue
    raise StillRunning("Another request with the same scans is still running.")


def _genuine_tickets(tenant_id: str, requests: Sequence[ScanRequest]) -> Mapping[str, Ticket]:
    """Return the tickets of the QR codes that the tenant's keys have signed, by their texts.

    To check a signature takes milliseconds. So it is done before the transaction, for which other
    writers wait, and only for texts that are not stored. TooManyRequests if another thread of this
    process checks more than FEW_CHECKS, and so does this request.
    """
    texts = {each.qr for each in requests if each.qr is not None}
    read = {text: ticket_signing.read(text) for text in texts}
    found = {text: ticket for text, ticket in read.items() if ticket is not None}
    stored = scan_rows.stored_qrs(tenant_id, {each.admission_id for each in found.values()})
    others = found.keys() - stored
    if others:
        keys = ticket_signing.stored_keys(tenant_id)
        with _many_checks.turn() if len(others) > FEW_CHECKS else nullcontext():
            forged = {each for each in others if not ticket_signing.is_genuine(found[each], keys)}
        found = {text: ticket for text, ticket in found.items() if text not in forged}
    return found


class _Batch:
    """The scans of one request, in its transaction. `tickets`: those that are genuine, by text."""

    def __init__(
        self,
        caller: DoorCaller,
        sent_at: datetime,
        requests: Sequence[ScanRequest],
        tickets: Mapping[str, Ticket],
    ) -> None:
        self._caller, self._event = caller, caller.event
        self._requests = requests
        self._sent_at, self._now = sent_at, clock.now()
        self._stored = self._find_stored()
        self._tickets = tickets
        self._happened: list[Fact] = []
        self._lock()

    def run(self) -> list[Result]:
        """Carry out all scans that were not carried out before."""
        results = [self._result(request) for request in self._requests]
        feed.record_all(self._event.tenant_id, self._happened)
        return results

    def _find_stored(self) -> dict[str, Scan]:
        """Return the scans with the nonces of this request. The caller's own go first."""
        nonces = {each.nonce for each in self._requests}
        nonces |= {each.of for each in self._requests if each.of is not None}
        found = scan_rows.with_nonces(self._event.id, nonces)
        others = {} if self._caller.device else {scan.nonce: scan for scan in found}
        return others | {scan.nonce: scan for scan in found if self._is_own(scan)}

    def _is_own(self, scan: Scan) -> bool:
        return scan.credential == self._caller.credential_id

    def _lock(self) -> None:
        """Lock all admissions of the request in one order, so that two requests never deadlock."""
        tickets = self._tickets.values()
        named = {each.admission_id for each in tickets if each.event_id == self._event.id}
        named |= {each.admission_id for each in self._requests if each.admission_id is not None}
        undone = [self._stored.get(each.of) for each in self._requests if each.of is not None]
        named |= {scan.admission_id for scan in undone if scan and scan.admission_id is not None}
        codes = {ids.typed(each.code) for each in self._requests if each.code is not None}
        locked = scan_rows.lock(self._event.id, named, codes)
        self._by_id = {admission.id: admission for admission in locked}
        self._by_code = {admission.code: admission for admission in locked}
        self._elsewhere = scan_rows.codes_of_other_events(
            self._event.tenant_id, self._event.id, codes - self._by_code.keys()
        )

    def _result(self, request: ScanRequest) -> Result:
        scan = self._stored.get(request.nonce)
        if scan is None or not self._is_own(scan):
            scan = self._redeem(request) if request.kind == ScanKind.REDEEM else self._undo(request)
            scan_rows.insert(scan)
            self._stored[request.nonce] = scan
        elif scan.content_digest != request.digest:
            return Result(request.nonce, ScanOutcome.NONCE_REUSED)
        return Result.of(scan)

    def _redeem(self, request: ScanRequest) -> Scan:
        scan, presented = self._new_row(request), self._identify(request)
        if isinstance(presented, ScanOutcome):
            verdict = presented
        else:
            scan.admission, scan.generation = presented
            verdict = self._decide(scan, *presented)
        is_conflict = request.decided == Decision.ADMITTED and verdict not in _NO_CONFLICT
        scan.verdict = verdict
        scan.outcome = ScanOutcome.CONFLICT if is_conflict else verdict
        return scan

    def _decide(self, scan: Scan, admission: Admission, generation: int) -> ScanOutcome:
        """Let the holder in, or say why not."""
        is_open = scan.scanned_at >= self._event.doors_open
        verdict = _judge(admission, generation, is_open=is_open)
        if verdict is ScanOutcome.ADMITTED:
            is_in = scan_rows.let_in(admission, scan)
            assert is_in, "the admission is locked"
            self._happened.append(facts.admission_redeemed(admission))
        scan.first_at, scan.first_gate = admission.redeemed_at, admission.redeemed_gate
        return verdict

    def _undo(self, request: ScanRequest) -> Scan:
        """Undo the scan that the request names.

        It must have let the holder in, or be an open conflict.
        """
        scan, target = self._new_row(request), self._stored.get(request.of or "")
        scan.verdict = scan.outcome = ScanOutcome.NOTHING_TO_UNDO
        if target is None or target.kind != ScanKind.REDEEM or self._is_too_late(scan, target):
            return scan
        admission = self._by_id.get(target.admission_id or "")
        scan.admission, scan.generation = admission, target.generation
        if admission is not None and admission.redeemed_by == target.id:
            successor = scan_rows.oldest_conflict(admission, target)
            is_undone_now = scan_rows.replace(admission, target, successor)
            if is_undone_now and successor is None:
                self._happened.append(facts.redeem_undone(admission))
        else:
            is_conflict = target.outcome == ScanOutcome.CONFLICT
            is_undone_now = is_conflict and not scan_rows.is_undone(target)
        if admission is not None:
            scan.first_at, scan.first_gate = admission.redeemed_at, admission.redeemed_gate
        if is_undone_now:
            scan.undoes = target
            scan.verdict = scan.outcome = ScanOutcome.UNDONE
        return scan

    def _is_too_late(self, undo: Scan, scan: Scan) -> bool:
        return self._caller.device is not None and undo.scanned_at > scan.scanned_at + UNDO_WITHIN

    def _new_row(self, request: ScanRequest) -> Scan:
        return new_row(self._caller, request, self._sent_at, self._now)

    def _identify(self, request: ScanRequest) -> Presented:
        if request.qr is not None:
            return self._of_qr(request.qr)
        if request.code is None:
            return self._of_generation(request.admission_id, request.generation)
        code = ids.typed(request.code)
        admission = self._by_code.get(code)
        if admission is not None:
            return admission, admission.generation
        return ScanOutcome.WRONG_EVENT if code in self._elsewhere else ScanOutcome.UNKNOWN

    def _of_qr(self, text: str) -> Presented:
        ticket = self._tickets.get(text)
        if ticket is None:
            return ScanOutcome.UNKNOWN
        if ticket.event_id != self._event.id:
            return ScanOutcome.WRONG_EVENT
        return self._of_generation(ticket.admission_id, ticket.generation)

    def _of_generation(self, admission_id: str | None, generation: int | None) -> Presented:
        admission = self._by_id.get(admission_id or "")
        if admission is None or generation is None or generation > admission.generation:
            return ScanOutcome.UNKNOWN
        return admission, generation


def _judge(admission: Admission, generation: int, *, is_open: bool) -> ScanOutcome:
    """Return the verdict on an admission of which this generation is presented."""
    if admission.status == AdmissionStatus.VOID:
        return ScanOutcome.VOID
    if admission.status == AdmissionStatus.SUSPENDED:
        return ScanOutcome.SUSPENDED
    if admission.redeemed_at is not None:
        return ScanOutcome.ALREADY_REDEEMED
    if generation < admission.generation:
        return ScanOutcome.SUPERSEDED
    return ScanOutcome.ADMITTED if is_open else ScanOutcome.NOT_OPEN
