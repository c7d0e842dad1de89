"""Number rows after their commit, so that no reader of a list with a cursor misses one.

A reader remembers the largest number that it has read, and asks for what comes after it. That is
only safe if no smaller number appears later. A number that is taken at the INSERT does not
guarantee that:

    order A   takes number 8, and is still running
    order B   takes number 9, and commits
    reader    reads 9, and remembers it
    order A   commits: number 8 appears, and the reader, who asks for what comes after 9, misses it

So orders would have to wait for each other. Instead, a row is written without a number, and
committed rows are numbered later, under a lock on the counter:

    order A   inserts a row without a number, and is still running
    order B   inserts a row without a number, and commits
    numbering sees only B's row: it gets 8
    reader    reads 8, and remembers it
    order A   commits
    numbering gives 9 to A's row, and the reader finds it after 8

The lock lets one numbering run at a time, so that no number is given twice. Orders never take it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from peewee import Field, Model, ModelSelect

from ticketing.db.connection import database, is_sqlite, locked, write_transaction
from ticketing.models.prepared import Prepared

AT_ONCE = 1000
"""How many rows one transaction numbers."""

_NUMBER = """
    UPDATE {table} SET {number} = {value} + place
    FROM (
        SELECT {key} AS numbered, row_number() OVER (ORDER BY {key}) AS place FROM (
            SELECT {key} FROM {table} WHERE {owner} = {value} AND {number} IS NULL
            ORDER BY {order} LIMIT {value} {lock}
        ) AS unnumbered
    ) AS places
    WHERE {table}.{key} = numbered
    RETURNING {returned}
"""

# A locked row is being changed. It gets its number later, so a reader waits for nobody.
_SKIP_LOCKED = "FOR NO KEY UPDATE SKIP LOCKED"

C = TypeVar("C", bound=Model)


class Sequencer(Generic[C]):
    """Numbers the rows of one table, from 1 for each owner, such as a tenant.

    `number` is NULL in a row without a number. `last` is the largest number of an owner so far. It
    is in the owner's row of another table, the counter. `order` is the order of the batches; choose
    a column by which an index finds the unnumbered rows of an owner. `on_numbered` gets the values
    of the column `returned`, after each batch, in its transaction.
    """

    def __init__(
        self,
        number: Field[Any],
        *,
        owner: Field[Any],
        order: Field[Any],
        last: Field[Any],
        returned: Field[Any] | None = None,
        on_numbered: Callable[[Sequence[Any]], None] = lambda _: None,
    ) -> None:
        rows, key = number.model, number.model._meta.primary_key
        counter: type[C] = last.model
        self._counter, self._last, self._on_numbered = counter, last, on_numbered
        self._counter_owner = counter._meta.primary_key
        self._names = {
            "table": rows._meta.table_name,
            "key": key.column_name,
            "number": number.column_name,
            "owner": owner.column_name,
            "order": order.column_name,
            "returned": (returned or key).column_name,
        }

        def unnumbered(owner_id: Any) -> Any:
            query = rows.select(key).where(owner == owner_id, number.is_null())
            return query.order_by(order).limit(1)

        def lock(owner_id: Any) -> ModelSelect[C]:
            return locked(counter.select().where(self._counter_owner == owner_id))

        self._unnumbered: Prepared[Any] = Prepared(unnumbered)
        self._lock: Prepared[C] = Prepared(lock)

    def is_complete(self, owner_id: str) -> bool:
        """Return whether all committed rows of an owner have a number."""
        return not self._unnumbered.tuples(owner_id=owner_id)

    def lock(self, owner_id: str) -> C:
        """Lock the counter of an owner until the transaction ends. Create it if it is missing."""
        counter = self._lock.first(owner_id=owner_id)
        if counter is None:
            first = self._counter.insert({self._counter_owner: owner_id})
            first.on_conflict_ignore().as_rowcount().execute()
            counter = self._lock.first(owner_id=owner_id)
        assert counter is not None
        return counter

    def number_some(self, owner_id: str) -> int:
        """Number committed rows of an owner, at most AT_ONCE. Return how many.

        If all have a number, this only reads.
        """
        if self.is_complete(owner_id):
            return 0
        lock = "" if is_sqlite() else _SKIP_LOCKED
        sql = _NUMBER.format(value=database.param, lock=lock, **self._names)
        with write_transaction():
            last = getattr(self.lock(owner_id), self._last.name)
            rows = database.execute_sql(sql, [last, owner_id, AT_ONCE]).fetchall()
            if rows:
                counter = self._counter.update({self._last: last + len(rows)})
                counter.where(self._counter_owner == owner_id).execute()
                self._on_numbered([value for (value,) in rows])
        return len(rows)

    def number_all(self, owner_id: str) -> int:
        """Number all committed rows of an owner, in batches. Return how many."""
        total = count = self.number_some(owner_id)
        while count == AT_ONCE:
            count = self.number_some(owner_id)
            total += count
        return total
