"""Each string of the console's pages of money goes through gettext."""

import pytest

from tests.support.console import sign_in
from tests.support.factories import CHAIN, worker_once
from tests.support.payouts import OTHER, fund, owed, with_address
from tests.support.refunds import account, overpay
from tests.support.translations import mark, not_translated
from ticketing.application import build
from tools import anvil

pytestmark = pytest.mark.exhaustive

MONEY = "/console/money"
SURPLUS = 7_000_000


@pytest.fixture(scope="module")
def built_app():
    """An application of its own: its pages speak another language."""
    app = build()
    mark(app)
    return app


def check(boss, *paths):
    for path in paths:
        page = boss.get(f"{MONEY}{path}")
        assert page.status_code == 200 and not_translated(page.text) == []


def test_pages_of_money(app, node):
    venue = with_address(app, node)
    boss = sign_in(venue)
    form = {"chain_id": CHAIN, "payer": account(node, OTHER)}
    check(boss, "", "/move", "/pay-back")
    owed(venue, node, SURPLUS, 2 * SURPLUS, 1, 1)
    overpay(venue, node)
    buyer = venue.buyer(venue.ticket())
    buyer.pay(node, 1_000_000)
    worker_once(app)
    check(boss, "", "/move", "/pay-back")
    for amount in (0, SURPLUS + 3):
        fund(node, amount, OTHER)
        listed = boss.send(f"{MONEY}/pay-back", form)
        assert not_translated(listed.text) == []
    for _ in range(2):
        to_collect = boss.send(f"{MONEY}/collections", {"chain_id": CHAIN}).json
        for each in to_collect["transactions"]:
            anvil.send(node.rpc, OTHER, {"to": each["to"], "data": each["data"]})
    worker_once(app)
    check(boss, "")
    check(sign_in(venue, "read", "reader@example.org"), "")
    assert boss.send(f"{MONEY}/signed", {"chain_id": 5}).json["sentence"].startswith("⟦")
