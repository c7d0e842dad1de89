"""Prepared queries: constants, lists of values, and rows that are inserted together."""

from typing import Any

import pytest
from peewee import JOIN

from ticketing.models.api_keys import ApiKey
from ticketing.models.prepared import KEPT_LENGTH, Prepared, new_row, prepared_insert
from ticketing.models.rate_counts import RateCount
from ticketing.models.tenants import Tenant

pytestmark = [pytest.mark.sql, pytest.mark.usefixtures("app")]

insert = prepared_insert(RateCount)


def add(*rows: tuple[str, int, int]) -> None:
    names = ("caller", "minute", "used")
    insert(*(new_row(RateCount, dict(zip(names, row, strict=True))) for row in rows))


def callers(query: Prepared[RateCount], **values: Any) -> set[str]:
    return {each.caller for each in query.rows(**values)}


@pytest.mark.parametrize(
    "constant",
    ["plain", "", "two words", "it's", '"quoted"', "50 %", "%s", "why?", "größe", "a\\b"],
)
def test_a_constant_text_is_compared_as_it_is(constant):
    add((constant, 1, 1), ("another", 1, 1))
    query: Prepared[RateCount] = Prepared(
        lambda minute: RateCount.select().where(
            RateCount.caller == constant, RateCount.minute == minute
        )
    )
    assert callers(query, minute=1) == {constant}
    assert callers(query, minute=2) == set()


@pytest.mark.parametrize("constant", [0, 1, -1, 2**40, -(2**40)])
def test_a_constant_number_is_compared_as_it_is(constant):
    add(("wanted", 1, constant), ("another", 1, constant + 1))
    query: Prepared[RateCount] = Prepared(
        lambda minute: RateCount.select().where(
            RateCount.used == constant, RateCount.minute - constant == minute
        )
    )
    assert callers(query, minute=1 - constant) == {"wanted"}


@pytest.mark.parametrize("constant", [True, False])
def test_a_constant_boolean_is_compared_as_it_is(acme, constant):
    query: Prepared[Tenant] = Prepared(
        lambda slug: Tenant.select().where(Tenant.slug == slug, Tenant.listed == constant)
    )
    Tenant.update(listed=True).execute()
    assert [each.slug for each in query.rows(slug="acme")] == (["acme"] if constant else [])


def test_tuples_of_all_lengths_are_lists_of_values():
    names = [f"caller {number}" for number in range(KEPT_LENGTH + 2)]
    add(*((name, 1, 1) for name in names))

    def of(some: Any, others: Any) -> Any:
        return RateCount.select().where(
            RateCount.caller.in_(some) | RateCount.caller.in_(others), RateCount.minute == 1
        )

    query: Prepared[RateCount] = Prepared(of)
    for length in (0, 1, 2, KEPT_LENGTH, KEPT_LENGTH + 1):
        some, others = tuple(names[:length]), tuple(names[-1:])
        expected = {*some, *others}
        assert callers(query, some=some, others=others) == expected
        assert callers(query, others=some, some=others) == expected


def test_rows_that_are_inserted_together_have_the_same_columns():
    with pytest.raises(TypeError, match="different columns"):
        insert(
            new_row(RateCount, {"caller": "a", "minute": 1, "used": 1}),
            new_row(RateCount, {"caller": "b", "minute": 1}),
        )
    assert RateCount.select().count() == 0


def test_a_last_model_without_a_row_is_none_even_if_null_reads_as_false(acme):
    on = ApiKey.name == Tenant.name
    flag = Tenant.second_factor_required

    def keys() -> Any:
        return ApiKey.select(ApiKey.id, flag).join(Tenant, JOIN.LEFT_OUTER, on=on)

    (key,) = Prepared(keys, last="namesake").rows()
    assert key.namesake is None
    Tenant.update(name=ApiKey.select(ApiKey.name)).execute()
    (key,) = Prepared(keys, last="namesake").rows()
    assert key.namesake.second_factor_required is False
