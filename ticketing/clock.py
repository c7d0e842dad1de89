"""The one place that asks what time it is."""

from datetime import UTC, datetime, timedelta


def now() -> datetime:
    """Return the current time, aware, in UTC."""
    return datetime.now(UTC)


def is_within(span: timedelta, since: datetime | None) -> bool:
    """Tell whether less than `span` has passed since a moment; not if it lies in the future."""
    return since is not None and since <= now() < since + span
