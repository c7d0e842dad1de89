"""The work of a request, counted: times cannot show that work is equal."""

import hmac
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from ticketing import credentials
from ticketing.db.connection import database

_SAVEPOINT = re.compile(r"\bs[0-9a-f]{32}\b")
"""Peewee's random name of a savepoint."""


@dataclass
class Work:
    """The statements, the rows that they read, the digests and the comparisons of secrets.

    Two works are equal if they differ only in rows: a wrong secret of a key that exists reads one.
    """

    statements: list[str] = field(default_factory=list)
    rows: int = field(default=0, compare=False)
    digests: int = 0
    comparisons: int = 0


class _Cursor:
    """A cursor that counts the rows that are fetched."""

    def __init__(self, cursor: Any, work: Work) -> None:
        self._cursor, self._work = cursor, work

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def __iter__(self) -> Iterator[Any]:
        for row in self._cursor:
            self._work.rows += 1
            yield row

    def fetchone(self) -> Any:
        row = self._cursor.fetchone()
        self._work.rows += row is not None
        return row

    def fetchall(self) -> Any:
        rows = self._cursor.fetchall()
        self._work.rows += len(rows)
        return rows


@contextmanager
def watched() -> Iterator[Work]:
    """Count the work of this thread until the block ends."""
    work = Work()

    def count(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any) -> Any:
            setattr(work, name, getattr(work, name) + 1)
            return run(*arguments)

        return counting

    db = database.obj
    execute_sql = db.execute_sql

    def recording(sql: str, *rest: Any) -> Any:
        work.statements.append(_SAVEPOINT.sub("s", sql))
        return _Cursor(execute_sql(sql, *rest), work)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(db, "execute_sql", recording)
        keyed = count("digests", credentials.keyed_digest)
        patch.setattr(credentials, "keyed_digest", keyed)
        patch.setattr(hmac, "compare_digest", count("comparisons", hmac.compare_digest))
        yield work
