"""Queries that requests run most, built once: to write their SQL costs more than to run them."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, TypeVar

from peewee import Database, Model, Value

from ticketing.db import database
from ticketing.models.base import UtcDateTimeField

M = TypeVar("M", bound=Model)

_instant = UtcDateTimeField().db_value


class _Slot(str):
    """Stands among a query's parameters for a value that each call gives."""


class Prepared(Generic[M]):
    """A query of one model. Its values are given at each call, by the names of its parameters.

    The SQL is kept for each kind of database.
    """

    def __init__(self, query: Callable[..., Any]) -> None:
        self._query = query
        self._names = query.__code__.co_varnames[: query.__code__.co_argcount]
        self._written: dict[type[Database], tuple[Any, str, list[Any]]] = {}
        self._reader: Any = None

    def rows(self, **values: Any) -> list[M]:
        """Return every row."""
        query, cursor = self._execute(values)
        found = cursor.fetchall()
        if found and self._reader is None:
            # What peewee finds out of the columns is the same for every answer.
            reader = query._get_cursor_wrapper(cursor)
            reader.initialize()
            self._reader = reader
        return [self._reader.process_row(row) for row in found]

    def first(self, **values: Any) -> M | None:
        """Return the first row, None if there is none."""
        return next(iter(self.rows(**values)), None)

    def run(self, **values: Any) -> int:
        """Return how many rows were written."""
        return int(self._execute(values)[1].rowcount)

    def _execute(self, values: dict[str, Any]) -> tuple[Any, Any]:
        written = self._written.get(type(database.obj))
        if written is None:
            query = self._query(*(Value(_Slot(name), False) for name in self._names))
            written = self._written[type(database.obj)] = (query, *query.sql())
        query, sql, slots = written
        given = [values[slot] if type(slot) is _Slot else slot for slot in slots]
        given = [_instant(value) if isinstance(value, datetime) else value for value in given]
        return query, database.execute_sql(sql, given)


def prepared_insert(model: type[M]) -> Callable[[M], None]:
    """Return what inserts an instance of `model`, all of its columns."""
    fields = model._meta.sorted_fields

    def query() -> Any:
        return model.insert({field: Value(_Slot(field.name), False) for field in fields})

    statement: Prepared[M] = Prepared(query)

    def insert(row: M) -> None:
        statement.run(**{each.name: each.db_value(row.__data__.get(each.name)) for each in fields})

    return insert
