"""docs/limits.md has every limit, as it is in the code."""

import inspect

import pytest

from ticketing import errors, limits
from ticketing.errors import TooMany
from tools.limits import ATTACKERS, NOT_SCARCE, OF_REQUESTS, PAGE, ROWS, written


def test_the_tables_are_current():
    text = PAGE.read_text()
    assert text == written(text), "run: python -m tools.limits"


def test_every_limit_is_in_a_row():
    # A name in capitals is a limit. Those with a lower one are what limits.py imports.
    names = {name for name in vars(limits) if name.isupper()}
    named = [name for row in ROWS for name in row.names]
    assert sorted(named) == sorted(names - NOT_SCARCE - OF_REQUESTS)


def test_every_refusal_of_too_much_is_in_a_row():
    said = " ".join(row.code for row in ROWS)
    kinds = [each for _, each in inspect.getmembers(errors, inspect.isclass)]
    codes = {each.code for each in kinds if issubclass(each, TooMany) and each is not TooMany}
    # Wrong codes of vouchers are counted as requests.
    assert {code for code in codes if f"`{code}`" not in said} == {"too_many_guesses"}


@pytest.mark.parametrize("row", [each for each in ROWS if each.all], ids=lambda each: each.thing)
def test_one_client_uses_up_nothing(row):
    one, wide, fifty, thousand = (row.had_by(each) for each in ATTACKERS)
    assert one < row.all
    assert one <= wide <= fifty <= thousand <= row.all
