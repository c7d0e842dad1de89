"""Fixtures of the tests of pages: an event, its forms, a real Chromium."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import Visits, visits
from tests.support.holders import bought
from tests.support.remote import PATIENCE_SECONDS
from tests.support.scanner import Doors
from tools import ToolMissing, headless

pytestmark = pytest.mark.one_database

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def event(acme):
    """A published event, with a place and a description."""
    description = "Bring a coat.\n\nMore: https://example.org/night?a=1&b=2."
    return acme.event(title="Summer Concert", description=description, status="published")


@pytest.fixture
def seat(acme, event):
    """A ticket type of it that is on sale."""
    return acme.ticket(event, name="Seat", status="published")


@pytest.fixture
def send(api):
    """Send a form as a browser does."""

    def send(path, form=None, **headers):
        return api.client.post(path, data=form or {}, headers=headers or SAME_ORIGIN)

    return send


@pytest.fixture
def free(acme, event):
    """A ticket type of it that costs nothing."""
    return acme.ticket(event, name="Seat", price_amount=0, chain_id=None)


@pytest.fixture
def held(acme, free):
    """A ticket of Ada."""
    (found,) = bought(acme, free, buyer={"name": "Ada", "email": "ada@example.org"})
    return found


@pytest.fixture(scope="module")
def chromium_arguments() -> list[str]:
    """The command line arguments of `chromium`. A module can define it again."""
    return []


@pytest.fixture(scope="module")
def chromium(starts_processes: None, chromium_arguments: list[str]) -> Iterator[Browser]:
    """One browser for the tests of a module.

    While it runs, nothing else in this process can use asyncio, as a worker in the process does.
    """
    expect.set_options(timeout=PATIENCE_SECONDS * 1000)
    try:
        with headless.browser(*chromium_arguments) as browser:
            yield browser
    except ToolMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def visit(chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Visits]:
    """Open pages in the browser; see tests/support/browser.py."""
    if "stack" in request.fixturenames:
        # It must end after the pages: one that polls it would note an error.
        request.getfixturevalue("stack")
    with visits(chromium) as visit:
        yield visit


@pytest.fixture
def variables(variables: dict[str, str]) -> dict[str, str]:
    """The configuration of `stack`, with its own address as PUBLIC_URL."""
    return {**variables, "PUBLIC_URL": f"http://127.0.0.1:{variables['PORT']}"}


@pytest.fixture
def doors(remote, stack):
    """An event of `remote` with door devices."""
    return Doors(remote, stack.url)


def key_in(page):
    """Return the hidden key of the first form of a page."""
    return re.search(r'name="idempotency_key" value="([^"]+)"', page.text)[1]
