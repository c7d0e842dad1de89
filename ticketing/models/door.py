"""The door: paired devices, scans, the keys that sign QR codes, and the manifest of an event."""

import secrets
from typing import NamedTuple

from peewee import (
    BigIntegerField,
    BooleanField,
    CompositeKey,
    ForeignKeyField,
    IntegerField,
    TextField,
)

from ticketing import clock
from ticketing.models.admissions import Admission
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.scanning import DeviceStatus


def new_salt() -> str:
    """Return a new salt of the code digests of an event."""
    return secrets.token_hex(16)


class TicketKey(BaseModel):
    """A public key (Ed25519, base64url) for a tenant's QR codes. The newest signs.

    The private key is derived from the SECRET_KEY with the id `secret_key_id`.
    """

    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    number = IntegerField()
    public_key = TextField()
    secret_key_id = TextField()
    created_at = UtcDateTimeField()

    class Meta:
        table_name = "ticket_keys"
        primary_key = CompositeKey("tenant", "number")


class EventDoor(BaseModel):
    """What all manifests of one event share.

    `salt` is that of the code digests. `last_change` is the newest change number of its admissions.
    """

    event = ForeignKeyField(Event, primary_key=True)
    event_id: str
    salt = TextField(default=new_salt)
    last_change = BigIntegerField(default=0)

    class Meta:
        table_name = "event_doors"


class DoorDevice(BaseModel):
    """A phone or scanner that checks the admissions of one event.

    Only digests of the pairing code and of the token are stored. The pairing code works once.
    `unsynced` is how many scans the device had not sent, as of `last_seen_at`. `scans` is how many
    rows of scans it has stored. `by_id_scans` is how many admissions it has named by id only, in
    the minute `by_id_minute` since 1970.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    event = ForeignKeyField(Event)
    event_id: str
    member_id = TextField(null=True)
    name = TextField()
    gate = TextField(null=True)
    sells = BooleanField(default=False)
    show_names = BooleanField()
    created_at = UtcDateTimeField()
    expires_at = UtcDateTimeField()
    pairing_digest = TextField(null=True, unique=True)
    pairing_expires_at = UtcDateTimeField()
    paired_at = UtcDateTimeField(null=True)
    token_digest = TextField(null=True)
    token_digest_key = TextField(null=True)
    last_seen_at = UtcDateTimeField(null=True)
    unsynced = IntegerField(null=True)
    scans = IntegerField(default=0)
    by_id_minute = BigIntegerField(default=0)
    by_id_scans = IntegerField(default=0)
    revoked_at = UtcDateTimeField(null=True)

    # No columns: secrets, only on an instance for which they were just created.
    pairing_code: str
    pairing_url: str | None
    token: str

    # No column: what services.door.devices.revoke has undone.
    undone: int = 0

    class Meta:
        table_name = "door_devices"

    @property
    def status(self) -> DeviceStatus:
        """The current status."""
        if self.revoked_at is not None:
            return DeviceStatus.REVOKED
        if self.expires_at <= clock.now():
            return DeviceStatus.EXPIRED
        return DeviceStatus.UNPAIRED if self.paired_at is None else DeviceStatus.PAIRED


SCANNED_TYPE = (TicketType.id, TicketType.name, TicketType.admission)
"""What a query of scans must read of the ticket type of their admissions."""


class Scanned(NamedTuple):
    """The admission of a scan, with the generation that was presented.

    `hand_out`: it lets nobody in, but is handed out.
    """

    id: str
    generation: int
    ticket_type_id: str
    ticket_name: str
    hand_out: bool


class Scan(BaseModel):
    """One scan of an admission at the door, or the undo of one. Rows are never changed.

    `credential` is the id of the device or key that sent it, and `nonce` is its own. `verdict` is
    what was found. `outcome` is the answer: a conflict if the device had `decided` to admit and the
    verdict is against it. `device_at` is the device's clock, `scanned_at` the same, corrected.
    `first_at` and `first_gate` are those of the scan that let the holder in. `undoes` is the scan
    that an undo took back.
    """

    id = TextField(primary_key=True)
    event = ForeignKeyField(Event)
    event_id: str
    credential = TextField()
    nonce = TextField()
    kind = TextField()
    content_digest = TextField()
    admission = ForeignKeyField(Admission, null=True)
    admission_id: str | None
    generation = IntegerField(null=True)
    verdict = TextField()
    outcome = TextField()
    decided = TextField(null=True)
    undoes = ForeignKeyField("self", column_name="undoes", null=True)
    gate = TextField(null=True)
    device_at = UtcDateTimeField()
    scanned_at = UtcDateTimeField()
    received_at = UtcDateTimeField()
    first_at = UtcDateTimeField(null=True)
    first_gate = TextField(null=True)

    class Meta:
        table_name = "scans"
        indexes = ((("event", "nonce", "credential"), True),)

    @property
    def scanned(self) -> Scanned | None:
        """The admission, on an instance that was read with it. None if it is unknown."""
        admission = self.admission
        if admission is None or self.admission_id is None or self.generation is None:
            return None
        ticket_type = admission.ticket_type
        return Scanned(
            self.admission_id,
            self.generation,
            admission.ticket_type_id,
            ticket_type.name,
            not ticket_type.admission,
        )
