"""The tests of agents' tools: on SQLite only."""

import pytest

pytestmark = pytest.mark.one_database
