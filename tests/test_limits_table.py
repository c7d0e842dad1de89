"""The documents match the limits."""

import pytest

from tools import limits


@pytest.mark.parametrize("page", limits.PAGES, ids=lambda page: page.name)
def test_the_table_of_limits_is_current(page):
    text = page.read_text()
    assert text == limits.written(text), "run: python -m tools.limits"
