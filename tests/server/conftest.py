"""Fixtures of the tests of the server: a tenant with one resource of each kind."""

import pytest

from tests.support.one_of_each import one_of_each

pytestmark = pytest.mark.one_database


@pytest.fixture
def here(acme):
    """The ids of one resource of each kind that acme has."""
    return one_of_each(acme)
