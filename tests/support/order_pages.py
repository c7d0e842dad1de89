"""The page of an order: its link, what it shows, and its forms."""

import re
from html import unescape
from typing import Any

from werkzeug.test import TestResponse

from tests.support.factories import Api, Buyer
from ticketing import links

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


def link(buyer: Buyer) -> str:
    """The path of the page."""
    return f"/o/{buyer.intent['id']}.{buyer.intent['client_secret']}"


def payment_link(buyer: Buyer) -> str:
    """The path of the page on which somebody else can pay."""
    return links.payment(buyer.intent["id"], 0, buyer.organizer.app.extensions["ticketing"].keyring)


def show(buyer: Buyer) -> str:
    """The page as a browser gets it."""
    page = Api(buyer.organizer.app.test_client()).get(link(buyer))
    assert page.status_code == 200, page.text
    return page.text


def text_of(page: str) -> str:
    """What people read: without tags, with single spaces."""
    body = page[page.index("<main") : page.index("</main>")]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def read(buyer: Buyer) -> str:
    """What people read on the page now."""
    return text_of(show(buyer))


def status(page: str) -> str:
    """The state in a few words."""
    found = re.search(r'role="status">([^<]*)<', page)
    assert found, page
    return unescape(found[1])


def key_in(page: str) -> str:
    """The hidden key of the page's first form that has one."""
    found = re.search(r'name="idempotency_key" value="([^"]+)"', page)
    assert found, "the page has no form with a key"
    return found[1]


def press(buyer: Buyer, form: str, *, headers: Any = SAME_ORIGIN, **fields: str) -> TestResponse:
    """Send one of the page's forms."""
    client = buyer.organizer.app.test_client()
    return client.post(f"{link(buyer)}/{form}", data=fields, headers=headers)
