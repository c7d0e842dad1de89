"""One transfer for several orders: shared out up to its value, once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from tests.support.factories import worker_once
from tests.support.fake_chain import Send
from tests.support.property.worlds import fake_chain
from tests.support.refunds import (
    FRIEND_ADDRESS,
    STRANGER_ADDRESS,
    give_back,
    overpay,
    refund_in_the_last_block,
    settle,
    settled,
    state,
)
from ticketing.db.connection import database
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.refunds import Refund
from ticketing.services.access.audit_log import Actor
from ticketing.services.payments import refund_settlement

pytestmark = [pytest.mark.sql, pytest.mark.long]


def test_one_transfer_pays_the_refunds_of_two_orders(acme, node):
    first, second = overpay(acme, node), overpay(acme, node, 5)
    tx_hash = give_back(node, 12)
    assert settled(acme, first, tx_hash) == 7
    assert settled(acme, second, tx_hash) == 5


def test_it_is_shared_out_up_to_its_value(acme, node):
    first, second, third = (overpay(acme, node) for _ in range(3))
    tx_hash = give_back(node, 10)
    assert settled(acme, first, tx_hash) == 7
    assert settled(acme, second, tx_hash) == 3
    assert settled(acme, third, tx_hash) == 0
    assert [each.now()["refund_due"] for each in (first, second, third)] == [0, 4, 7]


def test_another_tenants_use_of_a_transfer_does_not_matter(acme, neighbour, node, overpaid):
    """Who pays both tenants cannot keep one of them from settling, and learns nothing."""
    theirs = overpay(neighbour, node)
    tx_hash = give_back(node, 7)
    assert settled(acme, overpaid, tx_hash) == 7
    assert settled(neighbour, theirs, tx_hash) == 7


def test_a_share_that_was_taken_back_can_be_used_again(acme, node, overpaid):
    other = overpay(acme, node)
    tx_hash, transaction = refund_in_the_last_block(acme, node, overpaid)
    node.rpc("anvil_reorg", 1, [])
    worker_once(acme.app)
    node.rpc("eth_sendRawTransaction", transaction)
    node.rpc("anvil_mine", "0x1")
    assert settled(acme, other, tx_hash) == 7
    assert settled(acme, overpaid, tx_hash) == 0


def test_a_transaction_that_moved_waits_for_the_worker(acme, node, overpaid):
    """Otherwise one transfer would count in its old block and in its new one."""
    other = overpay(acme, node)
    tx_hash, transaction = refund_in_the_last_block(acme, node, overpaid)
    node.rpc("anvil_reorg", 1, [[transaction, 0]])
    answer = settle(acme, other, tx_hash)
    assert (answer.status_code, answer.json["code"]) == (503, "chain_unavailable")
    worker_once(acme.app)
    assert settled(acme, other, tx_hash) == 7
    assert overpaid.now()["refund_due"] == 7


def test_two_orders_at_once_get_no_more_than_the_transfers_value(acme, node, monkeypatch):
    """Both are made to read what is left before one of them writes, if nothing prevents it."""
    orders = [overpay(acme, node), overpay(acme, node)]
    tx_hash = give_back(node, 10)
    both_read = threading.Barrier(2)
    recorded = refund_settlement._recorded

    def read_together(*arguments):
        found = recorded(*arguments)
        # The lock of the tenant keeps the other one out.
        with suppress(threading.BrokenBarrierError):
            both_read.wait(timeout=1)
        return found

    monkeypatch.setattr(refund_settlement, "_recorded", read_together)

    def settle_one(buyer):
        try:
            return settled(acme, buyer, tx_hash)
        finally:
            database.close()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(settle_one, orders)) == [3, 7]
    assert sum(refund.amount for refund in Refund.select()) == 10


def test_two_transfers_of_one_transaction_count_each_by_its_own_rule(new_world):
    world = new_world(fake_chain(6), confirmations=1, capacity=4)
    by = Actor("cli", "settle")
    run = [("look", (0,)), ("preflight", (False, 1)), ("pay", ([(0, "too much")], True))]
    for happening in [*run, ("look", (0,))]:
        world.do(happening)
    intent = PaymentIntent.get()
    assert intent.refund_due == 7
    payer, other, third = world.chain.buyers
    sends = [Send(world.chain.organizer, to, 3) for to in (other, payer, third)]
    (tx_hash,) = world.chain.send(sends, int(world.now.timestamp()), apart=False)

    def settle_to(recipient):
        found = refund_settlement.settle(
            intent.tenant_id, intent.id, tx_hash, recipient, world.config.chains, by
        )
        return found.intent.refunded

    assert [settle_to(None), settle_to(None)] == [3, 3]
    assert [settle_to(other), settle_to(other), settle_to(None)] == [6, 6, 6]
    assert settle_to(third) == 7
    assert sorted(refund.amount for refund in Refund.select()) == [1, 3, 3]


def test_each_order_has_its_own_payees(acme, node, overpaid):
    other = overpay(acme, node)
    state(overpaid, FRIEND_ADDRESS)
    state(other, STRANGER_ADDRESS)
    tx_hash = give_back(node, 7, to=FRIEND_ADDRESS)
    assert settled(acme, other, tx_hash) == 0
    assert settled(acme, overpaid, tx_hash) == 7
