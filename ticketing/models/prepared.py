"""Queries that requests run most, built once: to write their SQL costs more than to run them."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from peewee import (
    BigIntegerField,
    Database,
    ForeignKeyField,
    IntegerField,
    Model,
    ModelCursorWrapper,
    ModelObjectCursorWrapper,
    TextField,
    Value,
)

from ticketing.db.connection import database
from ticketing.models.base import UtcDateTimeField

M = TypeVar("M", bound=Model)

_OF_MODELS = (ModelObjectCursorWrapper, ModelCursorWrapper)
"""What peewee reads models with, alone and joined."""

_AS_THEY_COME = (TextField, IntegerField, BigIntegerField, ForeignKeyField)
"""Both drivers give these as they are to be; our foreign keys are all text."""

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
        self._make: Callable[[Sequence[Any]], M] | None = None

    def rows(self, **values: Any) -> list[M]:
        """Return every row."""
        query, cursor = self._execute(values)
        found = cursor.fetchall()
        if not found:
            return []
        if self._make is None:
            # What peewee finds out of the columns is the same for every answer.
            reader = query._get_cursor_wrapper(cursor)
            reader.initialize()
            self._make = _maker(reader)
        return [self._make(row) for row in found]

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


def _maker(reader: Any) -> Callable[[Sequence[Any]], Any]:
    """Return what makes an instance of a row, with those that it is joined to.

    Where a row is models and nothing besides, its values go where peewee keeps them, not through
    the descriptor of each field: half of what reading an event cost.
    """
    joins = getattr(reader, "src_to_dest", [])
    inner = all(is_fk and not is_outer for *_, is_outer, is_fk in joins)
    whole = type(reader) in _OF_MODELS and all(field is not None for field in reader.fields)
    if not (inner and whole):
        process: Callable[[Sequence[Any]], Any] = reader.process_row
        return process
    keys = getattr(reader, "column_keys", [reader.model] * len(reader.fields))
    models = list(dict.fromkeys([reader.model, *keys]))
    columns = [
        (models.index(key), field.name, _converter(field))
        for key, field in zip(keys, reader.fields, strict=True)
    ]
    links = [(models.index(src), attr, models.index(dest)) for src, attr, dest, *_ in joins]

    def make(row: Sequence[Any]) -> Any:
        made: list[Any] = [model.__new__(model) for model in models]
        for each in made:
            each.__data__, each.__rel__, each._dirty = {}, {}, set()
        for (place, name, convert), value in zip(columns, row, strict=True):
            made[place].__data__[name] = value if convert is None else convert(value)
        for source, attribute, joined in links:
            made[source].__rel__[attribute] = made[joined]
        return made[0]

    return make


def _converter(field: Any) -> Callable[[Any], Any] | None:
    return None if type(field) in _AS_THEY_COME else field.python_value


def prepared_insert(model: type[M]) -> Callable[[M], None]:
    """Return what inserts an instance of `model`, all of its columns."""
    fields = model._meta.sorted_fields

    def query() -> Any:
        return model.insert({field: Value(_Slot(field.name), False) for field in fields})

    statement: Prepared[M] = Prepared(query)

    def insert(row: M) -> None:
        statement.run(**{each.name: each.db_value(row.__data__.get(each.name)) for each in fields})

    return insert
