"""A door device that follows the offline rules of the contract (section 10), for tests.

It shares no code with the service: it reads QR codes and checks their signatures itself.
"""

import base64
import hashlib
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from Crypto.Signature import eddsa

BASE45 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
LONGEST_OFFLINE = timedelta(hours=24)
ADMITTED, REFUSED = "admitted", "refused"

Scan = dict[str, Any]


@dataclass(frozen=True)
class Ticket:
    """What a QR code says."""

    key: str
    admission_id: str
    event_id: str
    generation: int


@dataclass(frozen=True)
class Decision:
    """What a device decided by itself, and which rule said so."""

    verdict: str
    rule: str
    ticket: Ticket | None = None


class DoorDevice:
    """A phone at the door. `clock` returns the time of its own clock, which may be wrong."""

    def __init__(
        self,
        event_id: str,
        keys: dict[str, Any],
        expires_at: datetime,
        clock: Callable[[], datetime],
    ) -> None:
        self.clock = clock
        self.queue: list[Scan] = []
        self.cursor: str | None = None
        self.admissions: dict[str, dict[str, Any]] = {}
        self._event_id = event_id
        self._keys = {key["kid"]: key for key in keys["keys"]}
        self._expires_at = expires_at
        self._synced_at: datetime | None = None
        self._generations: dict[str, int] = {}
        self._inside: set[str] = set()
        self._genuine: dict[str, Ticket] = {}
        """The QR codes whose signature was good. Keys are never removed."""

    # Offline.

    def decide(self, qr: str) -> Decision:
        """Apply the offline rules, in their order."""
        ticket = self._read(qr)
        if ticket is None or ticket.event_id != self._event_id:
            return Decision(REFUSED, "signature")
        known = self.admissions.get(ticket.admission_id)
        rule = self._refusal(ticket, known)
        if rule is not None:
            return Decision(REFUSED, rule, ticket)
        if known is None and not self._keys[ticket.key]["newest"]:
            return Decision(REFUSED, "old key", ticket)
        return Decision(ADMITTED, "manifest" if known else "new since the last sync", ticket)

    def scan_offline(self, qr: str) -> tuple[Scan, Decision]:
        """Decide, and queue the scan if the guest goes in.

        The server redeems whatever is sent to it, so a scan that was refused is not sent.
        """
        decision = self.decide(qr)
        scan = self.new_scan(qr=qr, decided=decision.verdict)
        if decision.verdict == ADMITTED:
            self.queue.append(scan)
        if decision.ticket is not None and decision.rule != "signature":
            self._note(decision.ticket, is_inside=decision.verdict == ADMITTED)
        return scan, decision

    def undo_offline(self, scan: Scan) -> Scan:
        """Take back one of its own scans, and queue that."""
        undo = self.new_undo(scan)
        self.queue.append(undo)
        return undo

    def _refusal(self, ticket: Ticket, known: dict[str, Any] | None) -> str | None:
        now, admission_id = self.clock(), ticket.admission_id
        if self._synced_at is None or now - self._synced_at > LONGEST_OFFLINE:
            return "not synced"
        if now > self._expires_at:
            return "expired"
        if admission_id in self._inside:
            return "admitted here"
        if known is not None and known["status"] in ("void", "suspended"):
            return str(known["status"])
        if known is not None and known["redeemed_at"] is not None:
            return "redeemed"
        newest = max(self._generations.get(admission_id, 0), known["generation"] if known else 0)
        return "older generation" if ticket.generation < newest else None

    # Online.

    def new_scan(self, **named: Any) -> Scan:
        """Return a scan that redeems, now."""
        return {**self._new("redeem"), **named}

    def new_undo(self, scan: Scan) -> Scan:
        """Return a scan that undoes another one, now."""
        self._inside.discard(self._admission_of(scan))
        return {**self._new("undo"), "of": scan["nonce"]}

    def request(self, scans: Sequence[Scan]) -> dict[str, Any]:
        """Return a request with these scans. `unsynced`: what is left after it."""
        waiting = len([each for each in self.queue if each not in scans])
        return {"sent_at": written(self.clock()), "scans": list(scans), "unsynced": waiting}

    def learn(self, scans: Sequence[Scan], results: Sequence[dict[str, Any]]) -> None:
        """Take the server's answers to scans."""
        answered = {each["nonce"] for each in results}
        self.queue = [each for each in self.queue if each["nonce"] not in answered]
        for scan, result in zip(scans, results, strict=True):
            assert scan["nonce"] == result["nonce"]
            ticket = self._read(scan["qr"]) if "qr" in scan else None
            if ticket is not None and result["outcome"] in ("admitted", "already_redeemed"):
                self._note(ticket, is_inside=result["outcome"] == "admitted")

    def sync(self, manifest: dict[str, Any]) -> None:
        """Take a manifest, or what changed since the last one."""
        self.cursor = manifest["cursor"]
        self._keys = {key["kid"]: key for key in manifest["keys"]}
        self._synced_at = self.clock()
        self.admissions |= {each["id"]: each for each in manifest["admissions"]}

    def knows_code(self, code: str, salt: str) -> str | None:
        """Return the admission that a typed code opens, by its digest in the manifest."""
        digest = hashlib.sha256((salt + code).encode()).digest()[:16]
        wanted = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        found = (key for key, each in self.admissions.items() if each["code_digest"] == wanted)
        return next(found, None)

    def _new(self, kind: str) -> Scan:
        return {"nonce": str(uuid.uuid4()), "kind": kind, "at": written(self.clock())}

    def _note(self, ticket: Ticket, *, is_inside: bool) -> None:
        seen = self._generations.get(ticket.admission_id, 0)
        self._generations[ticket.admission_id] = max(seen, ticket.generation)
        if is_inside:
            self._inside.add(ticket.admission_id)

    def _admission_of(self, scan: Scan) -> str:
        ticket = self._read(scan["qr"])
        assert ticket is not None
        return ticket.admission_id

    def _read(self, qr: str) -> Ticket | None:
        """Return what a QR code says. None if no known key signed it."""
        if qr in self._genuine:
            return self._genuine[qr]
        data = _decoded(qr)
        key = self._keys.get(str(data[1])) if data else None
        if key is None or data[0] != 1:
            return None
        public = eddsa.import_public_key(base64.urlsafe_b64decode(key["x"] + "="))
        try:
            eddsa.new(public, "rfc8032").verify(b"T1:" + data[:36], data[36:])
        except ValueError:
            return None
        admission_id, event_id = _id(data[2:18]), _id(data[18:34])
        generation = int.from_bytes(data[34:36], "big")
        ticket = Ticket(key["kid"], f"adm_{admission_id}", f"evt_{event_id}", generation)
        self._genuine[qr] = ticket
        return ticket


def written(time: datetime) -> str:
    """Return a time as the API reads it."""
    return time.isoformat().replace("+00:00", "Z")


def _decoded(qr: str) -> bytes:
    """Return the 100 bytes of a QR code. Empty if it is not a ticket's."""
    text = qr.removeprefix("T1:")
    if len(qr) != 153 or len(text) != 150 or not set(text) <= set(BASE45):
        return b""
    digits = [BASE45.index(character) for character in text]
    numbers = [a + 45 * b + 45**2 * c for a, b, c in zip(*[iter(digits)] * 3, strict=True)]
    return b"".join(each.to_bytes(2, "big") for each in numbers) if max(numbers) < 2**16 else b""


def _id(data: bytes) -> str:
    number = int.from_bytes(data, "big")
    return "".join(BASE32[number >> 5 * place & 31] for place in range(25, -1, -1))
