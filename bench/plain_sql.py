"""Measure the database itself: one hold and one insert per transaction, on one hot row."""

import json
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing

import psycopg

from bench.load import Load, run_module

WRITERS = 8
DONE = "committed"
_TABLES = (
    "CREATE TABLE ticket_types (id TEXT PRIMARY KEY, held BIGINT NOT NULL)",
    "CREATE TABLE intents (id TEXT PRIMARY KEY, ticket_type_id TEXT NOT NULL"
    " REFERENCES ticket_types (id), amount BIGINT NOT NULL, status TEXT NOT NULL)",
    "INSERT INTO ticket_types VALUES ('hot', 0)",
)
_HOLD = "UPDATE ticket_types SET held = held + 1 WHERE id = 'hot'"
_INSERT = "INSERT INTO intents VALUES ({}, 'hot', 5000000, 'awaiting_payment')"

Sell = Callable[[str], object]


def prepare(url: str) -> None:
    """Create the tables in an empty database."""
    with _connect(url) as connection:
        for statement in _TABLES:
            connection.execute(statement)


def run(url: str, seconds: float) -> Load:
    """Run all writers for `seconds`, in another process."""
    return run_module("bench.plain_sql", {"url": url, "seconds": seconds})


def _connect(
    url: str,
) -> AbstractContextManager[sqlite3.Connection] | AbstractContextManager[psycopg.Connection]:
    if not url.startswith("sqlite:"):
        return psycopg.connect(url, autocommit=True)
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=10, isolation_level=None)
    # The same settings as in the service.
    connection.executescript("PRAGMA journal_mode = wal; PRAGMA synchronous = full")
    return closing(connection)


def _write(url: str, writer: int, until: float, load: Load) -> None:
    begin = "BEGIN IMMEDIATE" if url.startswith("sqlite:") else "BEGIN"
    insert = _INSERT.format("?" if url.startswith("sqlite:") else "%s")
    number = time.time_ns()
    with _connect(url) as connection:
        while time.perf_counter() < until:
            start = time.perf_counter()
            number += 1
            connection.execute(begin)
            connection.execute(_HOLD)
            connection.execute(insert, (f"{writer}-{number}",))
            connection.execute("COMMIT")
            load.latencies_us.append(int((time.perf_counter() - start) * 1_000_000))
            load.statuses[DONE] += 1


def main() -> None:
    """Run the job from standard input."""
    job = json.load(sys.stdin)
    start = time.perf_counter()
    loads = [Load() for _ in range(WRITERS)]
    threads = [
        threading.Thread(target=_write, args=(job["url"], writer, start + job["seconds"], load))
        for writer, load in enumerate(loads)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = Load(time.perf_counter() - start)
    for load in loads:
        whole.add(load)
    print(json.dumps(vars(whole)))


if __name__ == "__main__":
    main()
