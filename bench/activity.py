"""What the connections of a Postgres do while it works: looked at ten times a second."""

import statistics
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg

from tools import Running

DOING = ("busy", "disk", "row lock", "for the web")
"""It computes; waits for the disk or another writer; for a row; for the next statement."""

_SECONDS = 0.1
_LOOK = """
SELECT count(*) FILTER (WHERE state = 'active' AND wait_event_type IS NULL),
       count(*) FILTER (WHERE state = 'active' AND wait_event_type IN ('IO', 'LWLock')),
       count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Lock'),
       count(*) FILTER (WHERE state LIKE 'idle in transaction%')
FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class Activity(Running):
    """Looks at a database over a connection of its own. A context manager."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)

    def stop(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def watched(self) -> Iterator[dict[str, float]]:
        """Look while the block runs. At its end, what is yielded has the means by `DOING`.

        Looks that found nothing do not count: the load had not begun, or had ended.
        """
        means: dict[str, float] = dict.fromkeys(DOING, 0.0)
        found: list[Mapping[str, int]] = []
        is_over = threading.Event()
        watching = threading.Thread(target=self._watch, args=(found, is_over))
        watching.start()
        try:
            yield means
        finally:
            is_over.set()
            watching.join()
        if found:
            means.update({name: statistics.mean(look[name] for look in found) for name in DOING})

    def _watch(self, found: list[Mapping[str, int]], is_over: threading.Event) -> None:
        while not is_over.wait(_SECONDS):
            row = self._connection.execute(_LOOK).fetchone()
            if row is not None and any(row):
                found.append(dict(zip(DOING, row, strict=True)))
