"""The page of an event whose tickets are sold on several networks: the buyer chooses one."""

import re

import pytest

from tests.conftest import UNREACHABLE_RPC
from tests.pages.test_event_page import ORDER, PATH, intent_at
from tests.support import wallets
from tests.support.admissions import FREE
from tests.support.factories import CHAIN
from tests.support.order_pages import key_in, text_of
from tools.anvil import SECOND_CHAIN_ID as SECOND
from tools.anvil import SELLER

RADIO = re.compile(r'<input type="radio" name="chain_id" value="(\d*)"( checked)?>')


@pytest.fixture
def two_chains(environ):
    environ[f"RPC_URL_{SECOND}"] = UNREACHABLE_RPC


@pytest.fixture
def seat(two_chains, acme, event):
    return acme.ticket(event, name="Seat", chain_id=CHAIN)


@pytest.fixture
def sell_on(acme):
    def sell_on(ticket, *chain_ids):
        path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
        answer = acme.api("write").patch(path, {"chain_ids": chain_ids})
        assert answer.status_code == 200, answer.json

    return sell_on


def order(send, seat, page, **fields):
    sent = {"ticket_id": seat["id"], "quantity": "1", "idempotency_key": key_in(page), **fields}
    return send(ORDER, sent)


def test_the_first_network_is_chosen_already(seat, api, send, sell_on):
    assert not RADIO.findall(api.get(PATH).text)
    sell_on(seat, SECOND, CHAIN)
    page = api.get(PATH).text
    assert RADIO.findall(page) == [(str(SECOND), " checked"), (str(CHAIN), "")]
    made = order(send, seat, page, chain_id=CHAIN)
    assert made.status_code == 303, made.text
    assert intent_at(made.location).chain_id == CHAIN


def test_going_back_and_choosing_another_one_replaces_an_unpaid_order(
    node, second_node, event, acme, api, send
):
    seat = acme.ticket(event, name="Seat")
    path = f"{acme.path}/events/{event['id']}/tickets/{seat['id']}"
    assert acme.api("write").patch(path, {"chain_ids": [CHAIN, SECOND]}).status_code == 200
    page = api.get(PATH).text
    first = order(send, seat, page, chain_id=CHAIN).location
    second = order(send, seat, page, chain_id=SECOND).location
    assert (intent_at(first).status, intent_at(first).chain_id) == ("canceled", CHAIN)
    assert (intent_at(second).status, intent_at(second).chain_id) == ("awaiting_payment", SECOND)


def test_tickets_of_different_networks_leave_the_choice_to_the_service(
    seat, acme, event, api, send, sell_on
):
    other, free = acme.ticket(event, name="Balcony", chain_id=SECOND), acme.ticket(event, **FREE)
    sell_on(seat, CHAIN, SECOND)
    page = api.get(PATH).text
    assert RADIO.findall(page) == [("", " checked"), (str(CHAIN), ""), (str(SECOND), "")]
    answer = order(send, other, page, chain_id=CHAIN)
    assert answer.status_code == 422
    assert "Your tickets are not sold on this network." in text_of(answer.text)
    assert RADIO.findall(answer.text)[1] == (str(CHAIN), " checked")
    assert intent_at(order(send, other, page, chain_id="").location).chain_id == SECOND
    page = api.get(PATH).text
    assert intent_at(order(send, free, page, chain_id=CHAIN).location).chain_id is None


def test_a_network_that_cannot_be_used_is_not_offered(seat, acme, api, sell_on):
    sell_on(seat, 8453, CHAIN)
    page = api.get(PATH).text
    assert not RADIO.findall(page)
    assert "Base" not in text_of(page)
    wallets.use_address(acme.id, SELLER, SECOND)
    sell_on(seat, CHAIN, SECOND)
    page = api.get(PATH).text
    assert not RADIO.findall(page)
    assert "on Local 2," in text_of(page)
