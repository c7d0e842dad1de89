"""Fixtures for tests with the releases before."""

import os

import pytest

from tools import releases

pytestmark = pytest.mark.sql


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory):
    """Unpack a release once, and return its folder."""
    known = {}

    def unpack(release):
        if release not in known:
            known[release] = releases.unpack(release, tmp_path_factory.mktemp(release))
        return known[release]

    return unpack


@pytest.fixture(params=releases.COMMITS)
def release(request):
    return request.param


@pytest.fixture
def root_before(unpacked, release, monkeypatch):
    """The folder with the source of a release, which may not know all limits."""
    monkeypatch.delenv("RATE_LIMIT_GUESS", raising=False)
    return unpacked(release)


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request, tmp_path, starts_processes):
    """A database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ticketing.db"
    return request.getfixturevalue("postgres").create_database(f"empty_{os.getpid()}")
