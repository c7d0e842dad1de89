"""How SQLite adds up an organizer's money. It has no statistics, so it may take a wrong index.

`make bench-growth` measures it in a shop with many orders.
"""

import pytest

from tests.support.databases import on_sqlite
from tests.support.query_plans.recorder import Explainer, Recorder
from tests.support.wallets import use_address
from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.models.order_accounts import OrderAccount
from ticketing.services.money import collectable
from ticketing.services.money.collectable import Asked
from tools import anvil

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


def test_what_can_be_collected_is_added_up_in_indexes(acme, explained):
    use_address(acme.id, anvil.SELLER, anvil.CHAIN_ID)
    asked = Asked(acme.id, anvil.CHAIN_ID, anvil.TOKEN_ADDRESS)
    cursor = Block(100, "0x" + "0" * 64, clock.now())

    plans = explained(lambda: collectable.totals(asked, cursor, clock.now()))

    (plan,) = (text for sql, text in plans.items() if "of_account" in sql)
    assert "USING COVERING INDEX money_of_tenant (tenant_id=? AND chain_id=? AND " in plan
    # Once for each account, however often the sum is used, and for the few that are not final.
    of_accounts, *of_few = plan.split("LIST SUBQUERY")
    for part in (of_accounts, *of_few):
        assert part.count("USING COVERING INDEX collections_of_account (account_id=?)") == 1
    assert len(of_few) == 2 and all("payments_of_block (chain_id=? AND " in few for few in of_few)


def test_payments_that_are_not_final_are_found_by_their_accounts(app, explained):
    """By their chain, these would be all payments of it."""
    terms = {"chain_id": anvil.CHAIN_ID, "token_address": anvil.TOKEN_ADDRESS, "token_decimals": 6}
    terms |= {"address": anvil.SELLER, "required_confirmations": 3}
    accounts = [OrderAccount(id=number, **terms) for number in range(collectable.PAGE)]
    cursor = Block(100, "0x" + "0" * 64, clock.now())

    (plan,) = explained(lambda: collectable._pending_atomic(accounts, cursor)).values()

    assert "(account_id=?" in plan and "payments_of_block" not in plan
