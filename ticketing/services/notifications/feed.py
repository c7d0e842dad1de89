"""Record facts as notifications, in the transaction that makes them true.

A row is inserted without its place in the feed. It gets that after the commit: see sequencing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, islice

from ticketing import clock, ids
from ticketing.db.connection import database
from ticketing.models.base import UtcDateTimeField
from ticketing.notification_types import NotificationType
from ticketing.services.notifications.facts import Data, Fact

_AT_ONCE = 500
"""How many rows one statement inserts."""

_COLUMNS = ("id", "tenant_id", "type", "created_at", "data", "intent_id")
_to_column = UtcDateTimeField().db_value
_to_json = json.JSONEncoder(separators=(",", ":")).encode


def record(tenant_id: str, type: NotificationType, data: Data) -> str:
    """Record one fact. Return the notification's id."""
    (notification_id,) = record_all(tenant_id, [(type, data)])
    return notification_id


def record_all(tenant_id: str, facts: Iterable[Fact]) -> list[str]:
    """Record facts in their order. Return the notifications' ids."""
    given, recorded = iter(facts), []
    while some := list(islice(given, _AT_ONCE)):
        now = _to_column(clock.now())
        rows = [
            (
                ids.new(ids.NOTIFICATION),
                tenant_id,
                type.value,
                now,
                _to_json(data),
                data.get("intent_id"),
            )
            for type, data in some
        ]
        database.execute_sql(_statement(database.param, len(rows)), list(chain(*rows)))
        recorded += [notification_id for notification_id, *_ in rows]
    return recorded


@lru_cache(_AT_ONCE)
def _statement(parameter: str, rows: int) -> str:
    """Return the INSERT of some rows. To build it costs more than to look it up."""
    row = f"({', '.join([parameter] * len(_COLUMNS))})"
    columns = ", ".join(f'"{column}"' for column in _COLUMNS)
    return f'INSERT INTO "notifications" ({columns}) VALUES {", ".join([row] * rows)}'
