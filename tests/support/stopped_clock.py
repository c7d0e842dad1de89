"""The service's clock, stopped: it goes on only where a test says so."""

from datetime import datetime, timedelta

import pytest

from ticketing import clock


class StoppedClock:
    """Stands in for `clock.now`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
        self.now = now
        monkeypatch.setattr(clock, "now", lambda: self.now)

    def forward(self, **delta: float) -> None:
        """Let some time pass."""
        self.now += timedelta(**delta)
