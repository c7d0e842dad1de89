"""Whatever happens, in whatever order: the books hold, and in the end they are what the chain says.

HYPOTHESIS_PROFILE=long looks for minutes, at other sequences each time.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.conftest import SECRET_KEY
from tests.fake_chain import FakeChain
from tests.payments_world import World
from ticketing.chain.node import connect
from ticketing.config import load
from ticketing.db import database, open_database
from tools.anvil import TOKEN_ADDRESS

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
START = 1_800_000_000

who = st.integers(0, 4)
seats = st.integers(1, 3)
depths = st.integers(1, 6)
places = st.lists(st.none() | st.integers(0, 6), max_size=3)
amounts = st.sampled_from(["all", "all", "part", "rest", "too much", "mote"])
seconds = st.sampled_from([1, 61, 700, 1000, 5000, 100_000, 300_000])


def event(name: str, *arguments: Any) -> Any:
    return st.tuples(st.just(name), st.tuples(*arguments))


preflights = event("preflight", st.sampled_from([False, False, False, True]), seats)
payments = event("pay", st.lists(st.tuples(who, amounts), min_size=1, max_size=3), st.booleans())
purchases = event("purchase", who)
cancelations = event("cancel", who)
mining = event("mine", st.integers(1, 4))
reorganizations = event("reorganize", depths, places, st.integers(0, 2))
times = event("pass_time", seconds, st.booleans())
nodes = event(
    "set_node", st.booleans(), st.sampled_from([0, 0, 1, 2]), st.sampled_from([1000, 1000, 2])
)
mishaps = st.tuples(
    st.integers(1, 40),
    st.one_of(
        event("kill"),
        event("lose_connection"),
        event("look_after_silence", st.just(2)),
        *(preflights, payments, purchases, cancelations, mining, reorganizations, times, nodes),
    ),
)
maybe = st.none() | mishaps


class Payments(RuleBasedStateMachine):
    """Draws what happens next. `open_world` says on what chain and database."""

    open_world: Callable[..., World]

    @initialize(
        confirmations=st.integers(1, 3),
        capacity=st.integers(1, 4),
        decimals=st.sampled_from([6, 6, 18]),
        skew=st.sampled_from([0, -1200, 7200]),
    )
    def begin(self, **settings: int) -> None:
        self.world = self.open_world(**settings)

    @rule(event=preflights, mishap=maybe)
    def preflight(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @rule(event=payments)
    def pay(self, event: Any) -> None:
        self.world.do(event)

    @rule(event=payments)
    def pay_more(self, event: Any) -> None:
        self.world.do(event)

    @rule(event=event("look", st.integers(0, 1)), mishap=maybe)
    def look(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @rule(event=event("look_after_silence", st.integers(0, 1)), mishap=maybe)
    def look_after_silence(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @rule(event=purchases, mishap=maybe)
    def purchase(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @rule(event=cancelations, mishap=maybe)
    def cancel(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @rule(event=mining)
    def mine(self, event: Any) -> None:
        self.world.do(event)

    @rule(event=times)
    def pass_time(self, event: Any) -> None:
        self.world.do(event)

    @rule(event=reorganizations)
    def reorganize(self, event: Any) -> None:
        self.world.do(event)

    @precondition(lambda self: self.world.model.deepest)
    @rule()
    def include_dropped(self) -> None:
        self.world.do(("include_dropped", ()))

    @rule(event=nodes)
    def set_node(self, event: Any) -> None:
        self.world.do(event)

    @rule(event=event("send_refund", who, st.booleans()))
    def send_refund(self, event: Any) -> None:
        self.world.do(event)

    @rule(event=event("settle_refund", who, who), mishap=maybe)
    def settle_refund(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @invariant()
    def nothing_is_left_open(self) -> None:
        assert not database.in_transaction()

    def teardown(self) -> None:
        if hasattr(self, "world") and self.world.whole:
            self.world.heal()


class Client:
    """Stands where RpcClient does."""

    world: World

    def __init__(self, urls: Any) -> None:
        self.batch = self.world.batch


@pytest.fixture
def open_world(database_url, monkeypatch):
    """Make worlds on one database, one after the other; the service's clock and node are theirs."""
    open_database(database_url)
    if database_url.startswith("sqlite"):
        database.execute_sql("PRAGMA synchronous = OFF")
    monkeypatch.setattr("ticketing.chain.node.RpcClient", Client)
    monkeypatch.setattr("ticketing.chain.node.BLOCKS_PER_RANGE", 4)
    monkeypatch.setattr("ticketing.worker.second_look.ADDRESSES_PER_SWEEP", 2)
    monkeypatch.setattr("ticketing.clock.now", lambda: Client.world.clock())

    def open_world(make_chain, confirmations, capacity, decimals, skew):
        connect.cache_clear()
        database.close()
        open_database(database_url)
        chain_id = 31337 if decimals == 6 else 777
        environ = {
            "SECRET_KEY": SECRET_KEY,
            f"RPC_URL_{chain_id}": "http://127.0.0.1:9",
            f"TOKEN_ADDRESS_{chain_id}": TOKEN_ADDRESS,
            f"CONFIRMATIONS_{chain_id}": str(confirmations),
        }
        chain = make_chain(chain_id, decimals)
        Client.world = World(load(environ), chain, capacity=capacity, skew=skew)
        Client.world.found()
        return Client.world

    yield open_world
    connect.cache_clear()
    database.close()


def run(machine: type[Payments], examples: int, steps: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples * 20 if LONG else examples,
            stateful_step_count=steps,
            derandomize=not LONG,
            database=None,
            deadline=None,
            print_blob=LONG,
            # A world takes a moment to be made, and teardown heals it: slow by design.
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )


def test_the_books_hold_on_a_fake_chain(open_world):
    def make_chain(chain_id, decimals):
        return FakeChain(chain_id, TOKEN_ADDRESS, decimals, START)

    class OnFake(Payments):
        def open_world(self, **settings):
            return open_world(make_chain, **settings)

    run(OnFake, examples=100, steps=30)
