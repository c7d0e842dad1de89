"""Fixtures of the tests of what is deployed."""

import pytest

from tests.support import debian
from tools import ToolMissing


@pytest.fixture
def debian_root(tmp_path, request, starts_processes):
    """A minimal Debian, with the packages that a test names in the marker `packages`."""
    named = request.node.get_closest_marker("packages")
    try:
        return debian.install(tmp_path / "debian", *(named.args if named else ()))
    except ToolMissing as missing:
        pytest.skip(str(missing))
