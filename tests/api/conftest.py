"""Fixtures that tests of keys share, and tests of limits."""

import pytest

from tests.support.stopped_clock import START, StoppedClock

pytestmark = pytest.mark.one_database


@pytest.fixture
def key(acme):
    """A key of acme, as returned at its creation."""
    admin = acme.with_headers({"X-API-Key": acme.admin_key})
    made = admin.post(f"{acme.path}/apikeys", {"name": "storefront", "role": "read"})
    assert made.status_code == 201, made.json
    return made.json


@pytest.fixture
def opens(acme, api):
    """Return whether a plaintext opens acme: directly, and exchanged for a JWT."""

    def opens(plaintext):
        answers = [
            api.get(f"{acme.path}/events", headers={"X-API-Key": plaintext}),
            api.post("/v1/auth/token", {"api_key": plaintext}),
        ]
        statuses = [answer.status_code for answer in answers]
        assert statuses in ([200, 200], [401, 401])
        return statuses == [200, 200]

    return opens


@pytest.fixture
def time(monkeypatch):
    """The stopped clock. A module that uses it stops it before its organizer signs up."""
    return StoppedClock(monkeypatch, START)
