"""Fixtures: a facilitator that misbehaves on request, and a shop that knows it."""

from collections.abc import Iterator

import pytest

from tests.support.factories import worker_once
from tests.support.x402 import TOKEN, Facilitator, Wallet, required
from ticketing.services.x402 import share

pytestmark = pytest.mark.one_database

ORIGIN = "https://tickets.example.org"


@pytest.fixture
def facilitator(environ: dict[str, str], node) -> Iterator[Facilitator]:
    with Facilitator(node) as running:
        environ |= {
            "PUBLIC_URL": ORIGIN,
            "X402_FACILITATOR_URL_31337": running.url,
            "X402_FACILITATOR_TOKEN_31337": TOKEN,
        }
        yield running


@pytest.fixture
def app(facilitator, app):
    """The application, configured when it knows the facilitator."""
    return app


@pytest.fixture
def ticket(app, acme):
    """A ticket type on a chain whose token the worker has asked for its name."""
    made = acme.ticket(capacity=100)
    worker_once(app)
    return made


@pytest.fixture
def path(acme, ticket):
    return f"/v1/x402/tenants/{acme.slug}/tickets/{ticket['id']}/orders"


@pytest.fixture
def wallet():
    return Wallet()


@pytest.fixture
def make_order(api, wallet, facilitator, monkeypatch):
    """A function that makes an order which waits, and returns its 402.

    The order's first payment, on its first network, is refused. That uses one of its three calls of
    the facilitator. It keeps the hold of an order whose payment was not refused.
    """
    monkeypatch.setattr(share, "AFTER_A_REFUSAL", share.HOLD)

    def made(path, body=None, headers=None):
        headers, mode = headers or {}, facilitator.mode
        first = required(api.post(path, body, headers=headers))
        facilitator.mode = "refuse"
        answer = api.post(path, body, headers=headers | wallet.header(first))
        assert answer.status_code == 402, answer.json
        assert answer.json["intent"]["status"] == "awaiting_payment"
        facilitator.mode = mode
        facilitator.asked.clear()
        return answer

    return made


@pytest.fixture
def order(make_order, path):
    """An order that waits: the answer to its first payment, which was refused."""
    return make_order(path)
