"""Migrating a database with many orders changes no count and no sum.

`make bench-migrating` does the same with 100,000 orders, and measures how long requests wait.
"""

import json

import pytest

from app import create_app
from bench import filling
from tests.support.factories import cli
from tests.support.processes import variables_of
from tests.support.remote import in_process
from ticketing.config import load
from ticketing.db.connection import database
from tools.stack import Stack

pytestmark = pytest.mark.long

ORDERS = 2000


@pytest.fixture
def release():
    """Migrations since then move orders."""
    return "0.9.0"


def test_counts_and_sums_of_2000_orders_are_the_same_after_the_migration(
    empty_url, nodes, root_before, tmp_path
):
    node = nodes.take()
    variables = variables_of(empty_url, node.url, CONFIRMATIONS_31337="1", WEB_CONCURRENCY="1")
    with Stack(variables, log=tmp_path / "before.log", root=root_before) as before:
        before.flask("db", "upgrade")
        before.start_web()
        filled = filling.fill(before, node, ORDERS)
        counted, said = filling.figures(filled), filling.said(filled, filled.organizer.ask)
        assert sum(orders[2] for orders in counted["orders"]) == ORDERS
        assert said["ok"] is True

        assert "0033_released" in in_process(before, "db", "upgrade")

        assert filling.figures(filled) == counted
        released = filling.released(filled)
        assert released.pop("unlike") == 0
        assert len(set(released.values())) == 1 and released["orders"] > 0
        # The version before goes on to serve.
        assert filling.said(filled, filled.organizer.ask) == said
    app = create_app(load(before.environ))
    assert filling.said(filled, asking(app, filled.key)) == said
    assert json.loads(cli(app, "reconcile", "--json")) == {"ok": True, "breaches": []}
    database.close()


def asking(app, key):
    """A function that asks this version as `Organizer.ask` does."""

    def ask(method, path, body, status):
        answer = app.test_client().open(path, method=method, headers={"X-API-Key": key})
        assert answer.status_code == status, answer.json
        return answer.json

    return ask
