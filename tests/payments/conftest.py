"""Fixtures of the tests that bend a node's answers."""

import pytest


@pytest.fixture
def unforgetting(monkeypatch):
    """A node that was silent, or refused for its rate, is asked again at once."""
    monkeypatch.setattr("ticketing.chain.endpoint.SILENT_SECONDS", 0.0)
    monkeypatch.setattr("ticketing.chain.endpoint.FIRST_PAUSE_SECONDS", 0.0)
