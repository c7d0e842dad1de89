"""One order on several chains: the rules hold in any sequence, and each of them is needed.

This is a model of rules (tests/support/networks_model.py): it has no database and no service.
"""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.support.networks_model import CHAINS, OPTIONS, PRICE, RULES, Breach, Order, Rule

chains = st.sampled_from([*OPTIONS, *CHAINS])
amounts = st.sampled_from([1, PRICE // 2, PRICE, PRICE, PRICE + 2])


def machine(without: tuple[Rule, ...]) -> type[RuleBasedStateMachine]:
    class Networks(RuleBasedStateMachine):
        """Draws what happens next, and compares the books before and after."""

        def __init__(self) -> None:
            super().__init__()
            self.order = Order(without)

        def do(self, what: Callable[[], None]) -> None:
            owed = self.order.owed()
            what()
            self.order.check(owed)

        @rule(chain=chains, amount=amounts, is_seen=st.sampled_from([True, True, False]))
        def pay(self, chain: int, amount: int, is_seen: bool) -> None:
            self.do(lambda: self.order.pay(chain, amount))
            if is_seen:
                self.do(lambda: self.order.look(chain))

        @rule(chain=chains, is_final=st.booleans())
        def look(self, chain: int, is_final: bool) -> None:
            self.do(lambda: self.order.look(chain))
            if is_final:
                self.do(lambda: self.order.make_final(chain))

        @rule(chain=chains, which=st.integers(0, 2))
        def reorganize(self, chain: int, which: int) -> None:
            self.do(lambda: self.order.reorganize(chain, which))

        @rule(chain=st.sampled_from(OPTIONS))
        def choose(self, chain: int) -> None:
            self.do(lambda: self.order.choose(chain))

        @rule(chain=st.sampled_from(OPTIONS))
        def ask_back(self, chain: int) -> None:
            self.do(lambda: self.order.ask_back(chain))

        @rule(chain=chains, happens=st.sampled_from(["list", "pay list", "by hand", "waive"]))
        def give_back(self, chain: int, happens: str) -> None:
            order = self.order
            self.do(
                {
                    "list": lambda: order.list_due(chain),
                    "pay list": lambda: order.pay_list(chain),
                    "by hand": lambda: order.refund_unassigned(chain, PRICE // 2),
                    "waive": lambda: order.waive(chain),
                }[happens]
            )

        @rule(down=st.sets(chains, max_size=2))
        def expire(self, down: set[int]) -> None:
            self.do(lambda: self.order.expire(down))

        @rule(chain=st.sampled_from(OPTIONS), then=chains, is_lost=st.booleans())
        def pay_late(self, chain: int, then: int, is_lost: bool) -> None:
            """A sequence that is unlikely by chance: the late payment is lost, and others come."""
            order = self.order
            self.do(lambda: order.expire(()))
            self.pay(chain, PRICE, True)
            if is_lost:
                self.do(lambda: order.reorganize(chain, -1))
                self.do(lambda: order.expire(()))
                self.pay(then, PRICE // 2, True)

        @rule(is_wanted=st.integers(0, 3))
        def cancel(self, is_wanted: int) -> None:
            if is_wanted == 3:
                self.do(self.order.cancel)

        @rule(happens=st.sampled_from(["sell out", "seats", "settling", "settled", "reach"]))
        def change(self, happens: str) -> None:
            order = self.order
            self.do(
                {
                    "sell out": lambda: order.sell_out(True),
                    "seats": lambda: order.sell_out(False),
                    "settling": lambda: order.settle_transfer(True),
                    "settled": lambda: order.settle_transfer(False),
                    "reach": order.reach,
                }[happens]
            )

    return Networks


def run(without: tuple[Rule, ...] = (), *, examples: int) -> None:
    run_state_machine_as_test(
        machine(without),
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.long
def test_the_rules_of_several_networks_hold_in_any_sequence():
    run(examples=150)


@pytest.mark.long
def test_the_rules_of_several_networks_hold_for_long():
    run(examples=3000)


@pytest.mark.parametrize(
    "left_out", ["unassigned", *(pytest.param(rest, marks=pytest.mark.long) for rest in RULES[1:])]
)
def test_without_one_rule_a_buyer_or_the_organizer_loses(left_out):
    # It ends with the first breach. Hypothesis draws otherwise if other modules are imported, too.
    with pytest.raises(Breach):
        run((left_out,), examples=10_000)
