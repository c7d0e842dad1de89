"""Every page in every state, in a real Chromium: accessible, small, and it asks nobody else."""

from contextlib import ExitStack

import pytest

from tests.support.browser import axe, visits
from ticketing.locales import LOCALES
from tools.headless import DESKTOP, PHONE, open_forms
from tools.screenshots import SHOTS, open_shop, session_of

NARROW = {"width": 320, "height": 640}
LOOKS = {
    "phone": {**PHONE, "color_scheme": "light"},
    "desktop": {**DESKTOP, "color_scheme": "dark"},
}
EXPECTED = {"not-found": "404", "door-offline": "ERR_INTERNET_DISCONNECTED"}
EVENT_BYTES, EVENT_REQUESTS = 30 * 1024, 4
ORDER_BYTES = 60 * 1024
CONSOLE_BYTES, CONSOLE_REQUESTS = 100 * 1024, 7
"""With a page's own module, and the one that finds wallets."""
MOVING_REQUESTS = 17
"""Of the pages that move money: their script has twelve files. A browser keeps them."""

DOOR_BYTES = 400 * 1024
"""jsQR has 251 of them. A device loads the files of a version once."""

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SMALL_TARGETS = """
[...document.querySelectorAll("button, input:not([type=hidden], [type=radio]), summary")]
    .filter(each => each.offsetParent && each.getBoundingClientRect().height < 24)
    .map(each => each.outerHTML)
"""
LARGE_BOXES = """
[...document.querySelectorAll("input[type=checkbox], input[type=radio]")]
    .map(each => [each.outerHTML, each.getBoundingClientRect()])
    .filter(([_, box]) => box.width > 32 || box.height > 32)
    .map(([html, _]) => html)
"""
LINKS = "[...document.querySelectorAll('a[href]')].map(each => each.href)"


@pytest.fixture(scope="module")
def shop(starts_processes):
    with ExitStack() as running:
        yield open_shop(running)


@pytest.fixture(scope="module")
def late_shop(starts_processes):
    """A shop whose chain is ahead of the clock. It must not end orders of other tests."""
    with ExitStack() as running:
        yield open_shop(running)


@pytest.fixture(scope="module")
def followed():
    """The links that were followed: each once, because most pages have the same ones."""
    return set()


@pytest.fixture(scope="module")
def session(shop, chromium):
    return session_of(chromium, shop)


@pytest.mark.parametrize("shot", SHOTS, ids=lambda shot: shot.name)
def test_it_is_accessible_and_loads_nothing_from_elsewhere(shot, followed, chromium, request):
    shop = request.getfixturevalue("late_shop" if shot.ends_orders else "shop")
    known = request.getfixturevalue("session") if shot.is_signed_in else None
    url = shot.open(shop)
    with visits(chromium) as visit:
        if shot.name in EXPECTED:
            visit.expect(EXPECTED[shot.name])
        for look, options in LOOKS.items():
            page = visit(shop.stack.url, storage_state=known, **options)
            received = []
            page.on("response", lambda response, into=received: into.append(response))
            page.goto(url)
            shot.act(shop, page)
            assert axe(page) == [], look
            _fits(page)
            if open_forms(page):
                assert axe(page) == [], look
                _fits(page)
            # Each URL once: a slow machine sees more polls.
            counted = [each for each in received if "/_image/" not in each.url]
            loaded = {each.url: each for each in reversed(counted)}.values()
            size = sum(map(_sent_bytes, loaded))
            if shot.name == "event":
                assert size <= EVENT_BYTES and len(loaded) <= EVENT_REQUESTS, size
            if shot.is_signed_in:
                is_moving = shot.name in ("console-money-move", "console-money-pay-back")
                most = MOVING_REQUESTS if is_moving else CONSOLE_REQUESTS
                assert size <= CONSOLE_BYTES and len(loaded) <= most, size
            else:
                assert size <= (DOOR_BYTES if shot.name.startswith("door") else ORDER_BYTES), size
            page.set_viewport_size(NARROW)
            _fits(page)
        links = {each for each in page.evaluate(LINKS) if each.startswith(shop.stack.url)}
        for link in sorted(links - followed):
            if "#" not in link:
                assert page.request.get(link, max_retries=3).ok, link
        followed |= links


def _sent_bytes(response):
    """Return the size of a body as it was sent: many are compressed."""
    return response.request.sizes()["responseBodySize"] if response.ok else 0


IN_ALL_LANGUAGES = (
    "tenant",
    "event",
    "lost-links",
    "order-pay",
    "order-pay-exchange",
    "order-underpaid",
    "order-confirmed",
    "order-overpaid",
    "order-somebody-else",
    "payment-link",
    "receipt",
    "ticket",
    "ticket-offered",
    "transfer",
)
"""Pages with the most words. A shot is opened once, and read in each language."""


@pytest.fixture(scope="module")
def opened(shop):
    return [each.open(shop) for each in SHOTS if each.name in IN_ALL_LANGUAGES]


@pytest.mark.parametrize("locale", list(LOCALES)[1:])
def test_each_language_fits_on_a_phone(locale, opened, shop, chromium):
    with visits(chromium) as visit:
        page = visit(shop.stack.url, **PHONE)
        for url in opened:
            page.set_viewport_size(PHONE["viewport"])
            page.goto(f"{url}{'&' if '?' in url else '?'}lang={locale}")
            assert page.locator("html").get_attribute("lang") == locale
            open_forms(page)
            _fits(page)
            page.set_viewport_size(NARROW)
            _fits(page)


def _fits(page):
    assert page.evaluate(OVERFLOW) <= 0, page.viewport_size
    assert page.evaluate(SMALL_TARGETS) == [], page.viewport_size
    assert page.evaluate(LARGE_BOXES) == [], page.viewport_size


def test_enlarged_to_200_percent_nothing_is_cut_off(shop, chromium):
    with visits(chromium) as visit:
        page = visit(shop.stack.url, viewport={"width": 640, "height": 800}, device_scale_factor=2)
        for url in (shop.event_url, shop.order().url):
            page.goto(url)
            page.evaluate("document.documentElement.style.fontSize = '200%'")
            assert page.evaluate(OVERFLOW) <= 0
