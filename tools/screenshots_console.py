"""The console's pages for screenshots, and the session of a member who sees them."""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

from playwright.sync_api import Browser, Page, StorageState

from tools import START_SECONDS
from tools.screenshots_shop import CONFIRMATIONS, PRICE, TENANT, Shop, Shot

_EARLIER = """
UPDATE payment_intents
SET confirmed_at = REPLACE(confirmed_at, DATE(confirmed_at), DATE(confirmed_at, ?)) WHERE id = ?
"""
_SOLD_PER_DAY = (3, 7, 4, 9, 2, 1, 6, 10, 8, 5, 2, 4)
"""The quantity of one order for each of the last days, today first."""

EMAIL, PASSWORD = "ada@northernlights.example", "correct horse battery"

_dates = count()


def session_of(browser: Browser, shop: Shop) -> StorageState:
    """Add a member with role admin, and sign them in. Give the result to `new_context`."""
    member = ("members", "add", TENANT, EMAIL, "--role", "admin", "--password-stdin")
    shop.stack.flask(*member, stdin=PASSWORD + "\n")
    context = browser.new_context(base_url=shop.stack.url)
    context.set_default_timeout(START_SECONDS * 1000)
    page = context.new_page()
    page.goto("/console/sign-in?next=/console/account")
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button").click()
    page.wait_for_url("**/console/account")
    session = context.storage_state()
    context.close()
    return session


def _shot(name: str, path: Callable[[Shop], str], **options: Any) -> Shot:
    return Shot(
        f"console-{name}", lambda shop: shop.stack.url + path(shop), is_signed_in=True, **options
    )


def _event(shop: Shop, page: str = "") -> str:
    return f"/console/events/{shop.event_id}{page}"


def _ticket_type(shop: Shop, page: str = "") -> str:
    return _event(shop, f"/tickets/{shop.ticket_ids[0]}{page}")


def _with_sales(shop: Shop) -> str:
    """Sell some tickets on each of the last days."""
    orders = [shop.order(quantity) for quantity in _SOLD_PER_DAY]
    for order, quantity in zip(orders, _SOLD_PER_DAY, strict=True):
        order.pay(PRICE * quantity)
    shop.mine(CONFIRMATIONS)
    for order in orders:
        order.wait(lambda it: it["status"] == "confirmed")
    path = shop.stack.environ["DATABASE_URL"].removeprefix("sqlite:///")
    with sqlite3.connect(path, timeout=START_SECONDS) as rows:
        for days_ago, order in enumerate(orders):
            rows.execute(_EARLIER, (f"-{days_ago} days", order.id))
    return "/console"


def _draft(shop: Shop, page: str = "") -> str:
    """Create an event that nobody can buy yet."""
    start = datetime.now(UTC) + timedelta(days=90)
    body = {
        "title": "Winter Session",
        "type": "hybrid",
        "start_at": start.isoformat(),
        "timezone": "Europe/Berlin",
    }
    return f"/console/events/{shop.change('POST', '/events', body)['id']}{page}"


def _series(shop: Shop) -> str:
    """Put the event into a series with two more dates, which are others each time."""
    first = datetime(2027, 1, 8, 20, 0) + timedelta(weeks=2 * next(_dates))
    starts = [(first + timedelta(weeks=week)).isoformat() for week in (0, 1)]
    body = {"starts": starts, "series": "boiler-house", "status": "published"}
    shop.change("POST", f"/events/{shop.event_id}/copy", body)
    text = {"title": "Boiler House", "description": "Songs on Fridays, **two hours** each."}
    shop.change("PATCH", "/series/boiler-house", text)
    return "boiler-house"


def _set_up_app(_shop: Shop, page: Page) -> None:
    """Show the key of a new app. Nothing counts until a code of it was typed."""
    page.get_by_text("Set up an app").click()
    page.locator("details[open]").get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("heading", name="New app").wait_for()


FIRST_STEPS = _shot("first-steps", lambda shop: "/console")
"""Before anything is sold."""

CONSOLE_SHOTS = (
    Shot("forgotten", lambda shop: f"{shop.stack.url}/console/forgotten"),
    Shot("sign-in", lambda shop: f"{shop.stack.url}/console/sign-in"),
    _shot("account", lambda shop: "/console/account"),
    _shot("second-factor", lambda shop: "/console/account/second-factor"),
    _shot("second-factor-app", lambda shop: "/console/account/second-factor", act=_set_up_app),
    _shot("settings", lambda shop: "/console/settings"),
    _shot("overview", _with_sales),
    _shot("search", lambda shop: "/console/search?q=e"),
    _shot("events", lambda shop: "/console/events"),
    _shot("event-new", lambda shop: "/console/events/new"),
    _shot("event", _event),
    _shot("event-draft", _draft),
    _shot("event-publish", partial(_draft, page="/publish")),
    _shot("event-preview", partial(_draft, page="/preview")),
    _shot("event-edit", partial(_event, page="/edit")),
    _shot("event-cancel", partial(_event, page="/cancel")),
    _shot("event-copy", partial(_event, page="/copy")),
    _shot("event-messages", partial(_event, page="/messages")),
    _shot("event-networks", partial(_event, page="/networks")),
    _shot("series", lambda shop: f"/console/series/{_series(shop)}"),
    Shot("series", lambda shop: f"{shop.stack.url}/{TENANT}/{_series(shop)}"),
    _shot("ticket-type", _ticket_type),
    _shot("ticket-type-edit", partial(_ticket_type, page="/edit")),
    _shot("ticket-type-cancel", partial(_ticket_type, page="/cancel")),
    _shot("wallet", lambda shop: "/console/wallet"),
)
