"""Count requests for Prometheus.

Under gunicorn, each process has a file in the folder PROMETHEUS_MULTIPROC_DIR.
"""

import logging
import os
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

log = logging.getLogger(__name__)

FILES = "PROMETHEUS_MULTIPROC_DIR"

_own = CollectorRegistry()
_requests = Counter(
    "ticketing_requests", "Requests answered.", ["method", "route", "status"], registry=_own
)
_seconds = Histogram(
    "ticketing_request_seconds", "How long answers took.", ["method", "route"], registry=_own
)


def record(method: str, route: str | None, status: int, seconds: float) -> None:
    """Count a request. All requests without a route count as one."""
    known = (method, route) if route else ("", "")
    try:
        count, duration = _of(*known, status)
        count.inc()
        duration.observe(seconds)
    except OSError as error:
        # The folder is missing or the disk is full. That must not fail the request.
        log.warning("a request is not counted: %s", error.strerror)


@cache
def _of(method: str, route: str, status: int) -> tuple[Counter, Histogram]:
    return _requests.labels(method, route, status), _seconds.labels(method, route)


def registry() -> CollectorRegistry:
    """Return the counts of all processes under gunicorn, else of this process."""
    if FILES not in os.environ:
        return _own
    found = CollectorRegistry()
    MultiProcessCollector(found)  # type: ignore[no-untyped-call]
    return found
