"""Fixtures for tests with a node that misbehaves."""

import logging
from datetime import timedelta

import pytest

from tests.support.bad_node import assert_no_url
from tests.support.property.worlds import worlds
from tests.support.refunds import overpay
from ticketing.backoff import Backoff


@pytest.fixture
def unforgetting(monkeypatch):
    """A node that was silent or limited its rate is asked again at once."""
    monkeypatch.setattr("ticketing.chain.endpoint.SILENT_SECONDS", 0.0)
    monkeypatch.setattr("ticketing.chain.endpoint.BACKOFF", Backoff((timedelta(0),)))


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
