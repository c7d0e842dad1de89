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


@pytest.fixture
def admission(door):
    return door.admission()


@pytest.fixture
def qr(door, admission):
    return door.qr(admission)
