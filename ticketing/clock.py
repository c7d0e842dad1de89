"""The current time. All other modules read it here, so tests can replace it."""

from datetime import UTC, datetime, timedelta


def now() -> datetime:
    """Return the current time, aware, in UTC."""
    return datetime.now(UTC)


def is_within(span: timedelta, since: datetime | None) -> bool:
    """Return whether less than `span` has passed since a moment. False if it is in the future."""
    return since is not None and since <= now() < since + span
