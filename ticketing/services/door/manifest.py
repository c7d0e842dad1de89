"""The manifest: what a device must know to check an event's admissions offline, or what changed."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import ModelSelect

from ticketing import clock
from ticketing.config import Config
from ticketing.errors import Invalid
from ticketing.models.admissions import Admission
from ticketing.models.prepared import Prepared
from ticketing.services.catalog import ticket_types
from ticketing.services.door import changes, ticket_signing
from ticketing.services.door.devices import DoorCaller
from ticketing.services.pagination import seal, unseal

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
    Admission.holder_name,
)


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
    """

    tag: str | None
    head: dict[str, Any]
    read: Callable[[], Sequence[Any]]
    salt: bytes
    shows_names: bool

    def body(self, *, compressed: bool) -> bytes:
        """Read the admissions, and return the manifest as JSON, or as JSON in gzip format."""
        pieces = self._pieces()
        if not compressed:
            return b"".join(pieces)
        stream = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)
        return b"".join([*(stream.compress(piece) for piece in pieces), stream.flush()])

    def _pieces(self) -> Iterator[bytes]:
        yield _json(self.head)[:-1] + b',"admissions":['
        rows = self.read()
        for place in range(0, len(rows), _ROWS_AT_ONCE):
            shown = [self._admission(*row) for row in rows[place : place + _ROWS_AT_ONCE]]
            yield (b"," if place else b"") + _json(shown)[1:-1]
        yield b"]}"

    def _admission(
        self,
        admission_id: str,
        generation: int,
        status: str,
        ticket_type_id: str,
        redeemed_at: datetime | str | None,
        code: str,
        holder_name: str | None,
    ) -> dict[str, Any]:
        digest = hashlib.sha256(self.salt + code.encode()).digest()[:_DIGEST_BYTES]
        shown = {
            "id": admission_id,
            "generation": generation,
            "status": status,
            "ticket_id": ticket_type_id,
            "redeemed_at": _instant(redeemed_at),
            "code_digest": base64.urlsafe_b64encode(digest).decode().rstrip("="),
        }
        return {**shown, "holder_name": holder_name} if self.shows_names else shown


def of(caller: DoorCaller, since: str | None, config: Config) -> Manifest:
    """Return the manifest of an event, or what changed since a cursor. Invalid for the cursor."""
    event = caller.event
    keys = ticket_signing.keys_of(event.tenant_id, config.keyring)
    numbered = changes.number(event.id)
    scope = f"manifest {event.id} {numbered.salt}"
    after = None if since is None else _after(since, scope, numbered.last, config)
    head = {
        "cursor": seal([numbered.last], scope, config.keyring.current),
        "keys": ticket_signing.jwks(keys),
        "event": _event(caller, numbered.salt),
    }
    tag = None
    if numbered.is_complete:
        described = _json([head, after, caller.sees_names])
        tag = hashlib.sha256(described).hexdigest()[:32]

    def read() -> Sequence[Any]:
        if after is None:
            return _all.tuples(event_id=event.id)
        rows = _changed.tuples(event_id=event.id, since=after)
        # What could not be numbered yet is shown now and again later: better twice than too late.
        return rows if numbered.is_complete else rows + _unnumbered.tuples(event_id=event.id)

    return Manifest(tag, head, read, numbered.salt.encode(), caller.sees_names)


def _after(since: str, scope: str, last: int, config: Config) -> int:
    """Return the number inside a cursor. Invalid for a cursor of another event or database."""
    values = unseal(since, scope, config.keyring)
    if values is None or values[0] > last:
        raise Invalid({"since": ["Must be a cursor of this event's manifest."]})
    return int(values[0])


def _event(caller: DoorCaller, salt: str) -> dict[str, Any]:
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
            {"id": each.id, "name": each.name} for each in ticket_types.names(event.id)
        ],
    }


def _instant(value: datetime | str | None) -> str | None:
    """Return a time as the API writes it. SQLite's rows have it already as text."""
    if value is None or isinstance(value, str):
        return value
    return clock.rfc3339(value)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
