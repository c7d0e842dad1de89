"""Calls that happen at the same time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from ticketing.db.connection import database


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
