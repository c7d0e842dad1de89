"""Numbers the changes of an event's admissions, so that a delta misses none.

A change sets the admission's change number to NULL, in its own transaction. Before a manifest is
read, all committed changes get numbers. So a change that is committed later always gets a larger
number than those that were read before.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from peewee import ModelSelect

from ticketing.db.connection import database, is_sqlite, locked, write_transaction
from ticketing.models.admissions import Admission
from ticketing.models.door import EventDoor
from ticketing.models.prepared import Prepared

_SALT_BYTES = 16

_NUMBER = """
    UPDATE admissions SET change_number = {0} + place
    FROM (
        SELECT id, row_number() OVER (ORDER BY id) AS place FROM (
            SELECT id FROM admissions WHERE event_id = {0} AND change_number IS NULL {1}
        ) AS changed
    ) AS numbered
    WHERE admissions.id = numbered.id
"""
# A locked row is being changed. It gets its number later, so a manifest waits for nobody.
_SKIP_LOCKED = "FOR NO KEY UPDATE SKIP LOCKED"


@dataclass(frozen=True)
class Numbered:
    """How far an event's changes are numbered.

    `is_complete`: no committed change is without a number. `salt` is that of the code digests.
    """

    salt: str
    last: int
    is_complete: bool


@Prepared
def _door(event_id: Any) -> ModelSelect[EventDoor]:
    return EventDoor.select().where(EventDoor.event == event_id)


@Prepared
def _lock_door(event_id: Any) -> ModelSelect[EventDoor]:
    return locked(EventDoor.select().where(EventDoor.event == event_id))


@Prepared
def _unnumbered(event_id: Any) -> ModelSelect[Admission]:
    unnumbered = Admission.select(Admission.id).where(
        Admission.event == event_id, Admission.change_number.is_null()
    )
    # Most admissions of all events have no number. With this order, Postgres uses the index.
    return unnumbered.order_by(Admission.change_number).limit(1)


def number(event_id: str) -> Numbered:
    """Number the committed changes of an event. Without new ones, this only reads."""
    door = _door.first(event_id=event_id)
    if door is None or _unnumbered.rows(event_id=event_id):
        door = _number(event_id)
        return Numbered(door.salt, door.last_change, not _unnumbered.rows(event_id=event_id))
    return Numbered(door.salt, door.last_change, True)


def start_over() -> int:
    """End the cursors of all manifests, so that every device reads a whole one. Return how many.

    After a restore, a device may know newer changes than the database.
    """
    doors = list(EventDoor.select(EventDoor.event))
    for door in doors:
        salt = secrets.token_hex(_SALT_BYTES)
        EventDoor.update(salt=salt).where(EventDoor.event == door.event_id).execute()
    return len(doors)


def _number(event_id: str) -> EventDoor:
    with write_transaction():
        EventDoor.insert(
            event=event_id, salt=secrets.token_hex(_SALT_BYTES), last_change=0
        ).on_conflict_ignore().as_rowcount().execute()
        door = _lock_door.first(event_id=event_id)
        assert door is not None
        sql = _NUMBER.format(database.param, "" if is_sqlite() else _SKIP_LOCKED)
        numbered = database.execute_sql(sql, [door.last_change, event_id]).rowcount
        if numbered:
            door.last_change += numbered
            (
                EventDoor.update(last_change=door.last_change)
                .where(EventDoor.event == event_id)
                .execute()
            )
    return door
