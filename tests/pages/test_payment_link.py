"""The payment link: somebody else pays for an order, and learns nothing about its buyer."""

import re
from html import unescape
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tests.conftest import SECRET_KEY
from tests.support.admissions import FREE, admissions_of, given
from tests.support.apps import new_app
from tests.support.credentials_table import bearer
from tests.support.factories import PRICE, Api, worker_once
from tests.support.order_pages import link as order_link
from tests.support.order_pages import show, status, text_of
from tests.support.refunds import (
    FRIEND,
    FRIEND_ADDRESS,
    PAYER,
    STRANGER,
    pass_hours,
    pay_from,
    state,
)
from tests.support.stopped_clock import StoppedClock
from ticketing import clock, credentials
from ticketing.db.connection import database

NAME, EMAIL = "Ada Lovelace", "ada@example.org"
REFRESH = '<noscript><meta http-equiv="refresh" content="10;url={}"></noscript>'


@pytest.fixture
def buyer(acme, node):
    """A buyer of two tickets. The worker has read the chain once."""
    found = acme.buyer(acme.ticket(), quantity=2, buyer={"name": NAME, "email": EMAIL})
    worker_once(acme.app)
    return found


def secret_of(buyer):
    """The secret that the order's page gives to somebody else."""
    found = re.search(r'id="payment-link">([^<]+)<', show(buyer))
    return urlsplit(found[1]).path.removeprefix("/_p/").partition(".")[2]


def path_of(buyer, secret):
    return f"/_p/{buyer.intent['id']}.{secret}"


def opened(app, path):
    answer = Api(app.test_client()).get(path)
    assert answer.status_code == 200, answer.text
    return answer


def asked(buyer, secret):
    answer = Api(buyer.organizer.app.test_client(), bearer(secret)).get(f"{buyer.path}/payment")
    assert answer.status_code == 200, answer.text
    return answer


def test_the_page_of_the_order_has_the_link_its_code_and_a_mail(buyer, api):
    page = show(buyer)
    found = re.search(r'id="payment-link">([^<]+)<', page)[1]
    assert found == f"http://localhost{path_of(buyer, secret_of(buyer))}"
    mail = unescape(re.search(r'href="(mailto:[^"]+)"', page)[1])
    assert parse_qs(urlsplit(mail).query) == {
        "subject": ["Please pay for Launch Night"],
        "body": [found],
    }
    picture = api.get(f"{order_link(buyer)}/payment-link.png")
    assert (picture.status_code, picture.mimetype) == (200, "image/png")
    assert unquote(found) in page and f'src="{order_link(buyer)}/payment-link.png"' in page


def test_the_mail_has_the_title_as_it_is_written(acme):
    page = show(acme.buyer(acme.ticket(acme.event(title='Rock & <b>"Roll"</b>'))))
    mail = unescape(re.search(r'href="(mailto:[^"]+)"', page)[1])
    subject = parse_qs(urlsplit(mail).query)["subject"]
    assert subject == ['Please pay for Rock & <b>"Roll"</b>']


def test_three_wallets_pay_parts_and_learn_nothing_about_the_buyer(buyer, node, api):
    app, secret = buyer.organizer.app, secret_of(buyer)
    path, pages = path_of(buyer, secret), []

    def look():
        worker_once(app)
        pages.append(opened(app, path))
        pages.append(asked(buyer, secret))
        return status(pages[-2].text), pages[-1].json["amount_due"]

    assert look() == ("Waiting for the payment", 2 * PRICE)
    first = text_of(pages[0].text)
    said = ("Pay 10.00 USDC", "Launch Night", "Sold by Acme", "all parts on Local")
    assert all(each in first for each in said), first
    assert "If something is paid back, it goes to the person who ordered." in first
    assert f'data-copy="{buyer.intent["address"]}"' in pages[0].text
    assert pages[0].text.count('class="qr"') == 1 and REFRESH.format(path) in pages[0].text
    pay_from(node, FRIEND, buyer, 3_000_000)
    assert look() == ("Received 3.00, still to pay 7.00", 7_000_000)
    assert (
        "uint256=7000000" in pages[-2].text and "uint256=7000000" in pages[-1].json["payment_uri"]
    )
    pay_from(node, STRANGER, buyer, 4_000_000)
    assert look() == ("Received 7.00, still to pay 3.00", 3_000_000)
    pay_from(node, PAYER, buyer, 4_000_000)
    assert look() == ("Paid", 0)
    assert "Paid. Thank you." in text_of(pages[-2].text)
    assert buyer.intent["address"] not in pages[-2].text and "uint256" not in pages[-1].text
    # One unit too much is owed, to the address that only the buyer states.
    state(buyer, FRIEND_ADDRESS)
    look()
    codes = [each.code for each in admissions_of(buyer)]
    never = [
        NAME,
        EMAIL,
        *codes,
        FRIEND_ADDRESS,
        buyer.intent["client_secret"],
        "General admission",
    ]
    for each in pages:
        assert [hidden for hidden in never if hidden.lower() in unescape(each.text).lower()] == []
    headers = pages[0].headers
    assert (headers["Cache-Control"], headers["X-Robots-Tag"]) == ("no-store", "noindex")
    assert headers["Referrer-Policy"] == "same-origin"


def test_after_the_order_expired_nobody_shall_pay(buyer, node):
    secret = secret_of(buyer)
    pass_hours(node, 1)
    worker_once(buyer.organizer.app)
    page = opened(buyer.organizer.app, path_of(buyer, secret)).text
    assert status(page) == "Ended" and "Do not pay any more." in text_of(page)
    assert buyer.intent["address"] not in page and "uint256" not in page
    due = asked(buyer, secret).json
    assert (due["status"], due["amount_due"], due["payment_uri"]) == ("expired", 0, None)
    assert "Let somebody else pay" not in show(buyer)


def test_it_is_seen_in_blocks_and_missing_after_a_reorganization(three_deep, buyer, node):
    secret = secret_of(buyer)
    path = path_of(buyer, secret)
    buyer.pay(node)
    worker_once(buyer.organizer.app)
    page = opened(buyer.organizer.app, path).text
    assert status(page) == "We see the payment" and '<progress max="3" value="1"' in page
    node.rpc("anvil_mine", "0x2")
    worker_once(buyer.organizer.app)
    node.rpc("anvil_reorg", 4, [])
    worker_once(buyer.organizer.app)
    page = opened(buyer.organizer.app, path).text
    assert status(page) == "The payment is missing" and "Do not pay again" in text_of(page)


def test_the_secret_opens_what_is_due_and_nothing_else(buyer, acme, neighbour, api):
    secret = secret_of(buyer)
    payer = Api(acme.app.test_client(), bearer(secret))
    calls = {
        "": payer.get(buyer.path),
        **{
            name: payer.post(f"{buyer.path}/{name}", body)
            for name, body in (
                ("purchase", None),
                ("cancel", None),
                ("hold", None),
                ("refund-address", {"address": FRIEND_ADDRESS}),
            )
        },
    }
    assert {name: answer.status_code for name, answer in calls.items()} == dict.fromkeys(calls, 404)
    assert api.get(f"/o/{buyer.intent['id']}.{secret}").status_code == 404
    own = buyer.intent["client_secret"]
    other = acme.buyer(acme.ticket()).intent["id"]
    for wrong in (
        f"{buyer.intent['id']}.{own}",
        f"{other}.{secret}",
        f"{buyer.intent['id']}.",
        ".",
    ):
        assert api.get(f"/_p/{wrong}").status_code == 404
    there = f"{neighbour.checkout}/intents/{buyer.intent['id']}/payment"
    assert payer.get(there).status_code == 404
    assert buyer.api.get(f"{buyer.path}/payment").json["amount_due"] == 2 * PRICE


def test_a_free_order_has_no_payment_link(acme, api):
    buyer = given(acme, acme.ticket(**FREE))
    assert "Let somebody else pay" not in show(buyer)
    keyring = acme.app.extensions["ticketing"].keyring
    secret = credentials.pay_secret(keyring.current, buyer.intent["id"], 0)
    assert api.get(path_of(buyer, secret)).status_code == 404


def test_a_link_of_the_previous_secret_key_still_pays(buyer, environ):
    secret = secret_of(buyer)
    database.close()
    later = {**environ, "SECRET_KEY": "another-one-" * 4, "SECRET_KEY_PREVIOUS": SECRET_KEY}
    app = new_app(later)
    assert status(opened(app, path_of(buyer, secret)).text) == "Waiting for the payment"
    api = Api(app.test_client(), bearer(secret))
    assert api.get(f"{buyer.path}/payment").json["amount_due"] == 2 * PRICE


def test_its_state_is_sent_once_until_it_changes(buyer, node):
    secret = secret_of(buyer)
    first = asked(buyer, secret)
    api = Api(buyer.organizer.app.test_client(), bearer(secret))
    known = {"If-None-Match": first.headers["ETag"]}
    assert api.get(f"{buyer.path}/payment", headers=known).status_code == 304
    buyer.pay(node, 1)
    worker_once(buyer.organizer.app)
    assert api.get(f"{buyer.path}/payment", headers=known).status_code == 200


def test_its_tag_is_no_digest_that_a_payer_can_compute(buyer, environ):
    secret = secret_of(buyer)
    first = asked(buyer, secret).headers["ETag"]
    assert first != buyer.api.get(buyer.path).headers["ETag"]
    database.close()
    app = new_app({**environ, "SECRET_KEY": "another-one-" * 4, "SECRET_KEY_PREVIOUS": SECRET_KEY})
    later = Api(app.test_client(), bearer(secret)).get(f"{buyer.path}/payment")
    assert later.status_code == 200 and later.headers["ETag"] != first


class TestLimits:
    @pytest.fixture
    def environ(self, environ):
        return {**environ, "RATE_LIMIT_ORDER": "2"}

    def test_payers_have_three_times_the_limit_together_and_apart_from_the_buyer(
        self, buyer, api, monkeypatch
    ):
        StoppedClock(monkeypatch, clock.now())  # one minute
        path = path_of(buyer, secret_of(buyer))
        assert [api.get(path).status_code for _ in range(3)] == [200] * 3
        payer = Api(buyer.organizer.app.test_client(), bearer(path.partition(".")[2]))
        asked = [payer.get(f"{buyer.path}/payment") for _ in range(4)]
        assert [each.status_code for each in asked] == [200] * 3 + [429]
        assert asked[2].headers["RateLimit-Policy"] == '"order";q=6;w=60'
        assert "r=0;" in asked[2].headers["RateLimit"]
        assert buyer.api.get(buyer.path).status_code == 200

    def test_the_page_asks_so_seldom_that_many_payers_can_wait(self, buyer):
        page = opened(buyer.organizer.app, path_of(buyer, secret_of(buyer))).text
        assert 'data-every="10"' in page
