"""Whether devices at the door may know of scans that the service does not know yet."""

from peewee import Expression

from ticketing import clock
from ticketing.models.door import DoorDevice
from ticketing.models.events import Event
from ticketing.scanning import DEVICE_SILENT_AFTER, SEEN_EVERY


def has_unsynced(event: Event) -> bool:
    """Return whether a device has said that it has scans to send."""
    return _has_device(event, DoorDevice.unsynced > 0)


def has_silent(event: Event) -> bool:
    """Return whether a device may let people in at the moment without our knowing.

    It worked after the doors opened, or has scanned, and then went silent. It cannot say that it
    is offline. After its `expires_at` it lets nobody in.
    """
    now = clock.now()
    works = (DoorDevice.last_seen_at >= event.doors_open - SEEN_EVERY) | (DoorDevice.scans > 0)
    is_silent = DoorDevice.last_seen_at < now - DEVICE_SILENT_AFTER
    return _has_device(event, works & is_silent & (DoorDevice.expires_at > now))


def _has_device(event: Event, condition: Expression) -> bool:
    exists: bool = (
        DoorDevice.select()
        .where(
            DoorDevice.event == event,
            DoorDevice.paired_at.is_null(False),
            DoorDevice.revoked_at.is_null(),
            condition,
        )
        .exists()
    )
    return exists
