"""How SQLite finds the orders that the worker watches. Without statistics, it may go wrong."""

from functools import partial

import pytest

from tests.support.databases import on_sqlite
from tests.support.query_plans.recorder import indexes_read_by
from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.services.payments import watched_orders
from tools import anvil

pytestmark = on_sqlite

HERE, ELSEWHERE, TOKEN = anvil.CHAIN_ID, anvil.SECOND_CHAIN_ID, anvil.TOKEN_ADDRESS
BLOCK = Block(100, "0x" + "0" * 64, clock.now())


@pytest.mark.parametrize(
    "read",
    [
        partial(watched_orders.watched_addresses, HERE, TOKEN, BLOCK),
        partial(watched_orders.elsewhere, [HERE], ELSEWHERE, TOKEN, BLOCK.time),
        partial(watched_orders.search_gap, HERE, BLOCK, BLOCK),
    ],
    ids=["by_logs", "elsewhere", "gap"],
)
def test_watched_orders_are_found_in_small_indexes(app, read):
    """By their chain, these would be all orders that it ever had."""
    found = indexes_read_by(read)

    of_accounts = {index for table, index in found if table == "order_accounts"}
    assert of_accounts == {"accounts_live", "accounts_watched"}
