"""In any sequence of events the books stay right, and in the end they match the chain.

Long runs try other sequences each time. NO_SHRINK=1 reports a failure without shortening it.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.support.anvil_chain import AnvilChain
from tests.support.payments_world import PRICE, World
from tests.support.worlds import chain_id_of, fake_chain
from tools.anvil import Anvil

# It takes minutes to shorten a failing sequence: not useful while looking for many.
PHASES = [Phase.generate, *([Phase.shrink] if "NO_SHRINK" not in os.environ else [])]

who = st.integers(0, 4)
seats = st.integers(1, 3)
depths = st.integers(1, 6)
places = st.lists(st.none() | st.integers(0, 6), max_size=3)
amounts = st.sampled_from(["all", "all", "part", "rest", "too much", "mote"])
how_much_back = st.sampled_from(["all", "part", "too much"])
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
faults = st.sampled_from(
    [
        *(("lag_head", (blocks,), {}) for blocks in (1, 2)),
        *(("scatter", (blocks,), {"every": every}) for blocks in (1, 3) for every in (2, 3)),
        *(("omit_tip_logs", (blocks,), {}) for blocks in (1, 3)),
        *(("omit_logs", (), {"every": every}) for every in (1, 2)),
        ("omit_new_logs", (), {}),
        *(("max_batch", (most,), {"how": how}) for most in (1, 3) for how in ("error", "items")),
        *(("max_range", (2,), {"how": how}) for how in ("error", "results", "504", "silence")),
        *(
            ("prune", (blocks,), {"headers": how})
            for blocks in (4, 20)
            for how in ("null", "error")
        ),
        ("prune_state", (), {}),
        *(("max_rate", (5,), {"seconds": 4, "how": how}) for how in ("http", "items")),
        *(("misroute", (), {"every": n, "items": items}) for n in (3, 7) for items in (0, 1)),
    ]
)
nodes = event("set_node", st.just(False), st.lists(faults, max_size=2)) | event(
    "set_node", st.just(True), st.just([])
)
prices = st.sampled_from([PRICE - 100, PRICE, PRICE + 100])
terms = event("change_terms", prices, st.sampled_from([None, None, 1, 700, 5000]))
looks = event("look_after_silence", st.integers(0, 1))
anything = st.one_of(
    event("look_after_silence", st.just(2)),
    *(preflights, payments, purchases, cancelations, mining, reorganizations, times, nodes, terms),
    event("end_sale", st.booleans()),
)
ends = st.one_of(event("kill"), event("lose_connection"))
mishaps = st.tuples(
    st.integers(1, 15) | st.integers(1, 40),
    st.lists(ends, min_size=1, max_size=1) | st.lists(anything, min_size=1, max_size=3),
)
maybe = st.none() | mishaps


class Payments(RuleBasedStateMachine):
    """Draws the next event. `open_world` creates the world, with its chain and database."""

    open_world: Callable[..., World]

    @initialize(
        confirmations=st.integers(1, 3),
        capacity=st.integers(1, 4),
        decimals=st.sampled_from([6, 6, 18]),
        skew=st.sampled_from([0, -1200, 7200]),
        orders=st.lists(preflights, max_size=2),
        looked=st.sampled_from([True, True, False]),
    )
    def begin(self, orders: Any, looked: bool, **settings: int) -> None:
        self.world = self.open_world(**settings)
        for event in [("look", (0,))] * looked + orders:
            self.world.do(event)

    @rule(event=preflights, mishap=maybe)
    def preflight(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.has_intents)
    @rule(event=payments)
    def pay(self, event: Any) -> None:
        self.world.do(event)

    @precondition(lambda self: self.world.model.has_intents)
    @rule(
        payment=payments,
        looks=st.lists(st.one_of(looks, purchases), max_size=1),
        reorganization=reorganizations,
        rest=st.lists(st.one_of(mining, looks, purchases, cancelations), max_size=3),
    )
    def lose_sight_of_a_payment(
        self, payment: Any, looks: Any, reorganization: Any, rest: Any
    ) -> None:
        """A sequence that is unlikely by chance: paid, seen, gone, requested again."""
        for event in [payment, *looks, reorganization, *rest]:
            self.world.do(event)

    @rule()
    def let_everything_end(self) -> None:
        """Move the clock so far that the logs of ended orders are not read any more."""
        for event in [("pass_time", (100_000, True)), ("look_after_silence", (0,))]:
            self.world.do(event)

    @rule(event=event("look", st.integers(0, 1)), mishap=maybe)
    def look(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @rule(event=looks, mishap=maybe)
    def look_after_silence(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.has_intents)
    @rule(event=purchases, mishap=maybe)
    def purchase(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.has_intents)
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

    @rule(event=terms)
    def change_terms(self, event: Any) -> None:
        self.world.do(event)

    @precondition(lambda self: self.world.model.has_intents)
    @rule(event=event("end_sale", st.booleans()), is_wanted=st.integers(0, 3), mishap=maybe)
    def end_sale(self, event: Any, is_wanted: int, mishap: Any) -> None:
        """Rare: after this, nothing is sold in this world."""
        if is_wanted == 3:
            self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.owes)
    @rule(event=event("send_refund", who, how_much_back, st.booleans()))
    def send_refund(self, event: Any) -> None:
        self.world.do(event)

    @precondition(lambda self: self.world.refunds_sent)
    @rule(event=event("settle_refund", who, who, st.booleans()), mishap=maybe)
    def settle_refund(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.has_intents)
    @rule(event=event("state_refund_address", who, who))
    def state_refund_address(self, event: Any) -> None:
        self.world.do(event)

    @precondition(lambda self: self.world.model.owes)
    @rule(event=event("waive", who), is_wanted=st.integers(0, 2), mishap=maybe)
    def waive(self, event: Any, is_wanted: int, mishap: Any) -> None:
        """Seldom: otherwise little would be left to be given back."""
        if is_wanted == 2:
            self.world.do(event, mishap)

    def teardown(self) -> None:
        if hasattr(self, "world") and self.world.whole:
            self.world.heal()


def run(machine: type[Payments], examples: int, *, is_long: bool = False) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            derandomize=not is_long,
            database=None,
            deadline=None,
            print_blob=is_long,
            phases=PHASES,
            report_multiple_bugs=False,
            # A world takes time to create, and teardown heals it: slow by design.
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )


def on_fake_chain(new_world):
    class OnFake(Payments):
        def open_world(self, decimals, **settings):
            return new_world(fake_chain(decimals), **settings)

    return OnFake


def on_real_node(new_world):
    class OnAnvil(Payments):
        def open_world(self, decimals, **settings):
            self.node = Anvil(chain_id=chain_id_of(decimals))
            return new_world(AnvilChain(self.node, decimals), **settings)

        def teardown(self):
            try:
                super().teardown()
            finally:
                self.node.stop()

    return OnAnvil


def test_the_books_hold_on_a_fake_chain(new_world):
    run(on_fake_chain(new_world), examples=50)


def test_the_books_hold_on_a_real_node(new_world, starts_processes):
    run(on_real_node(new_world), examples=10)


@pytest.mark.long
def test_the_books_hold_on_a_fake_chain_for_long(new_world):
    run(on_fake_chain(new_world), examples=300, is_long=True)


@pytest.mark.long
def test_the_books_hold_on_a_real_node_for_long(new_world, starts_processes):
    run(on_real_node(new_world), examples=60, is_long=True)
