"""A head or a host clock far in the future ends no hold, and makes no long one."""

from datetime import datetime, timedelta

import pytest

from tests.support.bad_node import BadNode
from tests.support.factories import cli, worker_once
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from tools import anvil

TOKEN_CHAIN = 777


@pytest.fixture
def provider(environ, node, unforgetting):
    """A chain outside the registry, whose time tests must not move, behind a bad node."""
    environ["CONFIRMATIONS_777"] = "1"
    with anvil.Anvil(chain_id=TOKEN_CHAIN) as chain, BadNode(chain.url) as proxy:
        environ["RPC_URL_777"] = proxy.url
        environ["TOKEN_ADDRESS_777"] = anvil.deploy_token(chain.rpc)
        anvil.mint(chain.rpc, environ["TOKEN_ADDRESS_777"], anvil.BUYER, 10**12)
        chain.rpc("anvil_mine", "0x1")
        proxy.chain = chain
        yield proxy


@pytest.fixture
def acme(provider, acme):
    return acme


@pytest.fixture
def ticket(acme):
    worker_once(acme.app)
    return acme.ticket(chain_id=TOKEN_CHAIN, capacity=None)


def expires_in(buyer, now):
    return datetime.fromisoformat(buyer.now()["expires_at"]) - now


def test_a_head_far_in_the_future_is_refused(provider, acme, ticket):
    live = acme.buyer(ticket)
    late = {"timestamp": hex(2**32 - 1)}
    provider.answer("eth_getBlockByNumber", lambda block: {**block, **late})
    provider.chain.rpc("anvil_mine", "0x1")
    said = cli(acme.app, "worker", "--once", exit_code=1)
    assert "chain 777 cannot be read: its newest block is from 2106-02-07" in said
    live.purchase()
    new = acme.buyer(ticket)
    provider.well()
    provider.chain.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    assert live.now()["status"] == "awaiting_payment"
    assert expires_in(new, clock.now()) < timedelta(hours=1)
    live.pay(provider.chain)
    worker_once(acme.app)
    assert live.now()["status"] == "confirmed"


def test_a_host_clock_far_ahead_makes_no_long_hold(provider, acme, ticket, monkeypatch):
    now = clock.now()
    StoppedClock(monkeypatch, now + timedelta(days=2))
    provider.chain.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    buyer = acme.buyer(ticket)
    assert timedelta(0) < expires_in(buyer, now) < timedelta(hours=1)


def test_an_hour_of_difference_is_borne(provider, acme, ticket, monkeypatch):
    now = clock.now()
    StoppedClock(monkeypatch, now - timedelta(minutes=50))
    provider.chain.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    buyer = acme.buyer(ticket)
    buyer.pay(provider.chain)
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"
