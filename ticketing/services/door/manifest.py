"""The manifest: what a device must know to check an event's admissions offline, or what changed."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import ModelSelect

from ticketing import clock
from ticketing.config import Config
from ticketing.db.connection import write_transaction
from ticketing.errors import Invalid
from ticketing.models.admissions import Admission
from ticketing.models.door import EventDoor, new_salt
from ticketing.models.prepared import Prepared
from ticketing.models.questions import Question
from ticketing.services.catalog import ticket_types
from ticketing.services.door import ticket_signing
from ticketing.services.door.devices import DoorCaller
from ticketing.services.orders import answers, questions
from ticketing.services.pagination import seal, unseal
from ticketing.services.sequencing import Sequencer

_DIGEST_BYTES = 16
_ROWS_AT_ONCE = 1000
_GZIP_LEVEL = 5
_GZIP_FORMAT = zlib.MAX_WBITS | 16

_COLUMNS = (
    Admission.id,
    Admission.generation,
    Admission.status,
    Admission.ticket_type,
    Admission.redeemed_at,
    Admission.code,
    Admission.qr,
    Admission.holder_name,
    Admission.returned_at,
)

# A change sets the admission's change number to NULL, in its own transaction. Most admissions of
# all events have no number: with this order, Postgres uses the index on both columns.
_changes: Sequencer[EventDoor] = Sequencer(
    Admission.change_number,
    owner=Admission.event,
    order=Admission.change_number,
    last=EventDoor.last_change,
)


@Prepared
def _door(event_id: Any) -> ModelSelect[EventDoor]:
    return EventDoor.select().where(EventDoor.event == event_id)


@Prepared
def _all(event_id: Any) -> ModelSelect[Admission]:
    return Admission.select(*_COLUMNS).where(Admission.event == event_id)


@Prepared
def _changed(event_id: Any, since: Any) -> ModelSelect[Admission]:
    return Admission.select(*_COLUMNS).where(
        Admission.event == event_id, Admission.change_number > since
    )


@Prepared
def _unnumbered(event_id: Any) -> ModelSelect[Admission]:
    unnumbered = Admission.change_number.is_null()
    return Admission.select(*_COLUMNS).where(Admission.event == event_id, unnumbered)


@dataclass(frozen=True)
class Manifest:
    """A manifest whose admissions are not read yet.

    `tag` changes with the content. None: another transaction is changing admissions right now.
    `at_door` are the questions whose answers are shown.
    """

    tag: str | None
    head: dict[str, Any]
    read: Callable[[], Sequence[Any]]
    salt: bytes
    shows_names: bool
    at_door: Sequence[Question] = ()

    def body(self, *, compressed: bool) -> bytes:
        """Read the admissions, and return the manifest as JSON, or as JSON in gzip format."""
        pieces = self._pieces()
        if not compressed:
            return b"".join(pieces)
        stream = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)
        return b"".join([*(stream.compress(piece) for piece in pieces), stream.flush()])

    def _pieces(self) -> Iterator[bytes]:
        yield _json(self.head)[:-1] + b',"admissions":['
        event_id = self.head["event"]["id"]
        given = answers.at_door(event_id, self.at_door) if self.at_door else {}
        rows = self.read()
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            few = rows[start : start + _ROWS_AT_ONCE]
            admissions = [self._admission(given.get(row[0], {}), *row) for row in few]
            yield (b"," if start else b"") + _json(admissions)[1:-1]
        yield b"]}"

    def _admission(
        self,
        given: Mapping[str, str],
        admission_id: str,
        generation: int,
        status: str,
        ticket_type_id: str,
        redeemed_at: datetime | str | None,
        code: str,
        qr: str | None,
        holder_name: str | None,
        returned_at: datetime | str | None,
    ) -> dict[str, Any]:
        admission = {
            "id": admission_id,
            "generation": generation,
            "status": status,
            "ticket_id": ticket_type_id,
            "redeemed_at": _instant(redeemed_at),
            "code_digest": self._digest(code),
            "qr_digest": qr and self._digest(qr),
            "returned": returned_at is not None,
        }
        if not self.shows_names:
            return admission
        return {**admission, "holder_name": holder_name, "answers": given}

    def _digest(self, text: str) -> str:
        digest = hashlib.sha256(self.salt + text.encode()).digest()[:_DIGEST_BYTES]
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def of(caller: DoorCaller, since: str | None, config: Config) -> Manifest:
    """Return the manifest of an event, or what changed since a cursor. Invalid for the cursor."""
    event = caller.event
    keys = ticket_signing.keys_of(event.tenant_id, config.keyring)
    _changes.number_all(event.id)
    door = _find_door(event.id)
    # Incomplete: another transaction is changing an admission again, so its row is locked.
    is_complete = _changes.is_complete(event.id)
    # The version ends cursors of devices whose copy has no digests of QR codes.
    scope = f"manifest 2 {event.id} {door.salt}"
    after = None if since is None else _after(since, scope, door.last_change, config)
    at_door = questions.at_door(event) if caller.sees_names else []
    head = {
        "cursor": seal([door.last_change], scope, config.keyring.current),
        "keys": ticket_signing.jwks(keys),
        "event": _event(caller, door.salt, at_door),
    }
    tag = None
    if is_complete:
        content = _json([head, after, caller.sees_names])
        tag = hashlib.sha256(content).hexdigest()[:32]

    def read() -> Sequence[Any]:
        if after is None:
            return _all.tuples(event_id=event.id)
        rows = _changed.tuples(event_id=event.id, since=after)
        # What could not be numbered yet is shown now and again later: better twice than too late.
        return rows if is_complete else rows + _unnumbered.tuples(event_id=event.id)

    return Manifest(tag, head, read, door.salt.encode(), caller.sees_names, at_door)


def start_over() -> None:
    """End the cursors of all manifests, so that every device reads a whole one.

    After a restore, a device may know newer changes than the database.
    """
    for door in list(EventDoor.select(EventDoor.event)):
        EventDoor.update(salt=new_salt()).where(EventDoor.event == door.event_id).execute()


def _find_door(event_id: str) -> EventDoor:
    """Return what all manifests of the event share. Create it for an event without admissions."""
    door = _door.first(event_id=event_id)
    if door is None:
        with write_transaction():
            door = _changes.lock(event_id)
    return door


def _after(since: str, scope: str, last: int, config: Config) -> int:
    """Return the number inside a cursor. Invalid for a cursor of another event or database."""
    values = unseal(since, scope, config.keyring)
    if values is None or values[0] > last:
        raise Invalid({"since": ["Must be a cursor of this event's manifest."]})
    return int(values[0])


def _event(caller: DoorCaller, salt: str, at_door: Sequence[Question]) -> dict[str, Any]:
    event = caller.event
    return {
        "id": event.id,
        "title": event.title,
        "venue": event.venue,
        "timezone": event.timezone,
        "start_at": _instant(event.start_at),
        "end_at": _instant(event.end_at),
        "doors_open_at": _instant(event.doors_open),
        "status": event.status,
        "code_salt": salt,
        "ticket_types": [
            {"id": type.id, "name": type.name, "admission": type.admission}
            for type in ticket_types.names(event.id)
        ],
        "questions": [
            {
                "id": each.id,
                "question": each.question,
                "options": [{"id": one.id, "label": one.label} for one in each.options],
            }
            for each in at_door
        ],
    }


def _instant(value: datetime | str | None) -> str | None:
    """Return a time as the API writes it. SQLite's rows have it already as text."""
    if value is None or isinstance(value, str):
        return value
    return clock.rfc3339(value)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
