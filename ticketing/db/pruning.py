"""Delete old rows, some at a time, so that no statement holds locks for long."""

from __future__ import annotations

from typing import Any

from peewee import Expression, Field

AT_ONCE = 1000
"""How many rows one call deletes at most. Housekeeping calls again some seconds later."""


def delete_some(
    key: Field[Any],
    is_old: Expression,
    *,
    first: Field[Any] | None = None,
    at_once: int | None = None,
) -> int:
    """Delete some rows of a table for which `is_old` is true. Return how many.

    `key` is the table's primary key. Rows with the lowest `first` go first, else any. `at_once`
    is the most rows, AT_ONCE if None.
    """
    table = key.model
    old = table.select(key).where(is_old)
    if first is not None:
        old = old.order_by(first)
    # Check the condition again, in case a row was used in the meantime.
    deleted = table.delete().where(key.in_(old.limit(at_once or AT_ONCE)), is_old)
    return int(deleted.execute())
