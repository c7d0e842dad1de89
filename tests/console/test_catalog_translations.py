"""Each string of the console's pages of what is sold goes through gettext."""

import pytest

from tests.support.console import sign_in
from tests.support.factories import in_days, new_organizer
from tests.support.translations import mark, not_translated
from tests.support.wallets import new_address
from ticketing.application import build

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def built_app():
    """An application of its own: its pages speak another language."""
    app = build()
    mark(app)
    return app


def _pages(member, *paths):
    for path in paths:
        answer = member.get(path)
        assert answer.status_code == 200, path
        yield answer.text


def test_an_empty_console_has_no_text_that_cannot_be_translated(app):
    boss = sign_in(new_organizer(app, "bare", address=None))
    for page in _pages(
        boss, "/console", "/console/events", "/console/events/new", "/console/wallet"
    ):
        assert not_translated(page) == []


def test_pages_of_events_have_no_text_that_cannot_be_translated(acme, console):
    online = acme.event(type="hybrid", status="draft", end_at=in_days(31), capacity=9)
    event = acme.event(online_join_url="https://x.example")
    free = acme.ticket(event, price_amount=0, chain_id=None, capacity=9)
    acme.ticket(event, capacity=0)
    acme.buyer(free).purchase()
    acme.buyer(free)
    for event_id in (online["id"], event["id"]):
        here = f"/console/events/{event_id}"
        forms = ("edit", "cancel", "tickets/new", "publish", "preview")
        for page in _pages(console, here, *(f"{here}/{each}" for each in forms)):
            assert not_translated(page) == []
    wrong = console.send("/console/events/new", {"start_at": "x", "timezone": "x", "capacity": "x"})
    back = console.send(f"/console/events/{event['id']}/status", {"status": "draft"})
    console.send(f"{here}/cancel", {"status": "canceled", "refund": ""})
    canceled = _pages(
        console, here, f"{here}/cancel", "/console", "/console/events?q=x&type=online"
    )
    for page in (wrong.text, back.text, *canceled):
        assert not_translated(page) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "draft", "sales_start_at": in_days(1), "sales_end_at": in_days(2)},
        {"capacity": 0, "chain_id": 8453, "sales_end_at": in_days(-1)},
        {"price_amount": 0, "chain_id": None, "transferable": False, "requires_key": True},
        {"price_amount": 0, "chain_id": None, "hide_without_voucher": True},
    ],
)
def test_pages_of_ticket_types_have_no_text_that_cannot_be_translated(acme, console, fields):
    ticket = acme.ticket(**fields)
    event = f"/console/events/{ticket['event_id']}"
    here = f"{event}/tickets/{ticket['id']}"
    for page in _pages(console, event, here, f"{here}/edit", f"{here}/cancel"):
        assert not_translated(page) == []
    console.send(f"{here}/status", {"status": "canceled"})
    for page in _pages(console, here):
        assert not_translated(page) == []


def test_pages_of_vouchers_have_no_text_that_cannot_be_translated(acme, console):
    event = acme.event()
    acme.ticket(event, hide_without_voucher=True)
    acme.ticket(event, name="Closed", require_voucher=True)
    here = f"/console/events/{event['id']}/vouchers"
    path = f"{acme.path}/events/{event['id']}/vouchers"
    (empty,) = _pages(console, here)
    for mode in ("set", "subtract", "percent"):
        acme.api().post(path, {"code": f"EARLY-{mode}", "price_mode": mode, "value": 5})
    voucher = acme.api().post(path, {"code": "FIRST"})
    acme.api().post(path, {"tag": "press", "valid_until": in_days(-1)})
    shown = _pages(console, here, f"{here}/new", f"{here}/batch", f"{here}/{voucher.json['id']}")
    wrong = {"code": "x", "max_usages": "x", "valid_until": "x", "price_mode": "set"}
    refused = [console.send(f"{here}/{name}", wrong).text for name in ("new", "batch")]
    public = f"/{acme.slug}/{event['slug']}"
    bought = [
        acme.app.test_client().get(f"{public}{query}").text
        for query in ("", "?voucher=FIRST", "?voucher=EARLY-SET", "?voucher=WRONG-ONE")
    ]
    for page in (empty, *shown, *refused, *bought):
        assert not_translated(page) == []


def test_pages_of_the_wallet_have_no_text_that_cannot_be_translated(acme, console):
    (page,) = _pages(console, "/console/wallet")
    asked = console.send("/console/wallet", {"address": new_address(), "chain_ids": "31337"})
    refused = console.send("/console/wallet", {"address": "x"})
    for text in (page, asked.text, refused.text):
        assert not_translated(text) == []
