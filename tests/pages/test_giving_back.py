"""Giving a ticket back on its page: what people read before it, do, and read after it."""

import pytest

from tests.support.admissions import admissions_of, sold
from tests.support.factories import worker_once
from tests.support.order_pages import press, read

ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TERMS = "When no other tickets are left, your place is sold again."
BACK = "9.00 USDC back, if somebody else buys your place."


@pytest.fixture
def ticket(acme):
    """A ticket type with one seat for 10 USDC, which can be given back less 10 %."""
    return acme.ticket(
        price_amount=10_000_000, capacity=1, returns="when_resold", return_fee_percent=10
    )


@pytest.fixture
def ada(acme, node, ticket):
    return sold(acme, node, ticket)


@pytest.fixture
def path(ada):
    (seat,) = admissions_of(ada)
    return f"/t/{seat.code}"


def stated(buyer):
    assert press(buyer, "refund-address", address=ADDRESS).status_code == 303


def test_it_is_said_before_the_purchase(acme, ticket, api):
    event = api.get(f"/v1/public/tenants/acme/events/{ticket['event_id']}").json
    page = api.get(f"/acme/{event['slug']}").text
    assert "can be given back if somebody else buys it, less 10 percent" in page
    order = read(acme.buyer(ticket))
    assert "your place is sold again" in order
    assert "the organizer keeps 10 percent of the price" in order


def test_what_cannot_be_given_back_says_nothing_of_it(acme, node, api):
    buyer = sold(acme, node, acme.ticket())
    (seat,) = admissions_of(buyer)
    for page in (api.get(f"/t/{seat.code}").text, read(buyer)):
        assert "ive back" not in page and "sold again" not in page


def test_the_order_asks_for_the_address_first(ada, path, api, send):
    page = api.get(path).text
    assert "First name the address to which the money goes" in page
    assert f"{path}/return" not in page
    refused = send(f"{path}/return")
    assert refused.status_code == 409 and "First name the address" in refused.text
    assert "Where should it go back to?" in read(ada)
    stated(ada)
    assert ADDRESS in read(ada)
    assert f'action="{path}/return"' in api.get(path).text


def test_it_is_given_back_and_kept_after_all(ada, path, api, send):
    stated(ada)
    page = api.get(path).text
    assert TERMS in page and BACK in page and "The organizer keeps 10 percent." in page
    answer = send(f"{path}/return")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{path}#give-back")
    page = api.get(path).text
    assert "You are giving this ticket back" in page and 'class="qr"' in page
    assert "9.00 USDC are paid back" in page
    assert "You are giving it back" in read(ada)
    # Nobody passes on what is given back.
    assert "This ticket is being given back. First keep it." in page
    assert f"{path}/offer" not in page
    answer = send(f"{path}/return/cancel")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{path}#give-back")
    assert BACK in api.get(path).text


def test_it_cannot_be_kept_while_somebody_pays(acme, ticket, ada, path, api, send):
    stated(ada)
    send(f"{path}/return")
    acme.buyer(ticket)
    page = api.get(path).text
    assert "Somebody is paying for this place now." in page
    assert f"{path}/return/cancel" not in page
    refused = send(f"{path}/return/cancel")
    assert refused.status_code == 409 and "so it cannot be kept" in refused.text


def test_after_it_was_sold_on(acme, node, ticket, ada, path, api, send):
    stated(ada)
    send(f"{path}/return")
    new = acme.buyer(ticket)
    new.pay(node)
    for _ in range(2):
        worker_once(acme.app)
    page = api.get(path).text
    assert "Somebody else has this place now." in page and 'class="qr"' not in page
    assert "9.00 USDC are paid back" in page and "The organizer has taken" not in page
    order = read(ada)
    assert "It was given back, and somebody else has its place." in order
    assert "You get 9.00 USDC back" in order and ADDRESS in order
