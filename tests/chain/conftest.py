"""Fixtures of the tests of chain code."""

import pytest

from tests.support.receivers import OWNER, Chain
from tools import anvil


@pytest.fixture(scope="module")
def chain(starts_processes):
    """A node with the factory of receivers. Tests of a module share it, and no account of it."""
    with anvil.Anvil() as running:
        yield Chain(running)


@pytest.fixture
def token(chain):
    """A token of USDC's shape, behind a proxy."""
    return chain.token()


@pytest.fixture
def owner(chain):
    """The account of an organizer, which never sends anything."""
    return chain.accounts[OWNER]
