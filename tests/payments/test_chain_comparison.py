"""`reconcile --chain`: what was booked is compared with the node."""

import json

import pytest

from tests.support.bad_node import cursor
from tests.support.factories import PRICE, cli, worker_once
from tests.support.refunds import give_back, overpay, settle
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payments import Payment
from ticketing.models.refunds import Refund
from ticketing.services.payments import chain_comparison, reconciliation
from ticketing.worker.history_gap import SEEN_FOR

RULE_COUNT = len(reconciliation.RULES)

pytestmark = [pytest.mark.usefixtures("bad_node", "unforgetting"), pytest.mark.exhaustive]

HASH = "0x" + "12" * 32
ADDRESS = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"


@pytest.fixture
def refunded(bad_node, acme, node):
    """An order that paid too much and got it back. Another one is paid."""
    buyer = overpay(acme, node)
    acme.buyer(acme.ticket()).pay(node)
    assert settle(acme, buyer, give_back(node, 7)).json["refunded"] == 7
    worker_once(acme.app)
    return buyer


def compare(acme, exit_code=0, *options):
    return cli(acme.app, "reconcile", "--chain", *options, exit_code=exit_code)


@pytest.fixture(params=[1, 50], ids=["pages of one", "one page"])
def pages(request, monkeypatch):
    monkeypatch.setattr(chain_comparison, "ROWS_PER_PAGE", request.param)


def test_right_books_are_right(acme, refunded, pages, bad_node):
    assert compare(acme).endswith(", 3 booked transfers are on their chains\n")
    assert compare(acme, 0, "--tenant", "acme").startswith(
        f"the books are right: {RULE_COUNT} rules, 2 "
    )
    assert json.loads(compare(acme, 0, "--json")) == {
        "ok": True,
        "breaches": [],
        "compared": 3,
        "not_compared": [],
    }
    bad_node.calls.clear()
    cli(acme.app, "reconcile")
    assert bad_node.calls.total() == 0


DIFFERENCES = (
    (Payment, {"block_hash": HASH}, "has the hash 0x"),
    (Payment, {"tx_hash": HASH}, f"does not have transaction {HASH}, log 0"),
    (Payment, {"log_index": 5}, "there is no transfer of the token in transaction 0x"),
    (Payment, {"sender": ADDRESS}, "its sender is 0x"),
    (Payment, {"amount": PRICE + 6}, f"its amount is {PRICE + 7} and dust 0, not"),
    (Payment, {"dust": 1}, f"its amount is {PRICE + 7} and dust 0, not {PRICE + 7} and dust 1"),
    (Refund, {"block_hash": HASH}, "has the hash 0x"),
    (Refund, {"tx_hash": HASH}, f"does not have transaction {HASH}, log 0"),
    (Refund, {"log_index": 5}, "there is no transfer of the token in transaction 0x"),
    (Refund, {"recipient": ADDRESS}, "its recipient is 0x"),
    (Refund, {"amount": 8}, "it has 7, and 8 of it were counted as refunds"),
)
"""Changes of a row, and what is said about them."""


def test_each_difference_is_printed(acme, refunded):
    for model, columns, said in DIFFERENCES:
        row = model.get(model.intent == refunded.intent["id"])
        model.update(columns).where(model.id == row.id).execute()
        (line,) = [each for each in compare(acme, 1).splitlines() if "_on_chain  " in each]
        rule = "payment_on_chain" if model is Payment else "refund_on_chain"
        assert line.startswith(f"{rule}  {row.id} {row.intent_id}  ")
        assert said in line
        row.save()
    model.update(columns).where(model.id == row.id).execute()
    result = json.loads(compare(acme, 1, "--json"))
    assert not result["ok"]
    detail = line.split("  ", 2)[2]
    assert {"rule": rule, "ids": [row.id, row.intent_id], "detail": detail} in result["breaches"]


def test_another_address_of_an_order_is_a_difference(acme, refunded):
    OrderAccount.update(address=ADDRESS).execute()
    assert f"its recipient is {refunded.intent['address'].lower()}, not {ADDRESS}" in (
        compare(acme, 1)
    )


@pytest.mark.parametrize("headers", ["null", "error"])
def test_what_a_node_has_deleted_is_not_called_right(acme, node, refunded, bad_node, headers):
    number = max(each.block_number for each in Payment.select())
    node.rpc("anvil_mine", "0x5")
    worker_once(acme.app)
    bad_node.prune(cursor() - number, headers=headers)
    said = compare(acme, 3)
    reason = chain_comparison.NO_BLOCK if headers == "null" else chain_comparison.REFUSED
    assert f"not compared  chain 31337: 1: {reason}\n" in said
    assert "right" not in said
    assert f"no breach found: {RULE_COUNT} rules, 2 intents, 2 booked transfers are on" in said
    result = json.loads(compare(acme, 3, "--json"))
    assert (result["ok"], result["breaches"], result["compared"]) == (False, [], 2)
    assert result["not_compared"] == [{"chain_id": 31337, "reason": reason, "count": 1}]


def test_a_receipt_that_is_gone_is_no_difference(acme, refunded, bad_node):
    bad_node.answer("eth_getTransactionReceipt", None)
    assert f"chain 31337: 3: {chain_comparison.NO_RECEIPT}\n" in compare(acme, 3)


def test_a_node_on_another_fork_proves_nothing(acme, refunded, bad_node):
    bad_node.fork(1)
    assert f"chain 31337: 3: {chain_comparison.OTHER_FORK}\n" in compare(acme, 3)
    bad_node.well()
    bad_node.refuse("eth_chainId", message="internal error")
    assert f"chain 31337: 3: {chain_comparison.REFUSED}\n" in compare(acme, 3)


def test_a_node_that_is_away_proves_nothing(acme, refunded, bad_node):
    bad_node.hangs_up = True
    assert f"chain 31337: 3: {chain_comparison.NO_ANSWER}\n" in compare(acme, 3)


def test_blocks_that_the_worker_has_not_read_are_left_out(three_deep, acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    buyer.purchase()
    assert f"chain 31337: 1: {chain_comparison.NOT_READ}\n" in compare(acme, 3)


def test_a_rate_limit_is_waited_for(acme, refunded, bad_node, monkeypatch):
    waits = []
    monkeypatch.setattr(
        chain_comparison.time, "sleep", lambda _: (waits.append(1), bad_node.well())
    )
    bad_node.max_rate(0)
    compare(acme)
    assert waits == [1]


def test_the_progress_is_shown(acme, refunded, monkeypatch):
    monkeypatch.setattr(chain_comparison, "ROWS_PER_PAGE", 1)
    monkeypatch.setattr("ticketing.cli.reconcile.PROGRESS_EVERY", 2)
    result = acme.app.test_cli_runner().invoke(args=["reconcile", "--chain"])
    assert result.stderr == "2 of 3 booked transfers\n"


def test_a_payment_that_a_purchase_booked_in_a_gap_is_compared(bad_node, acme, node, monkeypatch):
    """The worker never read its block, so it never compared it."""
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    bad_node.fork(cursor() + 1)
    buyer.pay(node)
    assert buyer.purchase().json["status"] == "confirmed"
    bad_node.well()
    node.rpc("anvil_mine", hex(300))
    bad_node.prune(140)
    stopped = StoppedClock(monkeypatch, clock.now())
    for _ in range(2):
        acme.app.test_cli_runner().invoke(args=["worker", "--once"])
        stopped.forward(seconds=SEEN_FOR.total_seconds() + 1)
    bad_node.well()
    worker_once(acme.app)
    cli(acme.app, "reconcile")
    assert f"payment_on_chain  {Payment.get().id} " in compare(acme, 1)
