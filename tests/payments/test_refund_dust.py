"""Strangers can make many refunds of a tiny amount: the lists and the export leave them out."""

import pytest

from tests.support.books import change_home
from tests.support.console import sign_in
from tests.support.mcp import call

DUST, SURPLUS, PENDING = 1, 990_000, 50_000


@pytest.fixture
def buyers(acme):
    """The buyers of four orders: two are owed dust, the last two are owed more."""
    ticket = acme.ticket(capacity=None)
    found = [acme.buyer(ticket) for _ in range(4)]
    for buyer, due in zip(found, (DUST, DUST, SURPLUS, SURPLUS + 1), strict=True):
        # Part of the money is not final: it does not count.
        change_home(buyer.intent["id"], due=due + PENDING, pending=PENDING)
    return found


def ids(buyers):
    return [buyer.intent["id"] for buyer in buyers]


def page(acme, **query):
    answer = acme.api("read").get(f"{acme.path}/refunds", query_string=query)
    assert answer.status_code == 200, answer.json
    return [each["intent_id"] for each in answer.json["data"]], answer.json["next_cursor"]


@pytest.mark.parametrize(
    ("least", "left_out"), [(None, 0), (DUST, 0), (DUST + 1, 2), (SURPLUS, 2), (SURPLUS + 1, 3)]
)
def test_refunds_of_less_are_left_out(acme, buyers, least, left_out):
    query = {} if least is None else {"min_amount": least}
    assert page(acme, **query) == (ids(buyers)[left_out:], None)


def test_the_pages_of_a_filtered_list_follow_each_other(acme, buyers):
    first, cursor = page(acme, min_amount=SURPLUS, limit=1)
    assert page(acme, min_amount=SURPLUS, limit=1, cursor=cursor) == (ids(buyers)[3:], None)
    assert first == ids(buyers)[2:3]
    other = {"min_amount": DUST, "cursor": cursor}
    refused = acme.api().get(f"{acme.path}/refunds", query_string=other)
    assert refused.status_code == 422


@pytest.mark.parametrize("least", ["0", "-1", "0.5", "", "9" * 17])
def test_an_amount_that_is_none_is_refused(acme, least):
    answer = acme.api().get(f"{acme.path}/refunds", query_string={"min_amount": least})
    assert answer.status_code == 422


@pytest.mark.parametrize(("status", "column"), [("waived", "waived"), ("settled", "refunded")])
def test_of_refunds_that_ended_the_amount_that_ended_them_counts(acme, buyers, status, column):
    for number, buyer in enumerate(buyers):
        change_home(buyer.intent["id"], due=0, pending=0, **{column: number + 1})
    assert page(acme, status=status, min_amount=3) == (ids(buyers)[2:], None)


def test_agents_and_the_console_leave_them_out(acme, node, buyers):
    answer = call(acme.api("read"), "owed_refunds", tenant="acme", min_amount=SURPLUS)
    assert [each["intent_id"] for each in answer["data"]] == ids(buyers)[2:]
    console = sign_in(acme)
    shown = console.get("/console/refunds?min=0.99").text
    assert [each for each in ids(buyers) if each in shown] == ids(buyers)[2:]
    assert 'value="0.99"' in shown
    assert ids(buyers)[0] in console.get("/console/refunds?min=a+lot").text
    assert "None of that amount" in console.get("/console/refunds?min=5").text


def pages(acme, **query):
    """The ids of a list that is read two by two."""
    found, cursor = page(acme, **query, limit=2)
    while cursor:
        more, cursor = page(acme, **query, limit=2, cursor=cursor)
        found += more
    return found


def test_the_largest_amount_can_come_first(acme, buyers):
    """Those of the same amount follow each other, the oldest first, also on the next page."""
    by_amount = [ids(buyers)[number] for number in (3, 2, 0, 1)]
    assert pages(acme, sort="-amount") == by_amount
    assert pages(acme, sort="-amount", min_amount=SURPLUS) == by_amount[:2]
    assert pages(acme, sort="created_at") == pages(acme) == ids(buyers)
    shown = sign_in(acme).get("/console/refunds?sort=-amount").text
    assert sorted(ids(buyers), key=shown.index) == by_amount


def test_a_cursor_belongs_to_one_order(acme, buyers):
    for sort, other in (("-amount", "created_at"), ("created_at", "-amount")):
        _, cursor = page(acme, sort=sort, limit=1)
        query = {"sort": other, "cursor": cursor}
        refused = acme.api().get(f"{acme.path}/refunds", query_string=query)
        assert refused.status_code == 422 and "cursor" in refused.json["errors"]


@pytest.mark.parametrize(("status", "column"), [("waived", "waived"), ("settled", "refunded")])
def test_ended_refunds_sort_by_what_ended_them(acme, buyers, status, column):
    for buyer, amount in zip(buyers, (3, 9, 1, 9), strict=True):
        change_home(buyer.intent["id"], due=0, pending=0, **{column: amount})
    assert pages(acme, status=status, sort="-amount") == [ids(buyers)[n] for n in (1, 3, 0, 2)]
