"""The work of a request, counted: times cannot show that work is equal."""

import hmac
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from ticketing.db.connection import database

_SAVEPOINT = re.compile(r"\bs[0-9a-f]{32}\b")
"""Peewee's random name of a savepoint."""


@dataclass
class Work:
    """The statements, the digests and the comparisons of secrets."""

    statements: list[str] = field(default_factory=list)
    digests: int = 0
    comparisons: int = 0


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
        return execute_sql(sql, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(db, "execute_sql", recording)
        patch.setattr(hmac, "digest", count("digests", hmac.digest))
        patch.setattr(hmac, "compare_digest", count("comparisons", hmac.compare_digest))
        yield work
