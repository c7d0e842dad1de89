"""Fixtures of the tests of the console: members who have signed in."""

import pytest

from tests.support.console import sign_in
from ticketing.services.access import passwords

pytestmark = pytest.mark.one_database


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch):
    """Each test signs in. What a hash costs is tested elsewhere."""
    monkeypatch.setattr(passwords, "hasher", passwords.hasher.using(memory_cost=8, time_cost=1))


@pytest.fixture
def console(acme):
    """A member of acme with role admin."""
    return sign_in(acme)


@pytest.fixture
def reader(acme):
    """A member of acme with role read."""
    return sign_in(acme, "read", "reader@example.org")


@pytest.fixture
def writer(acme):
    """A member of acme with role write."""
    return sign_in(acme, "write", "writer@example.org")
