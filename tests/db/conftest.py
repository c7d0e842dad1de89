"""Every test of tables and statements runs on both databases."""

import pytest

pytestmark = pytest.mark.sql
