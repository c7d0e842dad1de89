"""Fixtures for tests with the version before."""

import pytest

from tools import version_before


@pytest.fixture(scope="session")
def unpacked_before(tmp_path_factory):
    return version_before.unpack(tmp_path_factory.mktemp("version_before"))


@pytest.fixture
def root_before(unpacked_before, monkeypatch):
    """The folder with the source of the version before, which does not know all limits."""
    monkeypatch.delenv("RATE_LIMIT_GUESS", raising=False)
    return unpacked_before
