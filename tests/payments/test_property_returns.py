"""Seats that are given back, in any sequence of events: the books stay right.

The worlds of test_property.py seldom sell out, and have doors that are open. These are small ones,
sold out at once, with doors that open tomorrow.
"""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.payments.test_property import run
from tests.support.databases import only_once
from tests.support.property import events as draw
from tests.support.property.world import World
from tests.support.property.worlds import fake_chain
from ticketing.models.admissions import Admission
from ticketing.models.payment_intents import PaymentIntent

pytestmark = pytest.mark.long

LOOK = ("look_after_silence", (0,))


class Returns(RuleBasedStateMachine):
    """Sells a world out, and draws what holders, buyers and the organizer do then."""

    open_world: Callable[..., World]

    @initialize(
        capacity=st.integers(1, 3),
        confirmations=st.integers(1, 3),
        is_free=st.booleans(),
        fee=st.sampled_from([0, 10, 50]),
        of_event=st.sampled_from([None, None, 3]),
    )
    def begin(
        self, capacity: int, confirmations: int, is_free: bool, fee: int, of_event: int | None
    ) -> None:
        """Sell all seats of one type, of which each can be given back."""
        self.world = self.open_world(capacity=capacity, confirmations=confirmations)
        self.is_free = is_free
        far = ("set_early", (False, 20))
        for event in [LOOK, far, ("change_returns", ("when_resold", fee))]:
            self.world.do(event)
        for _ in range(capacity):
            self._buy()
        self._settle()
        if of_event is not None:
            self.world.do(("set_capacity", (of_event,)))
        for who in range(capacity):
            self.world.do(("state_address", (who, 0)))

    def _buy(self, amount: str = "all", mishap: Any = None) -> None:
        self.world.do(("preflight", (self.is_free, 1)), mishap)
        for event in [("pay", ([(-1, amount)], True)), ("purchase", (-1,))]:
            self.world.do(event)

    def _settle(self, mishap: Any = None) -> None:
        self.world.do(("mine", (self.world.settings.confirmations,)))
        self.world.do(LOOK, mishap)

    @property
    def is_given_back(self) -> bool:
        """Whether a seat is given back now."""
        return bool(Admission.select().where(Admission.returned_at.is_null(False)).exists())

    @property
    def is_wanted(self) -> bool:
        """Whether an order waits for a seat that is given back."""
        return bool(PaymentIntent.select().where(PaymentIntent.pooled > 0).exists())

    @rule(who=draw.who, mishap=draw.maybe)
    def give_back(self, who: int, mishap: Any) -> None:
        self.world.do(("state_address", (who, 0)))
        self.world.do(("give_back", (who,)), mishap)

    @precondition(lambda self: self.is_given_back)
    @rule(amount=st.sampled_from(["all", "all", "part"]), mishap=draw.maybe)
    def buy(self, amount: str, mishap: Any) -> None:
        self._buy(amount, mishap)

    @precondition(lambda self: self.is_given_back)
    @rule(who=draw.who, mishap=draw.maybe)
    def keep(self, who: int, mishap: Any) -> None:
        self.world.do(("keep", (who,)), mishap)

    @precondition(lambda self: self.is_wanted)
    @rule(mishap=draw.maybe)
    def settle(self, mishap: Any) -> None:
        self._settle(mishap)

    @precondition(lambda self: self.is_wanted)
    @rule(mishap=draw.maybe)
    def sell_on(self, mishap: Any) -> None:
        self.world.do(("sell_on", ()), mishap)

    @precondition(lambda self: self.is_given_back)
    @rule(
        event=draw.voids | draw.offers | draw.acceptances | draw.reissues | draw.scans | draw.undos,
        mishap=draw.maybe,
    )
    def use(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)

    @precondition(lambda self: self.is_wanted)
    @rule(
        event=draw.cancelations | draw.reorganizations | draw.times | draw.of_refunds | draw.terms,
        mishap=draw.maybe,
    )
    def disturb(self, event: Any, mishap: Any) -> None:
        self.world.do(event, mishap)
        self.world.do(LOOK)

    @rule(doors=st.sampled_from([0, 3, 5, 20, 20, 20]))
    def open_doors(self, doors: int) -> None:
        """In some hours: seats can be given back until 4 hours before."""
        self.world.do(("set_early", (False, doors)))
        self.world.do(("sell_on", ()))

    @rule(is_meant=st.integers(0, 9), refund=st.sampled_from([True, False]))
    def cancel_event(self, is_meant: int, refund: bool) -> None:
        """Rare: nothing is sold after it."""
        if is_meant == 9:
            self.world.do(("end_sale", (True, refund)))

    def teardown(self) -> None:
        if hasattr(self, "world") and self.world.whole:
            self.world.heal()


def on_fake_chain(new_world: Any) -> type[Returns]:
    class OnFake(Returns):
        def open_world(self, **settings: Any) -> World:
            return new_world(fake_chain(6), fake_chain(6, 1), **settings)

    return OnFake


def test_what_is_given_back_is_sold_on_once(new_world):
    run(on_fake_chain(new_world), examples=8)


@only_once
def test_what_is_given_back_is_sold_on_once_for_long(new_world):
    run(on_fake_chain(new_world), examples=40, is_long=True)
