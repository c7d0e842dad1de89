"""Schemas of door devices."""

from schemas.base import (
    BaseSchema,
    Bool,
    Choice,
    Instant,
    Moment,
    Number,
    String,
    Text,
    YesNo,
    an_id,
)
from schemas.checks import Length
from ticketing.scanning import DeviceStatus


class DoorDeviceCreateSchema(BaseSchema):
    """The request to create a door device for an event."""

    name = Text("Phone 3", required=True, validate=Length(1, 100))
    gate = Text(
        "North",
        "Where it stands. Each scan records it.",
        load_default=None,
        allow_none=True,
        validate=Length(1, 100),
    )
    show_names = Bool(False, "Whether the device may read the holders' names.", load_default=False)
    sells = Bool(
        False,
        "Whether it sells at the door. Its orders are confirmed as early as the organizer allows"
        " for any, although the doors are open: what the network undoes later is lost.",
        load_default=False,
    )
    expires_at = Instant(
        "Default: a day after the event's end. Must be in the future.",
        example="2099-12-02T21:00:00Z",
        load_default=None,
        allow_none=True,
    )


class DoorDeviceSchema(BaseSchema):
    """A door device without its secrets."""

    id = an_id("dev_")
    event_id = an_id("evt_")
    name = String("Phone 3")
    gate = String("North", nullable=True)
    show_names = YesNo()
    sells = YesNo()
    status = Choice(DeviceStatus)
    created_at = Moment()
    expires_at = Moment()
    paired_at = Moment(nullable=True)
    last_seen_at = Moment(nullable=True)
    unsynced = Number(0, "How many scans it had not sent when it was last seen.", nullable=True)
    scans = Number(0, "How many scans and undos of it are stored.")
    revoked_at = Moment(nullable=True)


class DoorDeviceRevokeSchema(BaseSchema):
    """What happens to the scans of a device that is revoked. Without a body, they stay."""

    MAY_BE_ABSENT = True

    undo_since = Instant(
        "All that it let in and that the server received since then is undone.",
        example="2026-12-01T20:10:00Z",
        load_default=None,
        allow_none=True,
    )


class RevokedDoorDeviceSchema(DoorDeviceSchema):
    """A door device that was revoked."""

    undone = Number(0, "How many of its scans this request has undone.")


class NewDoorDeviceSchema(DoorDeviceSchema):
    """A door device with its pairing code. Only the response that creates it contains the code."""

    pairing_code = String(
        "5m8r2t6w9y1a",
        "Works once, within 10 minutes. Null when an idempotent request is replayed.",
        nullable=True,
    )
    pairing_url = String(
        "https://tickets.example.org/door/#5m8r2t6w9y1a",
        "Opens the scanner on the device. Null without PUBLIC_URL.",
        nullable=True,
    )
    pairing_expires_at = Moment()


class PairSchema(BaseSchema):
    """The request to pair a door device."""

    pairing_code = Text(
        "5m8r2t6w9y1a",
        "Upper case, spaces and hyphens are accepted.",
        required=True,
        validate=Length(1, 40),
    )


class PairedDeviceSchema(BaseSchema):
    """A paired door device with its token. Only this response contains the token."""

    token = String(
        "door_01hq3v5m8r2t6w9y1a4c7e0g3j_3kq8n5v0x2z7b4d9f6h1j3m8p5r0t2w7y47c1e9g2",
        "Send it as `Authorization: Bearer <token>`.",
    )
    device_id = an_id("dev_", attribute="id")
    tenant_id = an_id("ten_")
    event_id = an_id("evt_")
    name = String("Phone 3")
    gate = String("North", nullable=True)
    show_names = YesNo()
    sells = YesNo()
    expires_at = Moment()
