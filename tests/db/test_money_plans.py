"""How SQLite adds up an organizer's money. It has no statistics, so it may take a wrong index.

`make bench-growth` measures it in a shop with many orders.
"""

import secrets

import pytest

from tests.support.databases import on_sqlite
from tests.support.query_plans.recorder import Explainer, Recorder
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.money import collectable

pytestmark = on_sqlite


@pytest.fixture
def explained():
    """A function that runs another one, and returns the plans of its statements as text."""

    def explain(read):
        recorder = Recorder()
        recorder.where = "money"
        read()
        recorder.where = None
        explainer = Explainer()
        return {each.sql: explainer.plan(each).text for each in recorder.statements.values()}

    return explain


def test_the_newest_payments_of_orders_are_found_by_the_orders(acme, explained):
    """By their chain, these would be all payments of it."""
    orders = [PaymentIntent(id=f"pi_{secrets.token_hex()}") for _ in range(collectable.PAGE)]

    (plan,) = explained(lambda: collectable._newest_blocks(orders)).values()

    assert "(intent_id=?" in plan and "payments_of_block" not in plan
