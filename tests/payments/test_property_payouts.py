"""Whatever people and one lying node do: lists pay no debt twice, and no debt is stuck.

Each run tries the same sequences. HUNT=1 tries others each time, for HUNT_SECONDS.
"""

import os
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from tests.support.payout_hunt.world import (
    CONFIRMATIONS,
    ORDERS,
    PAYEES,
    PAYERS,
    STRANGER,
    PayoutWorld,
    payout_worlds,
)

pytestmark = pytest.mark.long

IS_HUNT = "HUNT" in os.environ
HUNT_SECONDS = float(os.environ.get("HUNT_SECONDS", "60"))
EXAMPLES = 15

whom = st.integers(0, ORDERS - 1)
payers = st.sampled_from(PAYERS)
everybody = st.sampled_from([*PAYERS, STRANGER])
numbers = st.sampled_from([0, 0, 0, 1, 1, 2])
amounts = st.sampled_from([5, 7, 10, 1000])
payees = st.sampled_from([*PAYEES, STRANGER])
lists = st.integers(-3, 3)
"""Which list is signed: the newest is -1."""


class Payouts(RuleBasedStateMachine):
    """Draws the next act. `new_world` creates the world."""

    new_world: Any

    @initialize()
    def begin(self) -> None:
        self.world: PayoutWorld = self.new_world()
        self.is_whole = False

    def act(self, name: str, *arguments: Any, **options: Any) -> None:
        """Let somebody act, and check what must be true."""
        self.is_whole = False
        getattr(self.world, name)(*arguments, **options)
        self.world.check()
        self.is_whole = True

    @rule(payer=payers, only=st.none() | st.lists(whom, min_size=1, max_size=2, unique=True))
    def ask(self, payer: str, only: Any) -> None:
        self.act("ask", payer, only)

    @rule(which=lists)
    def sign(self, which: int) -> None:
        self.act("sign", which)

    @rule(payer=payers, which=lists, blocks=st.integers(0, CONFIRMATIONS))
    def ask_and_sign(self, payer: str, which: int, blocks: int) -> None:
        self.act("ask", payer)
        self.act("sign", which)
        self.act("mine", blocks)

    @rule(blocks=st.sampled_from([0, 1, CONFIRMATIONS, CONFIRMATIONS]))
    def look(self, blocks: int) -> None:
        self.act("mine", blocks)
        self.act("look")

    @rule(
        seconds=st.sampled_from([70, 3600, 25 * 3600, 73 * 3600, 73 * 3600]),
        which=st.sampled_from([(True, True), (True, True), (True, False), (False, True)]),
    )
    def pass_time(self, seconds: int, which: tuple[bool, bool]) -> None:
        here, there = which
        self.act("pass_time", seconds, here=here, there=there)

    @rule(who=whom, amount=amounts, is_final=st.booleans())
    def overpay(self, who: int, amount: int, is_final: bool) -> None:
        self.act("overpay", who, amount)
        self.act("mine", CONFIRMATIONS * is_final)

    @rule(who=whom, which=st.integers(0, len(PAYEES) - 1))
    def state(self, who: int, which: int) -> None:
        self.act("state", who, which)

    @rule(who=whom, payer=everybody, n=numbers, to=payees, amount=amounts, real=st.booleans())
    def use_id(self, **use: Any) -> None:
        self.act("use_id", **use)

    @rule(who=whom, payer=everybody, amount=amounts)
    def send_by_hand(self, **sent: Any) -> None:
        self.act("send_by_hand", **sent)

    @rule(who=whom)
    def collect(self, who: int) -> None:
        self.act("collect", who)

    @rule(depth=st.integers(1, CONFIRMATIONS - 1), drop=st.booleans())
    def reorganize(self, depth: int, drop: bool) -> None:
        self.act("reorganize", depth, drop=drop)

    @rule()
    def include_dropped(self) -> None:
        self.act("include_dropped")

    @rule(who=whom, which=st.integers(-3, 3), named=st.booleans())
    def settle(self, who: int, which: int, named: bool) -> None:
        self.act("settle", who, which, named=named)

    @rule(who=whom, by_hand=st.booleans())
    def mark(self, who: int, by_hand: bool) -> None:
        self.act("mark", who, by_hand=by_hand)

    @rule(who=whom)
    def waive(self, who: int) -> None:
        self.act("waive", who)

    @rule(who=whom, payer=everybody, n=numbers)
    def pass_over(self, who: int, payer: str, n: int) -> None:
        self.act("pass_over", who, payer, n)

    @rule()
    def back_up(self) -> None:
        self.act("back_up")

    @rule()
    def restore(self) -> None:
        self.act("restore")

    @rule()
    def restart(self) -> None:
        self.act("restart")

    @rule(
        url=st.sampled_from([0, 0, 1]),
        kind=st.sampled_from(["down", "lags", "hides", "hides", "event", "event", "payment"]),
        who=whom,
        payer=everybody,
        n=numbers,
        amount=amounts,
        many=st.integers(0, 15),
    )
    def lie(self, **lie: Any) -> None:
        self.act("lie", **lie)

    @rule()
    def be_honest(self) -> None:
        self.act("be_honest")

    def teardown(self) -> None:
        if getattr(self, "is_whole", False):
            self.world.end()


def run(new_world: Any, examples: int) -> None:
    class Here(Payouts):
        pass

    Here.new_world = staticmethod(new_world)
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            derandomize=not IS_HUNT,
            database=None,
            deadline=None,
            print_blob=True,
            phases=[Phase.generate, Phase.shrink],
            report_multiple_bugs=False,
            # A world takes time to create, and ends slowly by design.
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )


@pytest.fixture
def new_payout_world(database_url):
    """A function that creates a world: see tests/support/payout_hunt."""
    with payout_worlds(database_url) as new_world:
        yield new_world


def test_lists_pay_no_debt_twice_and_none_is_stuck(new_payout_world):
    ends = time.monotonic() + HUNT_SECONDS * IS_HUNT
    run(new_payout_world, EXAMPLES)
    while time.monotonic() < ends:
        run(new_payout_world, 10 * EXAMPLES)
