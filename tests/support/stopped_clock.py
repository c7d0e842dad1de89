"""The service's clock, stopped: only a test moves it."""

from datetime import UTC, datetime, timedelta

import pytest

from ticketing import clock

START = datetime(2026, 11, 21, 9, 0, 15, tzinfo=UTC)
"""45 seconds before a minute ends."""


class StoppedClock:
    """Replaces `clock.now`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
        self.now = now
        monkeypatch.setattr(clock, "now", lambda: self.now)

    def forward(self, **delta: float) -> None:
        """Move the clock forward."""
        self.now += timedelta(**delta)
