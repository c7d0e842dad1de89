"""One block with more transfers to one order than the provider returns: only that order waits."""

from contextlib import suppress
from datetime import timedelta

import pytest

from tests.support.bad_node import checked_watcher, cursor
from tests.support.factories import PRICE
from ticketing.backoff import Backoff
from ticketing.chain.errors import RpcError
from ticketing.models.payment_intents import PaymentIntent

pytestmark = [pytest.mark.usefixtures("unforgetting"), pytest.mark.long]

MOST = 3


@pytest.fixture
def watcher(bad_node, acme, monkeypatch):
    """A worker after its first look. It repeats searches at once."""
    at_once = Backoff((timedelta(0),))
    monkeypatch.setattr("ticketing.worker.balance_sweep.BACKOFF", at_once)
    return checked_watcher(acme.app)


def pay_in_one_block(node, payments):
    """Mine payments (a buyer and an atomic amount, None: the price) in one block."""
    node.rpc("evm_setAutomine", False)
    token, data = None, "0xa9059cbb"
    (_, sender, *_) = node.rpc("eth_accounts")
    for buyer, amount in payments:
        token = buyer.intent["token_address"]
        to = buyer.intent["address"][2:].lower().rjust(64, "0")
        value = f"{buyer.intent['atomic_amount'] if amount is None else amount:064x}"
        sent = {"from": sender, "to": token, "data": data + to + value, "gas": hex(100_000)}
        node.rpc("eth_sendTransaction", sent)
    node.rpc("anvil_mine", "0x1")
    node.rpc("evm_setAutomine", True)


def look(watcher):
    with suppress(RpcError):
        watcher.look()
        watcher.sweep()


def head(node):
    return int(node.rpc("eth_blockNumber"), 16)


@pytest.mark.parametrize(
    "how",
    [
        "results",
        *(pytest.param(how, marks=pytest.mark.long) for how in ("cut off", "504", "silence")),
    ],
)
def test_a_block_full_of_dust_stops_nobody_else(bad_node, acme, node, watcher, how, monkeypatch):
    if how == "silence":
        monkeypatch.setattr("ticketing.chain.endpoint.TIMEOUT_SECONDS", 1.0)
    ticket = acme.ticket(capacity=None)
    attacker, *others = [acme.buyer(ticket) for _ in range(5)]
    watcher.look()
    bad_node.max_results(MOST, how=how)
    dust = [(attacker, 1)] * (MOST + 1)
    pay_in_one_block(node, [(others[0], None), *dust, (others[1], None)])
    node.rpc("anvil_mine", "0x1")
    others[2].pay(node)
    for _ in range(12):
        look(watcher)
    assert cursor() == head(node)
    states = [each.now()["status"] for each in others]
    assert states == ["confirmed", "confirmed", "confirmed", "awaiting_payment"]
    assert attacker.now()["amount_received"] == 0
    node.rpc("evm_increaseTime", 3000)
    for _ in range(20):
        node.rpc("anvil_mine", "0x1")
        look(watcher)
    assert [attacker.now()["status"], others[3].now()["status"]] == ["expired", "expired"]
    assert acme.stock(ticket) == (0, 3)


def test_what_was_left_out_is_found_when_the_provider_returns_it(bad_node, acme, node, watcher):
    buyer = acme.buyer(acme.ticket())
    watcher.look()
    bad_node.max_results(MOST)
    pay_in_one_block(node, [(buyer, 1)] * (MOST + 1) + [(buyer, PRICE)])
    node.rpc("anvil_mine", "0x2")
    watcher.look()
    assert cursor() == head(node)
    assert PaymentIntent.get().home.search_to == head(node) - 2
    bad_node.well()
    watcher.sweep()
    assert buyer.now()["status"] == "confirmed"
    assert buyer.now()["amount_received"] == PRICE + MOST + 1


def test_a_node_that_refuses_all_logs_is_not_believed(bad_node, acme, node, watcher):
    buyers = [acme.buyer(acme.ticket()) for _ in range(3)]
    watcher.look()
    before = cursor()
    buyers[0].pay(node)
    bad_node.refuse("eth_getLogs")
    for _ in range(3):
        with pytest.raises(RpcError):
            watcher.look()
    assert cursor() == before
    bad_node.well()
    watcher.look()
    assert buyers[0].now()["status"] == "confirmed"
