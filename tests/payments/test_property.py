"""In any sequence of events the books stay right, and in the end they match the chain.

Each run tries the same sequences. HUNT=1 tries others each time.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack
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

from tests.support.databases import only_once
from tests.support.property import events as draw
from tests.support.property.anvil_chain import AnvilChain
from tests.support.property.world import World
from tests.support.property.worlds import chain_ids_of, fake_chain
from tools.anvil import Anvil

pytestmark = pytest.mark.long

IS_HUNT = "HUNT" in os.environ


class Payments(RuleBasedStateMachine):
    """Draws the next event. `open_world` creates the world, with its chains and database."""

    open_world: Callable[..., World]

    @initialize(
        depths=st.sampled_from([(1, 0), (2, 0), (3, 0), *[(2, 1), (3, 1), (3, 2)] * 2]),
        capacity=st.integers(1, 6),
        decimals=st.sampled_from([6, 6, 18]),
        skew=st.sampled_from([0, -1200, 7200]),
        tolerance=draw.tolerances,
        orders=st.lists(draw.preflights, max_size=2),
        looked=st.sampled_from([True, True, False]),
        switch=draw.mostly_early,
        blocks=st.integers(0, 2),
    )
    def begin(
        self,
        depths: tuple[int, int],
        orders: Any,
        looked: bool,
        switch: Any,
        blocks: int,
        **settings: Any,
    ) -> None:
        """`depths`: how many blocks are final, and early. 0: no order is early.

        Otherwise the world begins with an order that may be early: unlikely by chance.
        """
        settings["confirmations"], settings["early"] = depths
        if settings["early"]:
            # A chain outside the registry has no early orders.
            settings |= {"decimals": 6, "capacity": max(3, settings["capacity"])}
        if settings["decimals"] != 6:
            # Not the local chain: a clock more than an hour ahead of ours is refused.
            settings["skew"] = min(settings["skew"], 3000)
        self.world = self.open_world(**settings)
        look = ("look", (0,))
        for event in [look] * looked + orders:
            self.world.do(event)
        if settings["early"]:
            payment = ("pay", ([(-1, "all")], True))
            order = ("preflight", (False, 1))
            for event in [switch, look, order, payment, ("mine", (blocks,)), look]:
                self.world.do(event)

    @rule(event=draw.preflights, mishap=draw.maybe)
    def preflight(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.has_intents)
    @rule(event=draw.payments)
    def pay(self, event: Any) -> None:
        self.world.do(event)

    @rule(
        quantity=st.integers(1, 2),
        first=draw.elsewhere | draw.elsewhere | draw.payments,
        rest=st.lists(
            draw.elsewhere | draw.homes | draw.payments | draw.reorganizations | draw.looks,
            max_size=4,
        ),
        wait=st.sampled_from([0, 0, 5000, 100_000]),
        mishap=draw.maybe,
    )
    def pay_elsewhere(self, quantity: int, first: Any, rest: Any, wait: int, mishap: Any) -> None:
        """Pay an order on several chains, in time or late, and move it."""
        look = ("look_after_silence", (0,))
        late = [("pass_time", (wait, True)), look] * (wait > 0)
        for event in [look, ("preflight", (False, quantity)), look, *late, first, *self._wait()]:
            self.world.do(event)
        for event in [*rest, look]:
            self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.has_intents)
    @rule(
        payment=draw.payments,
        looks=st.lists(st.one_of(draw.looks, draw.purchases), max_size=1),
        reorganization=draw.reorganizations,
        rest=st.lists(
            st.one_of(draw.mining, draw.looks, draw.purchases, draw.cancelations), max_size=3
        ),
    )
    def lose_sight_of_a_payment(
        self, payment: Any, looks: Any, reorganization: Any, rest: Any
    ) -> None:
        """A sequence that is unlikely by chance: paid, seen, gone, requested again."""
        for event in [payment, *looks, reorganization, *rest]:
            self.world.do(event)

    @precondition(lambda self: self.world.model.has_intents)
    @rule(event=draw.collects | draw.collects | draw.wallets, mishap=draw.maybe)
    def collect(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.has_intents)
    @rule(
        payment=draw.payments,
        before=st.lists(st.one_of(draw.looks, draw.purchases, draw.cancelations), max_size=2),
        collect=draw.collects,
        between=st.lists(st.one_of(draw.mining, draw.reorganizations), max_size=1),
        look=draw.looks,
    )
    def pay_collect_and_pay_again(
        self, payment: Any, before: Any, collect: Any, between: Any, look: Any
    ) -> None:
        """A sequence that is unlikely by chance: afterwards, receivers hold what they held."""
        for event in [payment, *before, collect, *between, payment, look]:
            self.world.do(event)

    @rule()
    def let_everything_end(self) -> None:
        """Move the clock so far that the logs of ended orders are not read any more."""
        for event in [("pass_time", (100_000, True)), ("look_after_silence", (0,))]:
            self.world.do(event)

    @rule(event=draw.event("look", st.integers(0, 1)), mishap=draw.maybe)
    def look(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @rule(event=draw.looks, mishap=draw.maybe)
    def look_after_silence(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.has_intents)
    @rule(event=draw.purchases, mishap=draw.maybe)
    def purchase(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.has_intents)
    @rule(event=draw.cancelations, mishap=draw.maybe)
    def cancel(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @rule(event=draw.mining)
    def mine(self, event: Any) -> None:
        self.world.do(event)

    @rule(event=draw.times)
    def pass_time(self, event: Any) -> None:
        self.world.do(event)

    @rule(event=draw.reorganizations)
    def reorganize(self, event: Any) -> None:
        self.world.do(event)

    @precondition(lambda self: self.world.model.deepest)
    @rule()
    def include_dropped(self) -> None:
        self.world.do(("include_dropped", ()))

    @rule(event=draw.nodes)
    def set_node(self, event: Any) -> None:
        self.world.do(event)

    @rule(
        event=draw.terms | draw.settings | draw.of_vouchers | draw.return_terms, mishap=draw.maybe
    )
    def change_terms(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.has_intents)
    @rule(event=draw.ends_of_sale, is_wanted=st.integers(0, 3), mishap=draw.maybe)
    def end_sale(self, event: Any, is_wanted: int, mishap: Any) -> None:
        """Rare: after this, nothing is sold in this world."""
        if is_wanted == 3:
            self.world.do(event, mishap)

    @rule(
        quantity=st.integers(1, 2),
        elsewhere=st.booleans(),
        amount=st.sampled_from(["all", "nearly", "too much"]),
        rest=st.lists(draw.of_admissions | draw.at_the_door, max_size=3),
        mishap=draw.maybe,
    )
    def sell(self, quantity: int, elsewhere: bool, amount: str, rest: Any, mishap: Any) -> None:
        """Confirm an order, and use its admissions: unlikely by chance."""
        order = ("preflight", (False, quantity, elsewhere))
        payment = ("pay", ([(-1, amount)], True))
        for event in [order, payment, *self._wait()]:
            self.world.do(event)
        for event in rest:
            self.world.do(event, mishap)

    @rule(
        switch=draw.mostly_early,
        order=draw.plain | draw.plain | draw.carts | draw.vouchered,
        amount=st.sampled_from(["all", "all", "nearly", "too much"]),
        blocks=st.integers(0, 2),
        reorganization=st.none() | draw.reorganizations,
        rest=st.lists(draw.of_admissions | draw.earliness | draw.mining | draw.looks, max_size=4),
        mishap=draw.maybe,
    )
    def confirm_early(
        self,
        switch: Any,
        order: Any,
        amount: str,
        blocks: int,
        reorganization: Any,
        rest: Any,
        mishap: Any,
    ) -> None:
        """Confirm an order before it is final, if that is allowed, and use its admissions."""
        look = ("look_after_silence", (0,))
        paid = [switch, look, order, ("pay", ([(-1, amount)], True)), ("mine", (blocks,)), look]
        for event in paid:
            self.world.do(event)
        for event in [*rest, *([reorganization, look] if reorganization else [])]:
            self.world.do(event, mishap)

    @rule(
        quantity=st.integers(1, 3),
        more=st.lists(st.sampled_from(["nearly", "mote", "rest", "rest", "part"]), max_size=2),
        voids=st.lists(draw.voids, max_size=2),
        rest=st.lists(draw.reorganizations | draw.of_refunds | draw.looks, max_size=3),
        is_canceled=st.integers(0, 5),
        mishap=draw.maybe,
    )
    def forgive(
        self, quantity: int, more: Any, voids: Any, rest: Any, is_canceled: int, mishap: Any
    ) -> None:
        """Pay a little less than an order costs, void seats, add some of it, and lose it again."""
        settings = ("change_tolerance", ((5, 1_500_000),))
        order, first = ("preflight", (False, quantity)), ("pay", ([(-1, "nearly")], True))
        for event in [settings, order, first, *self._wait(), *voids]:
            self.world.do(event)
        for amount in more:
            self.world.do(("pay", ([(-1, amount)], True)))
            self.world.do(("look_after_silence", (0,)))
        ended = [("end_sale", (True, True))] * (is_canceled == 5)
        for event in [*rest, *ended]:
            self.world.do(event, mishap)

    @rule(
        order=draw.vouchered,
        rest=st.lists(draw.voids | draw.vouchered | draw.of_vouchers, max_size=3),
        mishap=draw.maybe,
    )
    def sell_with_voucher(self, order: Any, rest: Any, mishap: Any) -> None:
        """Confirm an order with a voucher, which may cost nothing, and void some of its seats."""
        payment, purchase = ("pay", ([(-1, "all")], True)), ("purchase", (-1,))
        for event in [order, payment, *self._wait(), purchase]:
            self.world.do(event)
        for event in rest:
            self.world.do(event, mishap)

    @rule(
        order=draw.vouchered,
        voids=st.lists(draw.voids, max_size=2),
        refunds=st.sampled_from([[None], [True], [False], [False, True]]),
        is_wanted=st.integers(0, 3),
        mishap=draw.maybe,
    )
    def cancel_event_with_voucher(
        self, order: Any, voids: Any, refunds: Any, is_wanted: int, mishap: Any
    ) -> None:
        """Cancel the event after orders with a voucher: rare, because nothing is sold after it."""
        if is_wanted < 3:
            return
        live, payment, purchase = order, ("pay", ([(-1, "all")], True)), ("purchase", (-1,))
        for event in [order, payment, *self._wait(), purchase, *voids, live]:
            self.world.do(event)
        for refund in refunds:
            self.world.do(("end_sale", (True, refund)), mishap)

    @rule(
        order=draw.vouchered,
        changes=st.lists(draw.of_vouchers | draw.terms | draw.vouchered, max_size=1),
        wait=st.sampled_from([5000, 5000, 100_000]),
        between=st.lists(draw.of_vouchers | draw.terms, max_size=1),
        mishap=draw.maybe,
    )
    def pay_late_with_voucher(
        self, order: Any, changes: Any, wait: int, between: Any, mishap: Any
    ) -> None:
        """A sequence that is unlikely by chance: the code has changed when the money comes."""
        ended = [("pass_time", (wait, True)), ("look_after_silence", (0,))]
        for event in [order, *ended, *changes, ("pay", ([(-1, "all")], True)), *between]:
            self.world.do(event)
        self.world.do(("mine", (self.world.settings.confirmations,)))
        self.world.do(("look_after_silence", (0,)), mishap)

    @precondition(lambda self: self.world.model.has_admissions)
    @rule(events=st.lists(draw.of_admissions, min_size=1, max_size=3), mishap=draw.maybe)
    def use_admission(self, events: Any, mishap: Any) -> None:
        for event in events:
            self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.has_admissions)
    @rule(events=st.lists(draw.at_the_door, min_size=1, max_size=4), mishap=draw.maybe)
    def scan(self, events: Any, mishap: Any) -> None:
        for event in events:
            self.world.do(event, mishap)

    @rule(event=draw.invitations | draw.sizes | draw.earliness, mishap=draw.maybe)
    def organize(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.owes)
    @rule(event=draw.of_refunds, mishap=draw.maybe)
    def refund(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @precondition(lambda self: self.world.model.has_admissions)
    @rule(
        voids=st.lists(draw.voids, max_size=2),
        stated=st.lists(draw.statements | draw.times, max_size=2),
        sent=draw.sent_back,
        settled=st.lists(draw.settlements | draw.reorganizations, min_size=1, max_size=4),
        mishap=draw.maybe,
    )
    def give_back(self, voids: Any, stated: Any, sent: Any, settled: Any, mishap: Any) -> None:
        """Void admissions, send refunds, wait until they are final, and record them."""
        for event in [*voids, *stated, sent, *self._wait()]:
            self.world.do(event)
        for event in settled:
            self.world.do(event, mishap)

    def _wait(self) -> list[Any]:
        return [("mine", (self.world.settings.confirmations,)), ("look_after_silence", (0,))]

    def teardown(self) -> None:
        if hasattr(self, "world") and self.world.whole:
            self.world.heal()


def run(machine: type[RuleBasedStateMachine], examples: int, *, is_long: bool = False) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            derandomize=not IS_HUNT,
            database=None,
            deadline=None,
            print_blob=is_long,
            # It takes many minutes to shorten a long sequence.
            phases=[Phase.generate] if is_long else [Phase.generate, Phase.shrink],
            report_multiple_bugs=False,
            # A world takes time to create, and teardown heals it: slow by design.
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )


def on_fake_chain(new_world):
    class OnFake(Payments):
        def open_world(self, decimals, **settings):
            return new_world(fake_chain(decimals), fake_chain(decimals, 1), **settings)

    return OnFake


def on_real_node(new_world):
    class OnAnvil(Payments):
        def open_world(self, decimals, **settings):
            self.running = ExitStack()
            nodes = {
                chain_id: self.running.enter_context(Anvil(chain_id=chain_id))
                for chain_id in chain_ids_of(decimals)
            }
            chains = [AnvilChain(node, chain_id, decimals) for chain_id, node in nodes.items()]
            return new_world(*chains, **settings)

        def teardown(self):
            try:
                super().teardown()
            finally:
                self.running.close()

    return OnAnvil


def test_the_books_hold_on_a_fake_chain(new_world):
    run(on_fake_chain(new_world), examples=6)


@only_once
def test_the_books_hold_on_a_fake_chain_for_long(new_world):
    run(on_fake_chain(new_world), examples=20, is_long=True)


@only_once
def test_the_books_hold_on_a_real_node(new_world, starts_processes):
    run(on_real_node(new_world), examples=6, is_long=True)
