"""Door devices: pair them, list them, revoke them, and recognize their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import Case, ModelSelect, fn

from ticketing import clock, credentials, ids
from ticketing.config import Config
from ticketing.constants import EVENT_WITHOUT_END, Publication
from ticketing.credentials import Keyring
from ticketing.db.connection import write_transaction
from ticketing.errors import (
    FieldMessage,
    Invalid,
    InvalidCredentials,
    LimitedToEvents,
    NotFound,
    TooManyRequests,
    TooManyScans,
    Unauthenticated,
)
from ticketing.models.admissions import Admission
from ticketing.models.door import DoorDevice
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.roles import SCANNING, Role
from ticketing.scanning import (
    BY_ID_PER_MINUTE,
    DEVICE_AFTER_END,
    PAIRING_CODE_LIVES,
    SCANS_BEYOND_ADMISSIONS,
    SEEN_EVERY,
)
from ticketing.services.access import members
from ticketing.services.access.callers import Caller
from ticketing.services.door import undoing
from ticketing.services.notifications import facts, feed
from ticketing.services.pagination import Page, PageRequest, paginate

PAIRING_PATH = "/door/#"
MOST_TO_SCAN = 50
_MINUTE = 60

# Not the description, which can be long: each scan reads these.
EVENT_COLUMNS = (
    Event.id,
    Event.tenant,
    Event.title,
    Event.venue,
    Event.start_at,
    Event.end_at,
    Event.timezone,
    Event.doors_open_at,
    Event.order_questions,
    Event.attendee_questions,
    Event.status,
    Event.created_at,
)


_DEVICE_COLUMNS = (
    DoorDevice.id,
    DoorDevice.tenant,
    DoorDevice.event,
    DoorDevice.gate,
    DoorDevice.show_names,
    DoorDevice.sells,
    DoorDevice.paired_at,
    DoorDevice.token_digest,
    DoorDevice.last_seen_at,
    DoorDevice.unsynced,
)


@dataclass(frozen=True)
class DoorCaller:
    """The caller of a door's surface: a device of the event, or a credential (`device` None)."""

    credential_id: str
    event: Event
    device: DoorDevice | None

    @property
    def gate(self) -> str | None:
        """The gate of the device."""
        return self.device.gate if self.device else None

    @property
    def sees_names(self) -> bool:
        """Whether it may read the holders' names."""
        return self.device is None or bool(self.device.show_names)

    @property
    def since(self) -> datetime:
        """Before this time it cannot have scanned anything."""
        device = self.device
        start: datetime = (device and device.paired_at) or self.event.created_at
        return start


@Prepared
def _event(tenant_id: Any, event_id: Any) -> ModelSelect[Event]:
    return Event.select(*EVENT_COLUMNS).where(Event.tenant == tenant_id, Event.id == event_id)


@Prepared
def _live_device(device_id: Any, now: Any) -> ModelSelect[DoorDevice]:
    return (
        DoorDevice.select(*_DEVICE_COLUMNS, Tenant.id, Tenant.slug, *EVENT_COLUMNS)
        .join(Tenant)
        .switch(DoorDevice)
        .join(Event)
        .where(
            DoorDevice.id == device_id,
            DoorDevice.revoked_at.is_null(),
            DoorDevice.expires_at > now,
        )
    )


@Prepared
def _count(device_id: Any, new: Any, by_id: Any, minute: Any) -> Any:
    same = DoorDevice.by_id_minute == minute
    return (
        DoorDevice.update(
            scans=DoorDevice.scans + new,
            by_id_scans=Case(None, [(same, DoorDevice.by_id_scans + by_id)], by_id),
            by_id_minute=minute,
        )
        .where(DoorDevice.id == device_id, DoorDevice.revoked_at.is_null())
        .returning(DoorDevice.scans, DoorDevice.by_id_scans)
    )


def create(
    tenant_id: str,
    event_id: str,
    *,
    name: str,
    gate: str | None,
    show_names: bool,
    expires_at: datetime | None,
    config: Config,
    sells: bool = False,
    member_id: str | None = None,
) -> DoorDevice:
    """Create a device with its `pairing_code` and `pairing_url`. Only digests are stored.

    `expires_at` None: a day after the event's end, or after now if the event is over. `member_id`:
    it ends when this member may no longer scan. `sells`: it may sell at the door. NotFound;
    Invalid if `expires_at` has passed.
    """
    event, now = _find_event(tenant_id, event_id), clock.now()
    if expires_at is None:
        ends = event.end_at or event.start_at + EVENT_WITHOUT_END
        expires_at = max(ends, now) + DEVICE_AFTER_END
    elif expires_at <= now:
        raise Invalid({"expires_at": [FieldMessage("past", "Must be in the future.")]})
    code = credentials.new_pairing_code()
    device = DoorDevice.create(
        id=ids.new(ids.DOOR_DEVICE),
        tenant=tenant_id,
        event=event_id,
        member_id=member_id,
        name=name,
        gate=gate,
        show_names=show_names,
        sells=sells,
        created_at=now,
        expires_at=expires_at,
        pairing_digest=credentials.pairing_digest(config.keyring.current, code),
        pairing_expires_at=now + PAIRING_CODE_LIVES,
    )
    device.pairing_code = code
    device.pairing_url = config.public_url and config.public_url + PAIRING_PATH + code
    return device


def create_own(caller: Caller, event_id: str, name: str, config: Config) -> DoorDevice:
    """Create a device for the member who calls, with the search by name. See `create`.

    Unauthenticated or LimitedToEvents if the member may no longer scan there.
    """
    with members.changing(caller.tenant_id):
        # Who changes the member waits for this, and then ends the device.
        member = members.get(caller.tenant_id, caller.credential_id)
        if member.disabled_at is not None or not Role(member.role).holds(*SCANNING):
            raise Unauthenticated
        if member.event_ids is not None and event_id not in member.event_ids:
            raise LimitedToEvents
        return create(
            caller.tenant_id,
            event_id,
            name=name,
            gate=None,
            show_names=True,
            expires_at=None,
            config=config,
            member_id=member.id,
        )


def to_scan(caller: Caller) -> Sequence[Event]:
    """Return the published events at which a caller may scan, and that are not long over."""
    began_after = clock.now() - DEVICE_AFTER_END
    end = fn.COALESCE(Event.end_at, Event.start_at)
    found = Event.select(*EVENT_COLUMNS).where(
        Event.tenant == caller.tenant_id,
        Event.status == Publication.PUBLISHED,
        end > began_after,
    )
    if caller.event_ids is not None:
        found = found.where(Event.id.in_(list(caller.event_ids)))
    return list(found.order_by(Event.start_at, Event.id).limit(MOST_TO_SCAN))


def list_page(tenant_id: str, event_id: str, page: PageRequest) -> Page[DoorDevice]:
    """Return a page of an event's devices, the oldest first. NotFound."""
    _find_event(tenant_id, event_id)
    query = DoorDevice.select().where(DoorDevice.event == event_id)
    return paginate(query, [DoorDevice.id], page, scope=f"door_devices {tenant_id} {event_id}")


def get(tenant_id: str, event_id: str, device_id: str) -> DoorDevice:
    """Return one device of an event. NotFound."""
    device = DoorDevice.get_or_none(
        DoorDevice.id == device_id,
        DoorDevice.event == event_id,
        DoorDevice.tenant == tenant_id,
    )
    if device is None:
        raise NotFound("This door device does not exist.")
    return device


def revoke(
    tenant_id: str,
    event_id: str,
    device_id: str,
    *,
    undo_since: datetime | None = None,
    by: str,
) -> DoorDevice:
    """Revoke a device: its token and pairing code end at once. A repeat changes nothing. NotFound.

    Its scans stay. `undo_since`: those that let somebody in and that the server received since then
    are undone in the same transaction; `undone` of the device is how many. `by` is the credential.
    """
    device = get(tenant_id, event_id, device_id)
    with write_transaction():
        # A request of the device that is running ends before this, or finds it revoked.
        DoorDevice.update(
            revoked_at=fn.COALESCE(DoorDevice.revoked_at, clock.now()), pairing_digest=None
        ).where(DoorDevice.id == device.id).execute()
        undone = 0 if undo_since is None else undoing.undo_device(device, undo_since, by=by)
    device = get(tenant_id, event_id, device_id)
    device.undone = undone
    return device


def count_scans(device: DoorDevice, new: int, by_id: int) -> None:
    """Count the new rows that a device is about to store, in their transaction.

    `by_id`: how many of them name an admission by id only. TooManyScans beyond what its event can
    need. TooManyRequests beyond BY_ID_PER_MINUTE. Unauthenticated if it was revoked.
    """
    seconds = int(clock.now().timestamp())
    minute, second = divmod(seconds, _MINUTE)
    counted = _count.tuples(device_id=device.id, new=new, by_id=by_id, minute=minute)
    if not counted:
        raise Unauthenticated
    ((scans, by_id_scans),) = counted
    if by_id and by_id_scans > BY_ID_PER_MINUTE:
        raise TooManyRequests(retry_after=_MINUTE - second)
    if scans > SCANS_BEYOND_ADMISSIONS:
        admissions = Admission.select().where(Admission.event == device.event_id).count()
        if scans > SCANS_BEYOND_ADMISSIONS + admissions:
            raise TooManyScans


def pair(code: str, keyring: Keyring) -> DoorDevice:
    """Return the device with this pairing code, with a new `token`. The code works once.

    InvalidCredentials for an unknown, used or expired code, without a reason.
    """
    code, now = ids.typed(code), clock.now()
    digests = [credentials.pairing_digest(key, code) for key in keyring.accepted]
    with write_transaction():
        device = DoorDevice.get_or_none(DoorDevice.pairing_digest.in_(digests))
        if device is None:
            raise InvalidCredentials
        token = credentials.new_door_token(device.id)
        is_paired = (
            DoorDevice.update(
                pairing_digest=None,
                paired_at=now,
                token_digest=credentials.door_token_digest(keyring.current, token),
                token_digest_key=credentials.secret_key_id(keyring.current),
            )
            .where(
                DoorDevice.id == device.id,
                DoorDevice.pairing_digest == device.pairing_digest,
                DoorDevice.pairing_expires_at > now,
                DoorDevice.expires_at > now,
                DoorDevice.revoked_at.is_null(),
            )
            .execute()
        )
        if not is_paired:
            raise InvalidCredentials
        feed.record(device.tenant_id, *facts.door_device_paired(device))
    device.token = token
    return device


def of_token(token: str, keyring: Keyring) -> DoorDevice:
    """Return the device with this token, with its tenant and event. Unauthenticated."""
    device = _live_device.first(device_id=credentials.door_token_id(token), now=clock.now())
    digests = [credentials.door_token_digest(key, token) for key in keyring.accepted]
    stored = (device and device.token_digest) or credentials.NOBODYS_DIGEST
    if not credentials.same_as_any(stored, digests) or device is None:
        raise Unauthenticated
    if not credentials.same(stored, digests[0]):
        # So that the previous SECRET_KEY can go.
        current = credentials.secret_key_id(keyring.current)
        same = (DoorDevice.id == device.id) & (DoorDevice.token_digest == device.token_digest)
        columns = {"token_digest": digests[0], "token_digest_key": current}
        DoorDevice.update(columns).where(same).execute()
    return device


def caller_of(device: DoorDevice) -> DoorCaller:
    """Return a device as a caller."""
    return DoorCaller(device.id, device.event, device)


def organizer(caller: Caller, event_id: str) -> DoorCaller:
    """Return an organizer's credential as a caller at one event. NotFound."""
    return DoorCaller(caller.credential_id, _find_event(caller.tenant_id, event_id), None)


def record_seen(caller: DoorCaller, unsynced: int | None) -> None:
    """Record when the device was last seen, at most once a minute, and its unsent scans.

    `unsynced` None: the device did not say.
    """
    device = caller.device
    if device is None:
        return
    is_stored = unsynced is None or unsynced == device.unsynced
    if is_stored and clock.is_within(SEEN_EVERY, device.last_seen_at):
        return
    changes: dict[Any, Any] = {DoorDevice.last_seen_at: clock.now()}
    if unsynced is not None:
        changes[DoorDevice.unsynced] = unsynced
    DoorDevice.update(changes).where(DoorDevice.id == device.id).execute()


def _find_event(tenant_id: str, event_id: str) -> Event:
    event = _event.first(tenant_id=tenant_id, event_id=event_id)
    if event is None:
        raise NotFound("This event does not exist.")
    return event
