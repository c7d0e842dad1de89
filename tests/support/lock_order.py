"""Checks that every transaction on Postgres locks tables in the order of `ticketing.db.locks`."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ticketing.db.connection import database, is_sqlite
from ticketing.db.locks import ORDER

_LOCKING = re.compile(r"\bFOR (NO KEY UPDATE|SHARE)\b")
_WRITTEN = re.compile(r'(?:UPDATE|DELETE FROM) "(\w+)".* WHERE ')
"""A statement without WHERE is one of the tests."""
_INNER = re.compile(r"\([^()]*\)")
_FROM = re.compile(r'FROM "(\w+)"')


@contextmanager
def checked() -> Iterator[None]:
    """Fail the statement that locks a table after one that comes later in the order.

    A transaction may lock a table again that it has locked before. One that has locked an event
    exclusively, and the chains, keeps all others out, so it may lock the rest in any order.
    """
    if is_sqlite():  # there, the transaction itself is the lock
        yield
        return
    own = threading.local()
    db = database.obj
    execute_sql, begin = db.execute_sql, db.begin

    def begin_again(*arguments: Any, **options: Any) -> None:
        own.tables, own.keeps_event = [], False
        begin(*arguments, **options)

    def execute(sql: str, params: Any = None, *rest: Any) -> Any:
        if db.in_transaction():
            _note(own, sql)
        return execute_sql(sql, params, *rest)

    db.begin, db.execute_sql = begin_again, execute
    yield
    # A test may have replaced and deleted them meanwhile. Then the class has the right ones.
    for name in ("begin", "execute_sql"):
        vars(db).pop(name, None)


def _note(own: Any, sql: str) -> None:
    table, is_exclusive = _locked(sql)
    if table not in ORDER or table in own.tables:
        return
    later = [each for each in own.tables if ORDER.index(each) > ORDER.index(table)]
    if later and not (own.keeps_event and "chains" in own.tables):
        raise AssertionError(f"{table} is locked after {later}: {sql}")
    own.tables.append(table)
    own.keeps_event = own.keeps_event or (table == "events" and is_exclusive)


def _locked(sql: str) -> tuple[str | None, bool]:
    """Return the table whose rows a statement locks, and whether for itself."""
    if (written := _WRITTEN.match(sql)) is not None:
        return written[1], True
    if (clause := _LOCKING.search(sql)) is None:
        return None, False
    outer, count = sql, 1
    while count:
        outer, count = _INNER.subn("", outer)
    found = _FROM.search(outer)
    return (None if found is None else found[1]), clause[1] != "SHARE"
