"""Calls that happen at the same time."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg

from ticketing.db.connection import database

_LONGEST_WAIT = 30.0


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Run each call in a thread of its own, all at the same time, and return their results."""
    start = Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        try:
            start.wait()
            return call()
        finally:
            database.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def meeting_before_writes(url: str, table: str, *calls: Callable[[], Any]) -> list[Any]:
    """Run calls at once, as `at_once`. On Postgres, no call writes a row before all have to wait.

    Each waits for its first insert into `table`, or for a lock of another call that does. So what
    they read before that, they all read before any has written. SQLite has one writer at a time.
    """
    if url.startswith("sqlite:"):
        return at_once(*calls)
    with psycopg.connect(url) as other, ThreadPoolExecutor(1) as pool:
        other.execute(f"LOCK TABLE {table} IN SHARE MODE")
        answers = pool.submit(at_once, *calls)
        deadline = time.monotonic() + _LONGEST_WAIT
        here = "(SELECT oid FROM pg_database WHERE datname = current_database())"
        waiting = f"SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND database = {here}"
        while other.execute(waiting).fetchone() != (len(calls),):
            assert time.monotonic() < deadline and not answers.done()
            time.sleep(0.01)
        other.rollback()
        return answers.result()
