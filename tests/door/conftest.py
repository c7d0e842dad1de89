"""What the tests of the door share."""

import pytest

from tests.support.doors import Door


@pytest.fixture
def door(acme):
    return Door(acme)


@pytest.fixture
def gate(door):
    """A paired device at the north gate."""
    return door.gate(gate="North")
