"""Migrating a database with many orders changes no count and no sum.

`make bench-migrating` does the same with 100,000 orders, and measures how long requests wait.
"""

import os

import pytest

from bench import filling
from bench.shop import Organizer
from tests.support.processes import audit, variables_of
from tests.support.remote import in_process
from tools import version_before
from tools.stack import Stack, free_port

pytestmark = pytest.mark.long

ORDERS = 2000


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request, tmp_path, starts_processes):
    """A database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ticketing.db"
    return request.getfixturevalue("postgres").create_database(f"many_{os.getpid()}")


def test_counts_and_sums_of_2000_orders_are_the_same_after_the_migration(
    empty_url, nodes, tmp_path
):
    node = nodes.take()
    variables = variables_of(empty_url, node.url, CONFIRMATIONS_31337="1", WEB_CONCURRENCY="1")
    root = version_before.unpack(tmp_path / "before")
    with (
        Stack(variables, log=tmp_path / "before.log", root=root) as before,
        Stack({**variables, "PORT": str(free_port())}, log=tmp_path / "now.log") as now,
    ):
        before.flask("db", "upgrade")
        before.start_web()
        filled = filling.fill(before, node, ORDERS)
        counted, said = filling.figures(filled), filling.said(filled, filled.organizer)
        assert sum(orders[2] for orders in counted["orders"]) == ORDERS
        assert said["ok"] is True
        (day,) = said["sales"]

        assert "0033_released" in in_process(now, "db", "upgrade")

        assert filling.figures(filled) == counted
        released = filling.released(filled)
        assert released.pop("unlike") == 0
        assert len(set(released.values())) == 1 and released["orders"] > 0
        # The version before goes on to serve, and this one begins.
        now.start_web()
        for each in (before, now):
            assert filling.said(filled, Organizer(each, filled.key, filling.TENANT)) == said
        assert audit(now) == {"ok": True, "breaches": []}
        assert day["kept"] + day["owed"] + day["refunded"] > day["amount"] - released["orders"]
