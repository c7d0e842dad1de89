"""What a device sends of one scan, the row that is stored of it, and the answer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from ticketing import ids
from ticketing.constants import Decision, ScanKind, ScanOutcome
from ticketing.models.door import Scan, Scanned
from ticketing.services.door.devices import DoorCaller


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


def corrected(at: datetime, sent_at: datetime, received_at: datetime, since: datetime) -> datetime:
    """Return when something happened by our clock, from two times of a wrong clock.

    The result is between `since` and `received_at`, also if the device's clock was set in between.
    """
    longest = max(received_at - since, timedelta())
    return received_at - min(max(sent_at - at, timedelta()), longest)


def new_row(
    caller: DoorCaller, request: ScanRequest, sent_at: datetime, received_at: datetime
) -> Scan:
    """Return the row of a scan, without its admission and its outcome. It is not stored yet."""
    at = request.at or sent_at
    return Scan(
        id=ids.new(ids.SCAN),
        event=caller.event,
        credential=caller.credential_id,
        nonce=request.nonce,
        kind=request.kind,
        content_digest=request.digest,
        decided=request.decided,
        gate=caller.gate,
        device_at=at,
        scanned_at=corrected(at, sent_at, received_at, caller.since),
        received_at=received_at,
    )
