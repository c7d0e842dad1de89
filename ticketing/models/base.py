"""What every model shares: the database, and columns that are the same on SQLite and Postgres."""

from datetime import UTC, datetime

from peewee import SQL, AnyField, Model

from ticketing.db.connection import database


class UtcDateTimeField(AnyField):
    """An instant. Takes only aware values, stores UTC, gives back aware UTC.

    On SQLite it is text of fixed width, so that text order is time order.
    """

    field_type = "TIMESTAMPTZ"

    def db_value(self, value: datetime | None) -> str | None:
        """Write an aware datetime. ValueError for a naive one."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a datetime without a time zone")
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

    def python_value(self, value: str | datetime | None) -> datetime | None:
        """Read what either database gives back."""
        if value is None:
            return None
        instant = datetime.fromisoformat(value) if isinstance(value, str) else value
        return instant.astimezone(UTC)


def literal(constant: str | int) -> SQL:
    """Write a constant of ours into the statement itself.

    An index on some rows alone is used where the statement says that it wants no others: a
    parameter says so too late.
    """
    return SQL(f"'{constant}'" if isinstance(constant, str) else str(constant))


class BaseModel(Model):
    """A table of this service."""

    class Meta:
        database = database
        legacy_table_names = False
