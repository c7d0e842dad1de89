"""What a client has in a day, counted one at a time."""

from functools import partial

import pytest

from tests.support.races import meeting_before_writes
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.db.connection import write_transaction
from ticketing.errors import TooManyOrders
from ticketing.models.daily_amounts import DailyAmount
from ticketing.services import daily_counts

pytestmark = pytest.mark.usefixtures("app")

CLIENT, NEIGHBOR, ELSEWHERE = ("narrow", "wide"), ("neighbor", "wide"), ("else", "where")


@pytest.fixture
def stopped(monkeypatch):
    return StoppedClock(monkeypatch, clock.now())


def add(client, amount, what="bytes", most=100):
    """Return None, or the seconds until it is possible."""
    try:
        daily_counts.add(what, client, amount, most, TooManyOrders)
    except TooManyOrders as error:
        return error.retry_after
    return None


def amounts():
    return {(row.what, row.client): row.amount for row in DailyAmount.select()}


def test_a_client_has_so_much_in_a_day_and_its_wide_network_three_times_as_much(stopped):
    assert add(CLIENT, 60) is None
    stopped.forward(hours=1)
    assert add(CLIENT, 40) is None
    assert add(CLIENT, 1) == 23 * 3600
    # What was refused is not counted, neither for the wide network.
    assert amounts() == {("bytes", "narrow"): 100, ("bytes", "wide"): 100}
    assert [add(NEIGHBOR, 100), add(("third", "wide"), 100)] == [None, None]
    assert add(("fourth", "wide"), 1) == 23 * 3600
    assert add(ELSEWHERE, 101) == 24 * 3600 and add(ELSEWHERE, 100) is None
    assert add(CLIENT, 100, what="addresses") is None
    assert add((), 1000) is None
    stopped.forward(hours=23)
    assert add(CLIENT, 100) is None
    assert amounts()["bytes", "narrow"] == 100


def test_an_amount_is_counted_with_the_transaction_only():
    with pytest.raises(KeyError), write_transaction():
        add(CLIENT, 100)
        raise KeyError
    assert amounts() == {}


def test_what_is_old_is_deleted(stopped):
    add(CLIENT, 1)
    stopped.forward(days=1)
    add(ELSEWHERE, 1)
    stopped.forward(days=1, seconds=1)
    daily_counts.forget_old()
    assert {network for _, network in amounts()} == {*ELSEWHERE}


@pytest.mark.sql
def test_clients_of_one_network_are_counted_one_after_another(database_url):
    clients = [(f"n{n}", "wide") for n in range(6)]
    calls = [partial(add, client, 100) for client in clients]
    answers = meeting_before_writes(database_url, "daily_amounts", *calls)
    assert sum(each is None for each in answers) == 3
    assert amounts()["bytes", "wide"] == 300
