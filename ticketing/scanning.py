"""What devices at the door send and are answered, their sizes and their time limits."""

from datetime import timedelta
from enum import StrEnum


class DeviceStatus(StrEnum):
    """The status of a door device."""

    UNPAIRED = "unpaired"
    PAIRED = "paired"
    EXPIRED = "expired"
    REVOKED = "revoked"


class ScanKind(StrEnum):
    """What a scan asks for."""

    REDEEM = "redeem"
    UNDO = "undo"


class Decision(StrEnum):
    """What a device decided by itself before it sent a scan.

    It sends only scans of people whom it let in: the server redeems what is sent.
    """

    ADMITTED = "admitted"


class ScanOutcome(StrEnum):
    """The answer to a scan.

    `conflict`: the device admitted the holder by itself, but the verdict is against it.
    """

    ADMITTED = "admitted"
    ALREADY_REDEEMED = "already_redeemed"
    SUSPENDED = "suspended"
    VOID = "void"
    SUPERSEDED = "superseded"
    WRONG_EVENT = "wrong_event"
    UNKNOWN = "unknown"
    NOT_OPEN = "not_open"
    UNDONE = "undone"
    NOTHING_TO_UNDO = "nothing_to_undo"
    NONCE_REUSED = "nonce_reused"
    CONFLICT = "conflict"
    RETURNED = "returned"


MAX_SCANS = 500
MAX_UNSYNCED = 1_000_000
MAX_SCANS_BODY_BYTES = 256 * 1024
"""For the scans that a door device sends at once after it was offline."""

DEVICE_AFTER_END = timedelta(days=1)
"""How long after the end of its event a door device works by default."""

PAIRING_CODE_LIVES = timedelta(minutes=10)

SEEN_EVERY = timedelta(minutes=1)
"""How often a door device is recorded as seen, at most."""

DEVICE_SILENT_AFTER = timedelta(minutes=2)
"""A door device that was not seen for so long may be offline, and have scans to send."""

BY_ID_PER_MINUTE = 60
"""Scans that a door device may send with an id only, which no secret of the ticket proves."""

SCANS_BEYOND_ADMISSIONS = 5000
"""Rows of scans that a door device may store beyond the number of its event's admissions."""

UNDO_WITHIN = timedelta(minutes=10)
"""How long after a scan its device can undo it."""
