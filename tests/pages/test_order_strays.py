"""The page of an order says what arrived on other networks, and what becomes of it."""

import re
from datetime import timedelta

import pytest

from tests.support.books import out_of_reach
from tests.support.carts import carts_of
from tests.support.databases import only_once
from tests.support.factories import CHAIN, PRICE, worker_once
from tests.support.order_pages import link, payment_link, press, read, show, status, text_of
from tests.support.refunds import FRIEND, FRIEND_ADDRESS, pass_hours, pay_from
from ticketing import clock
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import PaymentIntent
from tools import anvil
from tools.anvil import SECOND_CHAIN_ID as SECOND

pytestmark = only_once

REST = 1_000_000
PART = PRICE - REST


@pytest.fixture
def nodes_of(node, second_node):
    """Both local chains, with their nodes."""
    return {CHAIN: node, SECOND: second_node}


@pytest.fixture
def order(nodes_of, acme):
    """A function that makes an order of one ticket that is sold on these chains."""
    worker_once(acme.app)
    return lambda *chain_ids: acme.buyer(acme.ticket(carts_of(acme), chain_ids=chain_ids))


@pytest.fixture
def buyer(order):
    """An order of 5 USDC with its home on Local. It can move to Local 2."""
    return order(CHAIN, SECOND)


@pytest.fixture
def pay(nodes_of):
    """A function that sends money on one chain, and lets the worker look."""

    def pay(buyer, chain_id, amount):
        pay_from(nodes_of[chain_id], FRIEND, buyer, amount)
        worker_once(buyer.organizer.app)

    return pay


def back(buyer, chain_id=SECOND):
    """The page with the form that asks where the money on a chain shall go."""
    page = show(buyer)
    (path,) = re.findall(rf'href="([^"]*\?back={chain_id}-0x[^"#]*)', page)
    return buyer.organizer.app.test_client().get(path).text


def ask_back(buyer, page, address=FRIEND_ADDRESS):
    """Send the form of this page with an address."""
    form = page[page.index("/refund-address") :]
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)[:2])
    return press(buyer, "refund-address", address=address, **hidden)


def link_in(page, text):
    """Where a link of the page leads."""
    (path,) = re.findall(rf'href="([^"]*)"[^>]*>{text}<', page)
    return path


def choose(buyer, chain_id=SECOND):
    """Move the order by the API."""
    return buyer.api.post(f"{buyer.path}/chain", {"chain_id": chain_id})


def end(buyer, nodes_of):
    for each in nodes_of.values():
        pass_hours(each, 1)
    for _ in range(2):
        worker_once(buyer.organizer.app)


def test_the_other_networks_are_forms_and_the_page_then_pays_there(buyer):
    page = show(buyer)
    assert "Pay on Local 2 instead" in page and "Pay on Local instead" not in page
    assert "<select" not in page and f"@{CHAIN}/" in page
    answer = press(buyer, "chain?way=exchange", chain_id=str(SECOND))
    assert (answer.status_code, answer.location) == (303, f"{link(buyer)}?way=exchange")
    page = show(buyer)
    assert "Pay on Local instead" in page and "Pay on Local 2 instead" not in page
    assert f"@{SECOND}/" in page and f"@{CHAIN}/" not in page
    assert "check that it is USDC on Local 2" in text_of(page)


def test_an_order_of_one_network_offers_no_other(order):
    said = read(order(CHAIN))
    assert "instead" not in said and "We also look" not in said


def test_a_network_that_is_no_option_or_cannot_be_seen_is_refused_in_view(buyer):
    for chain_id in ("1", "abc"):
        answer = press(buyer, "chain", chain_id=chain_id)
        assert answer.status_code == 409
        assert "This network cannot be used at the moment." in text_of(answer.text)
    outage = {ChainState.looked_at: clock.now() - timedelta(minutes=2)}
    ChainState.update(outage).where(ChainState.chain_id == SECOND).execute()
    assert "Pay on Local 2" not in show(buyer)
    answer = press(buyer, "chain", chain_id=str(SECOND))
    assert answer.status_code == 409


def test_a_paid_order_does_not_move(buyer, pay):
    pay(buyer, CHAIN, PRICE)
    answer = press(buyer, "chain", chain_id=str(SECOND))
    assert answer.status_code == 409
    assert "This order is paid, or is being paid." in text_of(answer.text)
    assert status(answer.text) == "Paid"


def test_an_order_whose_payment_is_missing_does_not_move_and_says_why(buyer, pay, nodes_of):
    pay(buyer, CHAIN, PRICE)
    nodes_of[CHAIN].rpc("anvil_reorg", 1, [])
    nodes_of[CHAIN].rpc("anvil_mine", "0x1")
    worker_once(buyer.organizer.app)
    assert status(show(buyer)) == "Your payment is missing"
    answer = press(buyer, "chain", chain_id=str(SECOND))
    assert answer.status_code == 409
    said = text_of(answer.text)
    assert "The payment of this order is missing, and may come back." in said
    assert "being paid" not in said
    answer = choose(buyer)
    assert (answer.status_code, answer.json["code"]) == (409, "already_paying")
    assert "A reorganization removed the payment" in answer.json["detail"]


def test_a_network_from_which_the_buyer_wants_money_back_is_refused_for_good(buyer, pay):
    pay(buyer, SECOND, PART)
    assert ask_back(buyer, back(buyer)).status_code == 303
    answer = press(buyer, "chain", chain_id=str(SECOND))
    assert answer.status_code == 409
    said = text_of(answer.text)
    assert "You wanted back what you had sent on this network." in said
    assert "at the moment" not in said
    answer = choose(buyer)
    assert (answer.status_code, answer.json["code"]) == (409, "network_unavailable")
    assert "asked back" in answer.json["detail"]


def test_to_move_an_order_that_has_ended_shows_that_it_has(buyer):
    assert buyer.cancel().status_code == 200
    answer = press(buyer, "chain", chain_id=str(SECOND))
    assert (answer.status_code, answer.location) == (303, link(buyer))


def test_if_its_network_cannot_be_seen_the_page_says_that_money_there_is_not_lost(buyer):
    outage = {ChainState.looked_at: clock.now() - timedelta(hours=1)}
    ChainState.update(outage).where(ChainState.chain_id == CHAIN).execute()
    page = show(buyer)
    warning = "Have you sent money on Local already? It is not lost."
    assert page.index(warning) < page.index("Pay on Local 2 instead")
    assert press(buyer, "chain", chain_id=str(SECOND)).status_code == 303
    assert warning not in read(buyer)


def test_a_part_elsewhere_can_be_completed_there(buyer, pay):
    pay(buyer, SECOND, PART)
    page = show(buyer)
    assert status(page) == (
        "We see 4.00 USDC on Local 2. Still to pay: 1.00 there, or 5.00 on Local"
    )
    said = text_of(page)
    assert "We see 4.00 USDC on Local 2. You chose Local." in said
    assert "Pay the remaining 1.00 USDC on Local 2 Get it back" in said
    assert "Cancel this order" not in said and "lost" not in said
    assert press(buyer, "chain", chain_id=str(SECOND)).status_code == 303
    page = show(buyer)
    assert status(page) == "Received 4.00, still to pay 1.00"
    pay(buyer, SECOND, REST)
    assert status(show(buyer)) == "Paid"


def test_a_part_elsewhere_can_be_asked_back_which_is_final(buyer, pay):
    pay(buyer, SECOND, PART)
    page = back(buyer)
    said = text_of(page)
    assert "This is final. After that, the 4.00 USDC cannot pay for this order any more." in said
    assert 'http-equiv="refresh"' not in page and 'http-equiv="refresh"' in show(buyer)
    assert link_in(page, "Do not ask it back") == link(buyer)
    answer = ask_back(buyer, page, address="0x12")
    assert answer.status_code == 422 and "not a complete address" in text_of(answer.text)
    assert link_in(answer.text, "Do not ask it back") == link(buyer)
    assert 'value="0x12"' in answer.text and 'http-equiv="refresh"' not in answer.text
    answer = ask_back(buyer, page)
    assert (answer.status_code, answer.location) == (303, link(buyer))
    (stray,) = PaymentIntent.get().stray_accounts
    assert (stray.refund_address, stray.due) == (None, PART)
    assert buyer.now()["strays"][0]["payee"]["waiting_address"] == FRIEND_ADDRESS
    said = read(buyer)
    assert "You get 4.00 USDC back from Acme on Local 2" in said and FRIEND_ADDRESS in said
    assert "To get your tickets, pay 5.00 USDC on Local." in said
    assert "Do not pay again." not in said and "Pay on Local 2 instead" not in said


def test_the_order_says_what_was_asked_back_and_what_was_waived(buyer, pay, acme):
    def stray():
        (found,) = buyer.now()["strays"]
        return {name: found[name] for name in ("asked_back", "refund_due", "waived")}

    pay(buyer, SECOND, PART)
    assert stray() == {"asked_back": False, "refund_due": 0, "waived": 0}
    assert ask_back(buyer, back(buyer)).status_code == 303
    assert stray() == {"asked_back": True, "refund_due": PART, "waived": 0}
    body = {"amount": PART, "reason": "agreed", "chain_id": SECOND}
    done = acme.api().post(f"{acme.path}/refunds/{buyer.intent['id']}/waive", body)
    assert done.status_code == 200, done.json
    assert stray() == {"asked_back": True, "refund_due": 0, "waived": PART}


def test_a_network_that_is_no_option_owes_at_once(order, pay):
    buyer = order(CHAIN)
    pay(buyer, SECOND, PRICE)
    said = read(buyer)
    assert "This order cannot be paid with USDC on Local 2." in said
    assert status(show(buyer)) == "We see 5.00 USDC on Local 2. Still to pay: 5.00 on Local"
    assert "To get your tickets, pay 5.00 USDC on Local." in said
    assert "Get it back" not in said and "Tell us where to send it" in said
    assert link_in(back(buyer), "Back to the order") == link(buyer)
    assert "Back to the order" not in said
    assert ask_back(buyer, back(buyer)).status_code == 303
    pay(buyer, CHAIN, PRICE)
    page = show(buyer)
    assert status(page) == "Paid" and "You get 5.00 USDC back from Acme on Local 2" in text_of(page)


def test_each_network_is_paid_back_on_its_own(buyer, pay, nodes_of):
    pay(buyer, CHAIN, REST)
    pay(buyer, SECOND, PART)
    end(buyer, nodes_of)
    page = show(buyer)
    said = text_of(page)
    assert status(page) == "You get money back"
    assert "Not all of it arrived on one network in time." in said
    assert "You get 1.00 USDC back from Acme on Local Do not pay again." in said
    assert "You get 4.00 USDC back from Acme on Local 2 Do not pay again." in said
    assert "Order the same again" not in said
    forms = page.split("/refund-address")[1:]
    assert len(forms) == 2
    hidden = [re.findall(r'name="(\w+)" value="([^"]*)"', each)[:2] for each in forms]
    assert [dict(each)["chain_id"] for each in hidden] == [str(CHAIN), str(SECOND)]
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    answer = press(buyer, "refund-address", address="0x12", **dict(hidden[1]))
    first, second = answer.text.split("/refund-address")[1:]
    assert "not a complete address" not in first and "not a complete address" in second
    assert (
        press(buyer, "refund-address", address=FRIEND_ADDRESS, **dict(hidden[1])).status_code == 303
    )
    said = read(buyer)
    assert said.count(FRIEND_ADDRESS) == 1 and said.index(FRIEND_ADDRESS) > said.index(
        "4.00 USDC back"
    )


def test_what_was_sent_back_is_shown_with_its_transaction(order, pay, acme, nodes_of):
    buyer = order(CHAIN)
    pay(buyer, SECOND, PRICE)
    assert ask_back(buyer, back(buyer)).status_code == 303
    sent = pay_back(nodes_of[SECOND], FRIEND_ADDRESS, PRICE)
    body = {"tx_hash": sent, "chain_id": SECOND}
    done = acme.api().post(f"{acme.path}/refunds/{buyer.intent['id']}/settle", body)
    assert done.status_code == 200, done.json
    page = show(buyer)
    said = text_of(page)
    assert "Your money on Local 2 was sent back" in said and sent in said
    assert status(page) == "Waiting for your payment"


def pay_back(node, address, amount):
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, anvil.BUYER, amount)
    sent = anvil.transfer(node.rpc, anvil.TOKEN_ADDRESS, address, amount)
    return sent["transactionHash"]


@pytest.mark.parametrize("contact", [None, "help@example.org"])
def test_what_the_organizer_cannot_reach_does_not_pay_and_is_not_lost(order, pay, acme, contact):
    acme.api().patch(acme.path, {"contact_email": contact})
    buyer = order(CHAIN)
    pay(buyer, SECOND, PRICE)
    out_of_reach()
    said = read(buyer)
    assert "5.00 USDC arrived on Local 2 It does not pay this order." in said
    help_at = f": {contact} " if contact else ""
    assert f"The organizer may be able to get it back for you{help_at}. Name this order: " in said
    assert "lost" not in said and "You get" not in said


def test_a_payment_link_shows_the_home_and_cannot_move_it(buyer, pay):
    pay(buyer, SECOND, PART)
    page = buyer.organizer.app.test_client().get(payment_link(buyer)).text
    said = text_of(page)
    assert "all parts on Local ." in said and "Local 2" not in said and "4.00" not in said
    assert "/chain" not in page and "refund-address" not in page
    secret = payment_link(buyer).partition(".")[2]
    headers = {"Authorization": f"Bearer {secret}"}
    shown = buyer.organizer.app.test_client().get(f"{buyer.path}/payment", headers=headers)
    assert shown.status_code == 200 and "strays" not in shown.json
