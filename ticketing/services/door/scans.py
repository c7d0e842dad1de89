"""Scans at the door: what a device sends, the rule of redemption, and its undo.

All scans of a request are carried out in one transaction. A scan by itself takes the same way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta

from peewee import IntegrityError

from ticketing import clock, ids
from ticketing.constants import AdmissionStatus
from ticketing.db.connection import write_transaction
from ticketing.errors import FieldMessage, IdempotencyStillRunning, Invalid
from ticketing.models.admissions import Admission
from ticketing.models.door import Scan, Scanned
from ticketing.scanning import UNDO_WITHIN, Decision, ScanKind, ScanOutcome
from ticketing.services.access.rate_limits import OneAtATime
from ticketing.services.door import devices, scan_rows, ticket_signing
from ticketing.services.door.devices import DoorCaller
from ticketing.services.door.ticket_signing import Ticket
from ticketing.services.notifications import facts, feed
from ticketing.services.notifications.facts import Fact
from ticketing.services.orders import returns, stock

FEW_CHECKS = 20
"""So many signatures of one request are always checked. A device that is online has fewer."""

_many_checks = OneAtATime(retry_after=1)
_ATTEMPTS = 5
_NO_CONFLICT = (ScanOutcome.ADMITTED, ScanOutcome.WRONG_EVENT)

Presented = tuple[Admission, int] | ScanOutcome
"""The admission that a scan presents, and of which generation; or why there is none."""


@dataclass(frozen=True)
class ScanRequest:
    """One scan as a device sends it.

    A redemption names its admission by `qr`, by `code`, or by `admission_id` and `generation`. An
    undo names the nonce of a redemption (`of`). `at` is the device's clock.
    """

    nonce: str
    kind: ScanKind
    at: datetime | None = None
    qr: str | None = None
    code: str | None = None
    admission_id: str | None = None
    generation: int | None = None
    decided: Decision | None = None
    of: str | None = None

    @property
    def digest(self) -> str:
        """A digest of the content, to recognize the same scan."""
        named = (self.qr, self.code, self.admission_id, self.generation)
        content = json.dumps([self.kind, str(self.at), *named, self.decided, self.of])
        return hashlib.sha256(content.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Result:
    """The answer to one scan. `first_at` and `first_gate`: when and where the holder came in."""

    nonce: str
    outcome: ScanOutcome
    admission: Scanned | None = None
    first_at: datetime | None = None
    first_gate: str | None = None

    @classmethod
    def of(cls, scan: Scan) -> Result:
        """Return the answer that is stored in a row."""
        outcome = ScanOutcome(scan.outcome)
        return cls(scan.nonce, outcome, scan.scanned, scan.first_at, scan.first_gate)


def submit(caller: DoorCaller, sent_at: datetime, requests: Sequence[ScanRequest]) -> list[Result]:
    """Carry out scans in their order, all or none. Return their results in the same order.

    `sent_at` is the device's clock when it sent them. A scan that was carried out before gets the
    same result again. IdempotencyStillRunning if other requests with the same nonces keep coming in
    between. TooManyRequests if many unknown QR codes must be checked, and those of another request
    are.

    A device names an admission by id only if it has let the holder in by itself: Invalid. For what
    else it is refused, see devices.count_scans.
    """
    if caller.device is not None:
        _check_ids(requests)
    tickets = _genuine_tickets(caller.event.tenant_id, requests)
    for _ in range(_ATTEMPTS):
        try:
            with write_transaction():
                return _Batch(caller, sent_at, requests, tickets).run()
        except IntegrityError:
            # Another request with the same nonce, or an undo of the same scan, was committed.
            continue
    raise IdempotencyStillRunning("Another request with the same scans is still running.")


def _check_ids(requests: Sequence[ScanRequest]) -> None:
    """Check the scans of a device that name an admission by id. Invalid."""
    wrong = {
        f"scans.{place}.decided": [
            FieldMessage("required", "A device needs it beside an admission_id. Or send the QR.")
        ]
        for place, request in enumerate(requests)
        if request.admission_id is not None and request.decided is None
    }
    if wrong:
        raise Invalid(wrong)


def _genuine_tickets(tenant_id: str, requests: Sequence[ScanRequest]) -> Mapping[str, Ticket]:
    """Return the tickets of the QR codes that the tenant's keys have signed, by their texts.

    To check a signature takes milliseconds. So it is done before the transaction, for which other
    writers wait, and only for texts that are not stored. TooManyRequests if another thread of this
    process checks more than FEW_CHECKS, and so does this request.
    """
    texts = {request.qr for request in requests if request.qr is not None}
    tickets = {text: ticket for text in texts if (ticket := ticket_signing.read(text)) is not None}
    if not tickets:
        return {}
    stored = scan_rows.stored_qrs(tenant_id, {ticket.admission_id for ticket in tickets.values()})
    unknown = tickets.keys() - stored
    if unknown:
        keys = ticket_signing.stored_keys(tenant_id)
        with _many_checks.turn() if len(unknown) > FEW_CHECKS else nullcontext():
            for text in unknown:
                if not ticket_signing.is_genuine(tickets[text], keys):
                    del tickets[text]
    return tickets


def _corrected(at: datetime, sent_at: datetime, received_at: datetime, since: datetime) -> datetime:
    """Return when something happened by our clock, from two times of a wrong clock.

    The result is between `since` and `received_at`, also if the device's clock was set in between.
    For example, the device says that it scanned at 20:10 and sent that at 20:15: 5 minutes later.
    We received it at 20:05. So it scanned at 20:00.
    """
    longest = max(received_at - since, timedelta())
    return received_at - min(max(sent_at - at, timedelta()), longest)


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
        self._facts: list[Fact] = []
        self._count()
        self._lock()

    def run(self) -> list[Result]:
        """Carry out all scans that were not carried out before."""
        results = [self._result(request) for request in self._requests]
        feed.record_all(self._event.tenant_id, self._facts)
        return results

    def _find_stored(self) -> dict[str, Scan]:
        """Return the scans with the nonces of this request. The caller's own go first."""
        nonces = {request.nonce for request in self._requests}
        nonces |= {request.of for request in self._requests if request.of is not None}
        scans = scan_rows.with_nonces(self._event.id, nonces)
        others = {} if self._caller.device else {scan.nonce: scan for scan in scans}
        return others | {scan.nonce: scan for scan in scans if self._is_own(scan)}

    def _is_own(self, scan: Scan) -> bool:
        return scan.credential == self._caller.credential_id

    def _count(self) -> None:
        """Count what a device is about to store. It locks the device before the admissions."""
        if self._caller.device is None:
            return
        new = {
            request.nonce: request
            for request in self._requests
            if not self._is_stored(request) and (request.of is None or self._knows(request.of))
        }
        if new:
            by_id = sum(request.admission_id is not None for request in new.values())
            devices.count_scans(self._caller.device, len(new), by_id)

    def _is_stored(self, request: ScanRequest) -> bool:
        scan = self._stored.get(request.nonce)
        return scan is not None and self._is_own(scan)

    def _knows(self, nonce: str) -> bool:
        return nonce in self._stored or any(each.nonce == nonce for each in self._requests)

    def _lock(self) -> None:
        """Lock all admissions of the request in one order, so that two requests never deadlock."""
        requests, tickets = self._requests, self._tickets.values()
        targets = [self._stored.get(request.of) for request in requests if request.of is not None]
        admission_ids = {
            *(ticket.admission_id for ticket in tickets if ticket.event_id == self._event.id),
            *(request.admission_id for request in requests if request.admission_id is not None),
            *(scan.admission_id for scan in targets if scan and scan.admission_id is not None),
        }
        codes = {ids.typed(request.code) for request in requests if request.code is not None}
        admissions = scan_rows.lock(self._event.id, admission_ids, codes)
        given_back = {each.ticket_type_id for each in admissions if each.returned_at is not None}
        if len(given_back) > 1:
            stock.lock_types(given_back)
        self._by_id = {admission.id: admission for admission in admissions}
        self._by_code = {admission.code: admission for admission in admissions}
        self._elsewhere = scan_rows.codes_of_other_events(
            self._event.tenant_id, self._event.id, codes - self._by_code.keys()
        )

    def _result(self, request: ScanRequest) -> Result:
        scan = self._stored.get(request.nonce)
        if scan is None or not self._is_own(scan):
            if request.kind == ScanKind.REDEEM:
                scan = self._redeem(request)
            elif request.of in self._stored:
                scan = self._undo(request)
            else:
                # Nothing to know later, and no end of nonces that do not exist.
                return Result(request.nonce, ScanOutcome.NOTHING_TO_UNDO)
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
        verdict = _verdict(admission, generation, is_open=is_open)
        if verdict is ScanOutcome.ADMITTED and admission.returned_at is not None:
            # The holder who comes keeps the seat, unless somebody is paying for it.
            verdict = verdict if returns.withdraw(admission) else ScanOutcome.RETURNED
        if verdict is ScanOutcome.ADMITTED:
            is_in = scan_rows.let_in(admission, scan)
            assert is_in, "the admission is locked"
            self._facts.append(facts.admission_redeemed(admission))
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
                self._facts.append(facts.redeem_undone(admission))
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
        """Return the row of a scan, without its admission and its outcome. It is not stored yet."""
        caller, at = self._caller, request.at or self._sent_at
        return Scan(
            id=ids.new(ids.SCAN),
            event=self._event,
            credential=caller.credential_id,
            nonce=request.nonce,
            kind=request.kind,
            content_digest=request.digest,
            decided=request.decided,
            gate=caller.gate,
            device_at=at,
            scanned_at=_corrected(at, self._sent_at, self._now, caller.since),
            received_at=self._now,
        )

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


def _verdict(admission: Admission, generation: int, *, is_open: bool) -> ScanOutcome:
    """Return the verdict on an admission of which this generation is presented.

    This is the rule of redemption. For example, an admission was transferred once, so it has
    generation 2: the QR code of generation 1 is `superseded`, that of generation 2 is `admitted`,
    and `already_redeemed` from then on, with both QR codes.
    """
    if admission.status == AdmissionStatus.VOID:
        return ScanOutcome.VOID
    if admission.status == AdmissionStatus.SUSPENDED:
        return ScanOutcome.SUSPENDED
    if admission.redeemed_at is not None:
        return ScanOutcome.ALREADY_REDEEMED
    if generation < admission.generation:
        return ScanOutcome.SUPERSEDED
    return ScanOutcome.ADMITTED if is_open else ScanOutcome.NOT_OPEN
