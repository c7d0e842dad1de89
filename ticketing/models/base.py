"""The base class of all models, and columns that behave the same on SQLite and Postgres."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from peewee import SQL, AnyField, Expression, Field, Model

from ticketing.db.connection import database, is_sqlite


class UtcDateTimeField(AnyField):
    """A time. It accepts only aware values, stores UTC, and returns aware UTC.

    On SQLite it is text of a fixed width, so that text order equals time order.
    """

    field_type = "TIMESTAMPTZ"

    def db_value(self, value: datetime | None) -> str | None:
        """Convert an aware datetime for the database. ValueError for a naive one."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a datetime without a time zone")
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

    def python_value(self, value: str | datetime | None) -> datetime | None:
        """Convert a value from either database."""
        if value is None:
            return None
        instant = datetime.fromisoformat(value) if isinstance(value, str) else value
        return instant.astimezone(UTC)


def literal(constant: str | int) -> SQL:
    """Return SQL with the constant itself instead of a parameter.

    The planner uses a partial index only if the statement contains the index's condition. A
    parameter has no value yet at that time.
    """
    return SQL(f"'{constant}'" if isinstance(constant, str) else str(constant))


def holds_text(column: Field[Any], text: str) -> Expression:
    """Return the condition that a column contains a text, ASCII letters in any case."""
    # SQLite ignores the case of ASCII letters only. In this collation, Postgres does the same.
    compared = column if is_sqlite() else column.collate('"C"')
    found: Expression = compared.contains(text)
    return found


def all_but(*left_out: Field[Any]) -> tuple[Field[Any], ...]:
    """Return the columns of a model without some of them. A new column is among them at once."""
    names = {column.name for column in left_out}
    columns = left_out[0].model._meta.sorted_fields
    return tuple(column for column in columns if column.name not in names)


class BaseModel(Model):
    """A table of this service."""

    class Meta:
        database = database
        legacy_table_names = False
