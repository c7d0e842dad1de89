"""Fixtures for tests with the version before."""

import pytest

from tools import version_before


@pytest.fixture(scope="session")
def root_before(tmp_path_factory):
    """The folder with the source of the version before."""
    return version_before.unpack(tmp_path_factory.mktemp("version_before"))
