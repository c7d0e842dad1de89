"""Fixtures of mails: a mail server, the service with its URL, and an order that is confirmed."""

from datetime import UTC, datetime

import pytest

from tests.support.mail_server import MailServer
from tests.support.mails import PUBLIC_URL, SENDER, START, confirmed
from tests.support.stopped_clock import StoppedClock


@pytest.fixture
def server():
    """A mail server that accepts everything."""
    with MailServer() as running:
        yield running


@pytest.fixture
def environ(environ, server):
    return {**environ, "SMTP_URL": server.url, "MAIL_FROM": SENDER, "PUBLIC_URL": PUBLIC_URL}


@pytest.fixture
def time(monkeypatch):
    """The service's clock. Only the test moves it."""
    return StoppedClock(monkeypatch, datetime.now(UTC))


@pytest.fixture
def ticket(acme):
    """A ticket type of an event with all that a mail can say."""
    event = acme.event(
        start_at=START.isoformat(), type="hybrid", online_join_url="https://meet.example.org/secret"
    )
    return acme.ticket(event)


@pytest.fixture
def buyer(acme, ticket):
    return confirmed(acme, ticket, quantity=2)
