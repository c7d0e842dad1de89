"""Money that is owed on other networks than the order's: figures, exports and metrics."""

import csv

import pytest

from tests.support.elsewhere import (
    give_back,
    money,
    order,
    paid_twice,
    pay,
    refund,
)
from tests.support.factories import CHAIN, PRICE, cli, worker_once
from ticketing.services import metrics
from tools.anvil import SECOND_CHAIN_ID as SECOND

pytestmark = [pytest.mark.sql, pytest.mark.long]


def test_the_figures_of_two_networks_are_never_added(shop, nodes_of):
    paid_twice(shop, nodes_of, PRICE + 7, 3)
    pay(nodes_of, order(shop), SECOND, 4)
    found = money(shop)
    assert (found[CHAIN]["kept"], found[CHAIN]["owed"], found[CHAIN]["open"]) == (PRICE, 7, 0)
    assert (found[SECOND]["kept"], found[SECOND]["owed"], found[SECOND]["open"]) == (0, 3, 4)


def test_exports_have_a_line_for_each_network(shop, nodes_of):
    buyer = paid_twice(shop, nodes_of, PRICE, 3)
    pay(nodes_of, buyer, SECOND, 2)
    event = buyer.intent["event_id"]
    text = shop.api("read").get(f"{shop.path}/events/{event}/payments.csv").text
    rows = list(csv.DictReader(text.lstrip("\ufeff").splitlines()))
    assert sorted((row["chain_id"], row["amount"]) for row in rows) == [
        (str(CHAIN), str(PRICE)),
        (str(SECOND), "2"),
        (str(SECOND), "3"),
    ]
    shown = shop.api("read").get(f"{shop.path}/intents/{buyer.intent['id']}/payments").json["data"]
    assert {(each["chain_id"], each["amount"]) for each in shown} == {
        (CHAIN, PRICE),
        (SECOND, 2),
        (SECOND, 3),
    }


def test_the_metrics_count_each_network(app, shop, nodes_of):
    paid_twice(shop, nodes_of, PRICE + 7, 3)
    found = metrics.read({})
    assert (found.refunds_owed, found.refund_due) == (2, 10)


def test_each_row_is_compared_with_its_own_network(shop, nodes_of):
    buyer = paid_twice(shop, nodes_of, PRICE, 3)
    refund(shop, buyer, "settle", tx_hash=give_back(nodes_of[SECOND], 3), chain_id=SECOND)
    worker_once(shop.app)
    assert "3 booked transfers are on their chains" in cli(shop.app, "reconcile", "--chain")
