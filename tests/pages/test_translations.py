"""Each string of the pages goes through gettext."""

from datetime import UTC, datetime

import pytest

from tests.support.databases import only_once
from tests.support.factories import Api, in_days
from tests.support.holders import write
from tests.support.order_pages import payment_link, press, show, status
from tests.support.order_stories import STORIES
from tests.support.translations import mark, not_translated
from ticketing.application import build
from tools import translations

pytestmark = pytest.mark.exhaustive

SAID = {
    "free": "Your free tickets are waiting",
    "unpaid": "Waiting for your payment",
    "unseen": "Waiting for your payment",
    "part": "Received 4.99, still to pay 20.01",
    "fell_back": "Waiting for your payment",
    "processing": "We see your payment",
    "confirmed": "Paid",
    "overpaid": "Paid",
    "waived": "Paid",
    "voided": "Paid",
    "event_canceled": "Event canceled",
    "reversed": "Your payment is missing",
    "expired": "Expired",
    "owed": "You get 4.99 USDC back",
    "pending": "You get 4.99 USDC back",
    "stated": "You get 4.99 USDC back",
    "returned": "Money sent back",
    "canceled": "Canceled",
}


@pytest.fixture(scope="module")
def built_app():
    """An application of its own: its pages speak another language, as far as it has a catalog."""
    app = build()
    mark(app, translations.template())
    return app


START = datetime(2026, 6, 5, 17, 2, tzinfo=UTC)


def test_pages_of_events_have_no_text_that_cannot_be_translated(app, acme, event, seat, api, send):
    acme.ticket(event, name="Gone", capacity=0, status="published")
    acme.ticket(event, name="Later", sales_start_at=in_days(1), status="published")
    acme.ticket(event, name="Free", price_amount=0, chain_id=None, status="published")
    refused = send("/acme/summer-concert/order", {"quantity": "0"})
    for page in (api.get("/"), api.get("/acme"), api.get("/acme/summer-concert"), refused):
        assert not_translated(page.text) == []


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "valid"},
        {"redeemed_at": START, "redeemed_gate": "Main gate"},
        {"redeemed_at": START},
        {"status": "suspended"},
        {"status": "void"},
        {"status": "void", "intent_id": None},
    ],
)
def test_pages_of_tickets_have_no_text_that_cannot_be_translated(app, held, api, columns):
    write(held, **columns)
    assert not_translated(api.get(f"/t/{held.code}").text) == []


def test_pages_of_transfers_have_no_text_that_cannot_be_translated(app, held, api, send):
    first, offer = (held.offer(name="Grace").json["offer"] for _ in range(2))
    for page in (
        api.get(f"/t/{held.code}"),
        api.get(f"/x/{offer}"),
        api.get(f"/x/{first}"),
        send(f"/x/{offer}", {"email": "nobody@"}),
        send(f"/t/{held.code}/holder", {"email": "nobody@"}),
        send(f"/t/{held.code}/offer", {"email": "nobody@"}),
    ):
        assert not_translated(page.text) == []


def test_the_scanner_has_no_text_that_cannot_be_translated(app, api):
    page = api.get("/door/").text
    assert not_translated(page) == []
    assert "⟦Scanner⟧" in api.get("/door/manifest.webmanifest").json["short_name"]


def test_text_outside_gettext_is_found(app):
    assert not_translated("<body><p>⟦Sold by ⟦x⟧⟧ <bdi>Ada</bdi> 5.00 USDC</p>") == []
    assert not_translated('<body><p>Sold <b aria-label="Close">⟦x⟧</b>') == ["Sold", "Close"]


@only_once
@pytest.mark.parametrize("story", STORIES)
def test_every_state_has_its_words_and_can_be_translated(three_deep, acme, node, story):
    buyer = STORIES[story](acme, node)
    page = show(buyer)
    assert status(page).strip("⟦⟧") == SAID[story]
    assert not_translated(page) == []
    if story != "free":
        of_payer = Api(acme.app.test_client()).get(payment_link(buyer))
        assert not_translated(of_payer.text) == []


def test_refusals_can_be_translated(three_deep, acme, node):
    buyer = STORIES["owed"](acme, node)
    assert not_translated(press(buyer, "refund-address", address="0x").text) == []
    assert not_translated(press(buyer, "cancel").text) == []
