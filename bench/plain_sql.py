"""Plain SQL beside the service: the INSERTs and UPDATEs of an order, as transactions of psycopg.

`python -m bench.plain_sql` orders twice with the service's own code, notes what the transaction of
an order writes, and repeats that with new ids on some connections. So it writes the same rows, and
changes the same hot rows in the same order. It leaves out HTTP, all checks and all reads.

It reads a job as JSON from the first line of its input, says that it is ready, waits for the next
line, and prints the result as JSON.
"""

import itertools
import json
import os
import secrets
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from flask.testing import FlaskClient

from app import create_app
from ticketing.db.connection import database

_CLIENTS = ("10.9.0.1", "10.9.0.2")
_FIRST_INDEX = 1_000_000_000
"""Above all indexes of addresses that the service uses."""

_RANDOM_BYTES = 10
"""So many bytes, in hex, replace the end of an id, an address or a digest."""

Noted = list[tuple[str, list[Any]]]


@dataclass(frozen=True)
class Statement:
    """A statement, its values, and the places of those that differ between two orders."""

    sql: bytes
    values: Sequence[Any]
    own: Sequence[int]


class Transaction:
    """What an order writes, with other ids each time."""

    def __init__(self, first: Noted, second: Noted) -> None:
        """Take it from two orders of the same ticket types."""
        self._statements = [
            Statement(sql.encode(), values, _differing(values, others))
            for (sql, values), (_, others) in zip(first, second, strict=True)
        ]
        self._indexes = itertools.count(_FIRST_INDEX + secrets.randbelow(_FIRST_INDEX))

    def run(self, connection: psycopg.Connection[Any]) -> None:
        """Write one order."""
        new: dict[str, str] = {}
        with connection.transaction():
            for each in self._statements:
                values = list(each.values)
                for place in each.own:
                    values[place] = self._replaced(values[place], new)
                connection.execute(each.sql, values)

    def _replaced(self, value: Any, new: dict[str, str]) -> Any:
        """Return a value for a new order. `new` has the texts that were replaced in it before."""
        if isinstance(value, int):
            return next(self._indexes)
        text = str(value)
        if text.replace("_", "").isalnum():
            start = text[: -2 * _RANDOM_BYTES]
            return new.setdefault(text, start + secrets.token_hex(_RANDOM_BYTES))
        for old, other in new.items():
            text = text.replace(old, other)  # JSON with an id. A time stays as it is.
        return text


def _differing(values: Sequence[Any], others: Sequence[Any]) -> Sequence[int]:
    pairs = enumerate(zip(values, others, strict=True))
    return [place for place, (value, other) in pairs if value != other]


@contextmanager
def _noting() -> Iterator[Noted]:
    """Note the INSERTs and UPDATEs of transactions in a block."""
    found: Noted = []
    execute = database.obj.execute_sql

    def noted(sql: str, params: Any = None) -> Any:
        if database.obj.in_transaction() and sql.startswith(("INSERT", "UPDATE")):
            found.append((sql, list(params or ())))
        return execute(sql, params)

    database.obj.execute_sql = noted
    try:
        yield found
    finally:
        database.obj.execute_sql = execute


def _ordered(client: FlaskClient, job: Mapping[str, Any], address: str) -> Noted:
    """Order, and return what the order's transaction wrote."""
    with _noting() as found:
        headers = {"X-Forwarded-For": address}
        response = client.post(job["path"], json=job["body"], headers=headers)
    if response.status_code != 201:
        raise RuntimeError(response.text)
    return found


def _repeat(transaction: Transaction, connection: psycopg.Connection[Any], until: float) -> int:
    count = 0
    while time.perf_counter() < until:
        transaction.run(connection)
        count += 1
    return count


def _measured(transaction: Transaction, job: Mapping[str, Any], running: ExitStack) -> Any:
    """Write orders on several connections at the same time. Return how many, and what it took."""
    url = os.environ["DATABASE_URL"]
    connections = [
        running.enter_context(psycopg.connect(url)) for _ in range(int(job["connections"]))
    ]
    counts: list[int] = []
    print("ready", flush=True)
    sys.stdin.readline()
    start, used = time.perf_counter(), time.process_time()
    until = start + job["seconds"]
    threads = [
        threading.Thread(target=lambda each=each: counts.append(_repeat(transaction, each, until)))
        for each in connections
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "orders": sum(counts),
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - used,
    }


def main() -> None:
    """Carry out the job from standard input."""
    job = json.loads(sys.stdin.readline())
    client = create_app().test_client()
    transaction = Transaction(*(_ordered(client, job, address) for address in _CLIENTS))
    with ExitStack() as running:
        print(json.dumps(_measured(transaction, job, running)))


if __name__ == "__main__":
    main()
