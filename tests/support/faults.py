"""What clients of real processes see during a fault, and how long until all is well again."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import psycopg
import urllib3

from tests.support.remote import PATIENCE_SECONDS, RemoteOrganizer, eventually
from tools.json_client import Answer, Client


class Load:
    """Clients that send one request after another, each on its own kept connection.

    A context manager. `ask` gets a client and the number of the request. `seen` has for each
    request its start, its end, and its status or the name of the error.
    """

    def __init__(self, url: str, ask: Callable[[Client, int], Answer], clients: int = 4) -> None:
        self.seen: list[tuple[float, float, int | str]] = []
        self.clients = clients
        self._ask, self._done = ask, threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(Client(url), number))
            for number in range(clients)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()

    def counts(self, since: float = 0.0) -> Counter[int | str]:
        """Count the outcomes of requests that began at `since` or later."""
        return Counter(outcome for began, _, outcome in list(self.seen) if began >= since)

    def wait_for(self, more: int) -> None:
        """Wait until this many more requests have ended."""
        target = len(self.seen) + more
        eventually(lambda: len(self.seen) >= target)

    def _run(self, client: Client, number: int) -> None:
        while not self._done.is_set():
            began = time.monotonic()
            outcome: int | str
            try:
                outcome = self._ask(client, number).status
            except urllib3.exceptions.HTTPError as error:
                outcome = type(error).__name__
                time.sleep(0.01)
            self.seen.append((began, time.monotonic(), outcome))
            number += len(self._threads)


def order(ticket: Any) -> dict[str, str]:
    """Return the body of a preflight for one ticket."""
    return {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}


def reading_and_buying(acme: RemoteOrganizer, ticket: Any) -> Callable[[Client, int], Answer]:
    """Return a load of reads and orders in turns."""

    def ask(client: Client, number: int) -> Answer:
        if number % 2:
            return client.send("GET", f"{acme.path}/events", headers=acme.headers)
        return client.send("POST", f"{acme.checkout}/preflight", order(ticket))

    return ask


def sql(url: str, statement: str, *values: object) -> list[tuple]:
    """Run one statement on a new connection. Return its rows."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []


def cut(url: str, condition: str = "true") -> int:
    """End the connections to a database that meet a condition. Return how many ended."""
    found = sql(
        url,
        f"SELECT pg_terminate_backend(pid, {PATIENCE_SECONDS * 1000}) FROM pg_stat_activity"
        f" WHERE datname = current_database() AND pid <> pg_backend_pid() AND {condition}",
    )
    return sum(ended for (ended,) in found)


def family(pid: int) -> list[int]:
    """Return a process and its children."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def runs(pid: int) -> bool:
    """Return whether a process still runs."""
    return Path(f"/proc/{pid}").exists()
