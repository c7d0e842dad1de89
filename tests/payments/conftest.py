"""Fixtures for tests with a node that misbehaves."""

import logging

import pytest

from tests.support.bad_node import assert_no_url
from tests.support.elsewhere import BOTH
from tests.support.factories import CHAIN, new_organizer, worker_once
from tests.support.payouts import OWNER
from tests.support.property.worlds import worlds
from tests.support.refunds import account, overpay
from tests.support.wallets import use_address
from tools.anvil import SECOND_CHAIN_ID as SECOND


@pytest.fixture
def unforgetting(monkeypatch):
    """A node that was silent or limited its rate is asked again at once."""
    monkeypatch.setattr("ticketing.chain.endpoint.SILENT_SECONDS", 0.0)
    monkeypatch.setattr("ticketing.chain.endpoint.FIRST_PAUSE_SECONDS", 0.0)


@pytest.fixture
def new_world(database_url):
    """A function that creates a small world: see tests/support/property/worlds.py."""
    with worlds(database_url) as new_world:
        yield new_world


@pytest.fixture
def log(caplog, bad_node):
    """What is logged, at every level. It must never name the node."""
    caplog.set_level(logging.DEBUG)
    yield caplog
    assert_no_url(caplog, bad_node)


@pytest.fixture
def overpaid(acme, node):
    """A buyer who paid 7 too much."""
    return overpay(acme, node)


@pytest.fixture
def nodes_of(node, second_node):
    """Both local chains, with their nodes."""
    return {CHAIN: node, SECOND: second_node}


@pytest.fixture
def shop(nodes_of, acme):
    """An organizer with an extended public key, who sells on both chains."""
    worker_once(acme.app)
    return acme


@pytest.fixture
def venue(nodes_of, app):
    """An organizer whose wallet is an address on both chains."""
    organizer = new_organizer(app, "venue", address=account(nodes_of[CHAIN], OWNER))
    use_address(organizer.id, account(nodes_of[CHAIN], OWNER), *BOTH)
    worker_once(app)
    return organizer
