"""How long others wait while something attacks the service.

The bound is a multiple of what they wait beside ordinary work. Without the service's own limits,
the attacks made it thousands. Other programs of the machine can slow down one measurement, so there
are several.
"""

import itertools
import statistics
import time

from tools.json_client import Client

MOST = 50
ASKED = 40
ROUNDS = 3


def usual_seconds(url: str, page: str) -> float:
    """Return the longest of some median waits, beside ordinary work."""
    return max(_median_wait(url, page) for _ in range(ROUNDS))


def assert_wait_little(url: str, page: str, usual: float) -> None:
    """Check that others wait at most MOST times `usual` seconds, in one of ROUNDS."""
    seen: list[float] = []
    while len(seen) < ROUNDS:
        seen.append(_median_wait(url, page))
        if seen[-1] < MOST * usual:
            return
    raise AssertionError(f"others waited {seen} s; beside ordinary work {usual} s")


def _median_wait(url: str, page: str) -> float:
    """Return the median wait for `/healthz` and for a public page."""
    client, seen = Client(url), []
    for path in itertools.islice(itertools.cycle(["/healthz", page]), ASKED):
        start = time.monotonic()
        assert client.send("GET", path).status == 200
        seen.append(time.monotonic() - start)
    return statistics.median(seen)
