"""Prepared queries: their SQL is built once. To build SQL costs more CPU than to run it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, Generic, TypeVar

from peewee import (
    BigIntegerField,
    BooleanField,
    Database,
    Field,
    ForeignKeyField,
    IntegerField,
    Model,
    TextField,
    Value,
)

from ticketing.db.connection import database
from ticketing.models.base import UtcDateTimeField

M = TypeVar("M", bound=Model)

_UNCONVERTED = (TextField, IntegerField, BigIntegerField, ForeignKeyField)
"""Values of these types need no conversion with either driver."""

_Columns = list[tuple[str, Callable[[Any], Any] | None]]

_to_column = UtcDateTimeField().db_value


KEPT_LENGTH = 20
"""A query for a longer tuple is built at each call: otherwise an export with many rows would leave
one in memory for each of its lengths."""


class _Parameter(str):
    """The name of a parameter. It is a placeholder in the query until there is a value."""


class Prepared(Generic[M]):
    """A query with parameters. Use it as a decorator on the function that builds the query.

    Each call passes values by the names of the function's parameters. The query is built once for
    each kind of database, and for each length of a tuple among the values, up to KEPT_LENGTH.
    `returned`: the columns that an UPDATE or INSERT returns, unless it returns every column of its
    model, or nothing. `last`: the attribute of the first model for the last one, if no foreign key
    refers to that. It is None if the join found no row.
    """

    def __init__(
        self,
        query: Callable[..., Any],
        returned: Sequence[Field[Any]] | None = None,
        last: str | None = None,
    ) -> None:
        self._query = query
        self._names = query.__code__.co_varnames[: query.__code__.co_argcount]
        self._returned, self._last = returned, last
        self._built: dict[tuple[type[Database], tuple[int | None, ...]], _Built] = {}
        self._reader: _Reader | None = None

    def rows(self, **values: Any) -> list[M]:
        """Return all rows as models, with the models that the query joins and selects.

        Use the models only for reading: peewee considers all their fields as changed.
        """
        query, cursor = self._execute(values)
        if self._reader is None:
            self._reader = _Reader(query, self._returned, self._last)
        return [self._reader.read(row) for row in cursor.fetchall()]

    def first(self, **values: Any) -> M | None:
        """Return the first row as a model. None if there is none."""
        rows = self.rows(**values)
        return rows[0] if rows else None

    def tuples(self, **values: Any) -> list[Any]:
        """Return all rows as the database driver returns them. SQLite returns times as text."""
        _, cursor = self._execute(values)
        return list(cursor.fetchall())

    def run(self, **values: Any) -> int:
        """Run the statement, and return how many rows were written."""
        _, cursor = self._execute(values)
        return int(cursor.rowcount)

    def _execute(self, values: dict[str, Any]) -> tuple[Any, Any]:
        lengths = tuple([_length(values[name]) for name in self._names])
        key = type(database.obj), lengths
        built = self._built.get(key)
        if built is None:
            query = self._query(*map(_placeholders, self._names, lengths))
            built = _Built(query, *query.sql())
            if all(length is None or length <= KEPT_LENGTH for length in lengths):
                self._built[key] = built
        for name, length in zip(self._names, lengths, strict=True):
            if length is not None:
                values |= zip(_parts(name, length), values[name], strict=True)
        return built.query, database.execute_sql(built.sql, built.given(values))


def _length(value: Any) -> int | None:
    """Return the length of a tuple. None: it is another value."""
    return len(value) if type(value) is tuple else None


def _placeholders(name: str, length: int | None) -> Any:
    """Return what stands for a value in a query: for a tuple, one placeholder for each element."""
    if length is None:
        return Value(_Parameter(name), False)
    return [Value(_Parameter(each), False) for each in _parts(name, length)]


def _parts(name: str, length: int) -> list[str]:
    return [f"{name}.{place}" for place in range(length)]


class _Built:
    """A query that was built for one kind of database. Its constants are part of the SQL.

    SQLite and Postgres use a partial index only for a constant that they see. SQLite even compiles
    a statement again at each call if it compares a parameter with the constant of such an index.
    Example: the index is WHERE status = 'published'. To find a ticket type by its id and
    "status = ?" takes 88 us, by its id and "status = 'published'" 11 us.
    """

    def __init__(self, query: Any, sql: str, parameters: Sequence[Any]) -> None:
        self.query = query
        mark = database.param
        first, *pieces = sql.split(mark)
        self._parameters: list[Any] = []
        self._places: list[tuple[int, str]] = []
        for each, piece in zip(parameters, pieces, strict=True):
            constant = _literal(each)
            first += (mark if constant is None else constant) + piece
            if constant is not None:
                continue
            if type(each) is _Parameter:
                self._places.append((len(self._parameters), str(each)))
            self._parameters.append(_for_driver(each))
        self.sql = first

    def given(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the parameters of the statement with these values."""
        given = self._parameters.copy()
        for place, name in self._places:
            given[place] = _for_driver(values[name])
        return given


def _literal(value: Any) -> str | None:
    """Return a constant as SQL. None: it stays a parameter, as all but words and numbers."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int) and value >= 0:
        return str(int(value))
    if isinstance(value, str) and type(value) is not _Parameter and value.isidentifier():
        return f"'{value}'"
    return None


def _for_driver(value: Any) -> Any:
    return _to_column(value) if isinstance(value, datetime) else value


class _Reader:
    """Converts the rows of a query to models."""

    def __init__(self, query: Any, returned: Sequence[Field[Any]] | None, last: str | None) -> None:
        columns: Sequence[Field[Any]] = returned or getattr(
            query, "selected_columns", query.model._meta.sorted_fields
        )
        of_each = {model: list(own) for model, own in groupby(columns, lambda column: column.model)}
        models = list(of_each)
        if sum(map(len, of_each.values())) != len(columns) or models[0] is not query.model:
            raise TypeError("the columns of each model must be together, those of the first first")
        self._models = [
            (model, [column.name for column in own], list(_converters(own)))
            for model, own in of_each.items()
        ]
        linked = range(1, len(models) - (last is not None))
        self._links = [_link(models, place) for place in linked]
        self._last = last

    def read(self, row: Sequence[Any]) -> Any:
        """Return the model of a row. Its foreign keys refer to the joined models."""
        rest, made = iter(row), []
        for model, names, converters in self._models:
            values = dict(zip(names, rest, strict=False))
            for name, convert in converters:
                values[name] = convert(values[name])
            made.append(new_row(model, values))
        for (owner, name), joined in zip(self._links, made[1:], strict=False):
            setattr(made[owner], name, joined)
        if self._last is not None:
            # As the database returned it: a conversion makes False of NULL.
            of_last = row[-len(self._models[-1][1]) :]
            is_there = any(value is not None for value in of_last)
            setattr(made[0], self._last, made[-1] if is_there else None)
        return made[0]


def new_row(model: type[M], values: Mapping[str, Any]) -> M:
    """Return a new instance of a model with these columns, and the defaults of the others.

    The value of a foreign key is an id.
    """
    # The constructor would set each value through its field: five times the CPU.
    row = model()
    row.__data__.update(values)
    return row


def _converters(columns: Sequence[Field[Any]]) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield the names of the columns whose values need a conversion, and the conversion."""
    for column in columns:
        if type(column) is BooleanField and not column.null:
            yield column.name, bool  # what python_value does, without a call of Python
        elif type(column) not in _UNCONVERTED:
            yield column.name, column.python_value


def _link(models: Sequence[type[Model]], place: int) -> tuple[int, str]:
    """Return the index of the model that refers to the one at `place`, and the foreign key."""
    for owner, model in enumerate(models[:place]):
        for field in model._meta.sorted_fields:
            if isinstance(field, ForeignKeyField) and field.rel_model is models[place]:
                return owner, field.name
    raise TypeError(f"no model before {models[place]} in the selection refers to it")


def prepared_insert(model: type[M]) -> Callable[..., None]:
    """Return a function that inserts instances of `model`, one or several.

    It writes the columns that the first instance has. So the others, which are NULL, are no
    parameters: psycopg parses a statement with more than 50 of them at each call (its
    `_queries.py`). TypeError if the instances have different columns.
    """
    built: dict[tuple[type[Database], int, tuple[str, ...]], tuple[str, _Columns]] = {}

    def insert(*rows: M) -> None:
        # The plain values: for a foreign key the id, not the model.
        every = [row.__data__ for row in rows]
        names = every[0].keys()
        if any(each.keys() != names for each in every[1:]):
            raise TypeError(f"rows of {model.__name__} with different columns")
        key = type(database.obj), len(every), tuple(names)
        if key not in built:
            fields = [field for field in model._meta.sorted_fields if field.name in names]
            # The values are not in the SQL. None stands for each of them here.
            one = {field: Value(None, False) for field in fields}
            sql, _ = model.insert_many([one] * len(every)).sql()
            built[key] = (
                sql,
                [
                    (field.name, None if type(field) in _UNCONVERTED else field.db_value)
                    for field in fields
                ],
            )
        sql, columns = built[key]
        given = [
            values[name] if convert is None else convert(values[name])
            for values in every
            for name, convert in columns
        ]
        database.execute_sql(sql, given)

    return insert
