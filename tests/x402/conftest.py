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
    """A function that makes an order that waits for its payment, and returns its 402.

    The facilitator refuses the first payment, on the first network: that is one of three calls. The
    order is held for as long as without a refusal.
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
    """The 402 of an order that waits for its payment."""
    return make_order(path)
