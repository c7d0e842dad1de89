"""The current time, and how the API writes a time.

All other modules read the time here, so tests can replace it.
"""

import time
from datetime import UTC, datetime, timedelta

CLOCKS_APART = timedelta(minutes=1)
"""How much the clocks of two hosts may differ."""


def now() -> datetime:
    """Return the current time, aware, in UTC."""
    return datetime.now(UTC)


def monotonic() -> float:
    """Return seconds that only grow, whatever happens to the clock of this host."""
    return time.monotonic()


def rfc3339(moment: datetime) -> str:
    """Return an aware time as the API writes it: in UTC, with a Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def is_within(span: timedelta, since: datetime | None) -> bool:
    """Return whether less than `span` has passed since a moment. False if it is in the future."""
    return since is not None and since <= now() < since + span
