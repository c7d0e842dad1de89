"""What buyers and organizers see of orders that are confirmed before their payment is final."""

import re

import pytest

from tests.support.console import sign_in
from tests.support.factories import in_days, worker_once
from tests.support.holders import JOIN_URL, Held
from tests.support.order_pages import link, payment_link, read, show, text_of

DEEP = 30
SENTENCE = "Your ticket is yours. The network makes this final soon."


@pytest.fixture
def environ(environ):
    """A payment is final after 30 blocks, and early after 1."""
    return {**environ, "CONFIRMATIONS_31337": str(DEEP)}


@pytest.fixture
def buyer(acme, node):
    """A buyer with an early order for an online event."""
    event = acme.event(type="online", venue=None, online_join_url=JOIN_URL)
    buyer = acme.buyer(acme.ticket(event))
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    return buyer


def test_the_ticket_is_shown_at_once_and_says_what_waits(acme, node, buyer, api):
    seat = buyer.purchase().json["admissions"][0]
    held = Held(acme, seat["id"], seat["code"])
    said = read(buyer)
    assert SENTENCE in said and JOIN_URL not in said
    page = api.get(f"/t/{held.code}").text
    assert SENTENCE in text_of(page)
    assert JOIN_URL not in page and "/offer" not in page
    assert "Then the ticket can be passed on." in page
    # The page asks for news until then.
    assert 'data-every="30"' in show(buyer)

    node.rpc("anvil_mine", hex(DEEP))
    worker_once(acme.app)
    said, page = read(buyer), api.get(f"/t/{held.code}").text
    assert "is yours" not in said + page
    assert JOIN_URL in said and JOIN_URL in page and f"/t/{held.code}/offer" in page
    assert 'data-every="0"' in show(buyer)


class TestTwoBlocks:
    """An order may be confirmed after 2 of 30 blocks."""

    @pytest.fixture
    def environ(self, environ):
        return {**environ, "EARLY_CONFIRMATIONS_31337": "2"}

    def test_the_pages_count_to_the_block_that_confirms_it(self, acme, node, api):
        event = acme.event()
        path = f"{acme.path}/events/{event['id']}"
        buyer = acme.buyer(acme.ticket(event))
        worker_once(acme.app)
        buyer.pay(node)
        worker_once(acme.app)
        links = (link(buyer), payment_link(buyer))

        def statuses():
            pages = [api.get(each).text for each in links]
            return [
                (re.search(r"1 of \d+ blocks", page)[0], re.search(r'max="(\d+)" value', page)[1])
                for page in pages
            ]

        assert statuses() == [("1 of 2 blocks", "2")] * 2
        assert acme.api().patch(path, {"doors_open_at": in_days(23 / 24)}).status_code == 200
        assert statuses() == [(f"1 of {DEEP} blocks", str(DEEP))] * 2
        assert acme.api().patch(path, {"doors_open_at": in_days(25 / 24)}).status_code == 200
        assert statuses() == [("1 of 2 blocks", "2")] * 2
        assert acme.api().patch(acme.path, {"early_confirmation": False}).status_code == 200
        assert statuses() == [(f"1 of {DEEP} blocks", str(DEEP))] * 2


class TestSwitchedOff:
    """The operator confirms nothing early."""

    @pytest.fixture
    def environ(self, environ):
        return {**environ, "EARLY_MOST": "0"}

    def test_the_settings_say_so(self, acme):
        said = text_of(sign_in(acme).get("/console/settings").text)
        assert "The operator of this service has switched this off." in said
        assert "Orders of at most" not in said


def test_the_organizer_sees_what_happened(acme, node, buyer):
    console, path = sign_in(acme), f"/console/orders/{buyer.intent['id']}"
    page = console.get(path).text
    assert "Not final yet" in page and "Payment final" not in page
    node.rpc("anvil_mine", hex(DEEP))
    worker_once(acme.app)
    page = console.get(path).text
    assert "Not final yet" not in page and "Payment final" in page


def test_the_organizer_switches_it_and_is_offered_it_while_it_is_off(acme):
    console = sign_in(acme)
    offer = "They could have their tickets within seconds."
    assert offer not in console.get("/console").text
    page = console.get("/console/settings").text
    box = 'name="early_confirmation" value="on"'
    assert f"{box} checked" in page and "Orders of at most 1000.00 USDC" in text_of(page)
    assert "/console/orders?status=reversed" in page
    answer = console.send("/console/settings", {"name": "Acme", "early_confirmation": ""})
    assert answer.headers["Location"] == "/console/settings#saved"
    assert f"{box} checked" not in console.get("/console/settings").text
    assert acme.api().get(acme.path).json["early_confirmation"] is False
    assert offer in console.get("/console").text
