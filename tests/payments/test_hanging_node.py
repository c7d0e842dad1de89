"""A node that hangs, or gets no requests: what buyers get, and what all others see."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.bad_node import is_unavailable, short_timeout
from tests.support.processes import variables_of
from tests.support.remote import eventually
from tests.support.waits import assert_wait_little, usual_seconds
from ticketing.chain import endpoint
from ticketing.chain.node import connect
from ticketing.constants import LOOKS_AT_ONCE

pytestmark = pytest.mark.long

PURCHASES, PROCESSES = 32, 2


@pytest.fixture
def variables(database_url, bad_node):
    return variables_of(database_url, bad_node.url, WEB_CONCURRENCY=str(PROCESSES))


@pytest.mark.parametrize("orders", [1, PURCHASES])
def test_a_node_that_hangs_stops_nobody_else(stack, remote, bad_node, orders):
    ticket = remote.ticket(capacity=None)
    intents = [remote.preflight(ticket).json for _ in range(orders)]
    asked = list(itertools.islice(itertools.cycle(intents), PURCHASES))
    most_waiting = PROCESSES * (1 if orders == 1 else LOOKS_AT_ONCE)
    with ThreadPoolExecutor(PURCHASES) as pool:
        good = [pool.submit(remote.purchase, intent) for intent in asked]
        beside_good = usual_seconds(stack.url, f"{remote.public}/events")
        # While others wait for the node, a purchase is asked to retry.
        assert 402 in {each.result().status for each in good} <= {402, 503}
        bad_node.hang()
        bad_node.requests = 0
        hanging = [pool.submit(remote.purchase, intent) for intent in asked]
        eventually(lambda: sum(each.done() for each in hanging) >= PURCHASES - most_waiting)
        assert_wait_little(stack.url, f"{remote.public}/events", beside_good)
        bad_node.well()
        statuses = [each.result().status for each in hanging]
    # Few requests wait for the node. The others are asked to retry at once.
    assert set(statuses) == {503}
    assert bad_node.requests <= most_waiting


@pytest.fixture
def at_rest(monkeypatch):
    """The clock that measures a node's pause. Only a test moves it."""

    class Time:
        now = 1000.0

        def monotonic(self):
            return self.now

    monkeypatch.setattr(endpoint, "time", Time())
    connect.cache_clear()
    return endpoint.time


@pytest.mark.parametrize("trouble", ["hangs up", "hangs"])
def test_while_a_node_rests_the_answer_is_503_without_a_question(at_rest, bad_node, acme, trouble):
    buyers = [acme.buyer(acme.ticket(capacity=None)) for _ in range(2)]
    bad_node.requests = 0
    if trouble == "hangs":
        bad_node.hang()
    bad_node.hangs_up = trouble == "hangs up"
    with short_timeout():
        assert is_unavailable(buyers[0].purchase())
    assert bad_node.requests == 1
    bad_node.well()
    at_rest.now += endpoint.SILENT_SECONDS - 0.1
    for buyer in buyers:
        assert is_unavailable(buyer.purchase())
        assert is_unavailable(buyer.cancel())
    assert bad_node.requests == 1
    at_rest.now += 0.2
    assert buyers[0].purchase().status_code == 402
