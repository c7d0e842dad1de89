"""Events at the door in the property test's world: scans, undos, requests sent again, manifests."""

import json
import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tests.support.property.core import Core
from ticketing.models.admissions import Admission
from ticketing.scanning import Decision, ScanKind
from ticketing.services.door import devices, manifest, scans, stats, ticket_signing
from ticketing.services.door.scans import Result, ScanRequest

CLOCKS = (timedelta(), timedelta(minutes=-7), timedelta(minutes=9))
"""The clocks of the devices are wrong by this much."""


class Phone:
    """A paired device: its token, what it sent, and its copy of the manifest."""

    def __init__(self, token: str, clock: timedelta) -> None:
        self.token = token
        self.clock = clock
        self.sent: list[list[ScanRequest]] = []
        self.answers: dict[str, Result] = {}
        self.cursor: str | None = None
        self.admissions: dict[str, Any] = {}


class Door(Core):
    """Devices that scan. Some are offline, send late, or send again."""

    def found(self) -> None:
        """Create the world, with its devices."""
        super().found()
        self._nonces = 0
        self.phones = [self._pair(clock) for clock in CLOCKS]

    def scan(self, which: int, wanted: Sequence[tuple[int, str, bool, int]]) -> None:
        """Scan some admissions, and send it. Each: who, how, offline or not, minutes ago."""
        phone = self.phones[which % len(self.phones)]
        found = [(self.admission(who), how, late, ago) for who, how, late, ago in wanted]
        self._send(
            phone,
            [
                self._redeem(phone, admission, how, is_offline=late, ago=ago)
                for admission, how, late, ago in found
                if admission is not None
            ],
        )

    def undo(self, which: int, of: int, ago: int) -> None:
        """Undo a scan of a device. 0 is its newest one."""
        phone = self.phones[which % len(self.phones)]
        sent = [each for batch in phone.sent for each in batch]
        if sent:
            undone = sent[-1 - of % len(sent)]
            at = self.now + phone.clock - timedelta(minutes=ago)
            self._send(phone, [ScanRequest(self._nonce(), ScanKind.UNDO, at, of=undone.nonce)])

    def send_again(self, which: int, of: int) -> None:
        """Send a request of a device again, as after a lost answer."""
        phone = self.phones[which % len(self.phones)]
        if phone.sent:
            self._submit(phone, phone.sent[-1 - of % len(phone.sent)])

    def sync(self, which: int) -> None:
        """Read what changed since the last manifest. Then the device's copy is complete."""
        phone = self.phones[which % len(self.phones)]
        read = manifest.of(self._caller(phone), phone.cursor, self.config)
        body = json.loads(read.body(compressed=False))
        phone.cursor = body["cursor"]
        phone.admissions |= {each["id"]: each for each in body["admissions"]}

    def check_door(self) -> None:
        """Check that each device's copy is complete after a delta, and that the counts agree."""
        for which, phone in enumerate(self.phones):
            self.sync(which)
            rows = {each.id: each for each in Admission.select()}
            assert phone.admissions.keys() == rows.keys()
            for key, row in rows.items():
                copy = phone.admissions[key]
                assert (copy["status"], copy["generation"]) == (row.status, row.generation)
                assert (copy["redeemed_at"] is None) == (row.redeemed_at is None)
        found = stats.of(self.paid.event_id)
        # A shirt is handed out. It is nobody who is inside.
        scanned = Admission.select().where(Admission.redeemed_at.is_null(False))
        inside = scanned.where(Admission.ticket_type != self.shirt).count()
        assert found.inside == sum(each.inside for each in found.by_gate) == inside

    def _redeem(
        self, phone: Phone, admission: Admission, how: str, *, is_offline: bool, ago: int
    ) -> ScanRequest:
        generation = admission.generation
        named: dict[str, Any] = {
            "qr": {"qr": ticket_signing.qrs_of([admission], self.config.keyring)[0]},
            "code": {"code": admission.code},
            "id": {"admission_id": admission.id, "generation": generation},
            "old": {"admission_id": admission.id, "generation": max(1, generation - 1)},
        }[how]
        return ScanRequest(
            self._nonce(),
            ScanKind.REDEEM,
            self.now + phone.clock - timedelta(minutes=ago),
            # Only what a device let in by itself may be named by its id.
            decided=Decision.ADMITTED if is_offline or "admission_id" in named else None,
            **named,
        )

    def _send(self, phone: Phone, requests: list[ScanRequest]) -> None:
        if requests:
            phone.sent.append(requests)
            self._submit(phone, requests)

    def _submit(self, phone: Phone, requests: Sequence[ScanRequest]) -> None:
        results = scans.submit(self._caller(phone), self.now + phone.clock, requests)
        assert [each.nonce for each in results] == [each.nonce for each in requests]
        for result in results:
            known = phone.answers.setdefault(result.nonce, result)
            assert known.outcome == result.outcome, "another answer to the same scan"

    def _caller(self, phone: Phone) -> devices.DoorCaller:
        return devices.caller_of(devices.of_token(phone.token, self.config.keyring))

    def _nonce(self) -> str:
        self._nonces += 1
        return str(uuid.UUID(int=self._nonces))

    def _pair(self, clock: timedelta) -> Phone:
        device = devices.create(
            self.tenant.id,
            self.paid.event_id,
            name="phone",
            gate=f"gate {clock}",
            show_names=False,
            expires_at=self.now + timedelta(days=3650),
            config=self.config,
        )
        token = devices.pair(device.pairing_code, self.config.keyring).token
        return Phone(token, clock)
