"""The page of an order in each of its states."""

import re
from datetime import timedelta

import pytest

from bench.buyers import marker_of_page, marker_of_poll
from tests.support import payees
from tests.support.admissions import FREE, admissions_of, given, reissue, sold, void
from tests.support.carts import buyer_of, shop_of_two
from tests.support.factories import cli, worker_once
from tests.support.holders import Held
from tests.support.order_pages import link, press, read, show, status
from tests.support.refunds import (
    FRIEND_ADDRESS,
    give_back,
    overpay,
    pass_hours,
    settle,
    waive,
)
from ticketing import clock
from ticketing.limits import DEFAULT_RATE_LIMITS, CallClass
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.pages import order_view, qr
from ticketing.pages.pace import QuickPages

REFRESH = '<noscript><meta http-equiv="refresh" content="10;url={}"></noscript>'


@pytest.fixture
def buyer(acme, node):
    """A buyer with an order of 5 USDC. The worker has read the chain once."""
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    return buyer


def expire(buyer, node):
    pass_hours(node, 1)
    worker_once(buyer.organizer.app)


def test_an_unpaid_order_says_how_much_where_and_on_which_network(buyer):
    page = show(buyer)
    assert status(page) == "Waiting for your payment"
    assert re.search("<title>Waiting for your payment . Launch Night</title>", page)
    said = read(buyer)
    amount, network, address = (
        said.index(each) for each in ("Pay 5.00 USDC", "Network Local", "To this address 0x")
    )
    assert amount < network < address
    assert "check that it is USDC on Local" in said
    assert "lost" not in said.lower() and "notice bad" not in page
    assert 'data-copy="5.00"' in page and f'data-copy="{buyer.intent["address"]}"' in page
    groups = "".join(
        f"<span>{buyer.intent['address'][at : at + 4]}</span>" for at in range(0, 42, 4)
    )
    assert f"{groups}</code>" in page
    assert page.count('class="qr"') == 3  # also that of the payment link
    assert buyer.intent["payment_uri"].replace("&", "&amp;") in page
    assert REFRESH.format(link(buyer)) in page


def test_the_bench_sees_whether_a_page_is_still_right_as_the_page_does(buyer):
    # If it did not, its buyers would load the page again after each poll.
    poll = buyer.api.get(buyer.path)
    assert marker_of_poll(poll.data) == marker_of_page(show(buyer).encode()) != ""


@pytest.mark.parametrize(
    ("contact", "says"),
    [
        (None, ("Ask the organizer. ", "get it back for you. Name this order: pi_")),
        (
            "help@example.org",
            (
                "Ask the organizer: help@example.org .",
                "get it back for you: help@example.org . Name this order: pi_",
            ),
        ),
    ],
)
def test_it_says_who_may_get_back_what_was_sent_wrongly(buyer, contact, says):
    acme = buyer.organizer
    acme.api().patch(acme.path, {"contact_email": contact})
    said = read(buyer)
    assert "in another token? It does not pay this order. The organizer may be able to get" in said
    assert all(each in said for each in says)


def test_without_a_script_the_address_stays_open_when_the_page_loads_itself_again(buyer):
    assert '<details class="card fold" id="by-hand" open>' in show(buyer)


def test_the_code_of_the_payment_request_is_a_picture_of_its_own(buyer, node, api):
    picture = f"{link(buyer)}/request.png"
    path = re.search(r'src="([^"]+)" loading="lazy"', show(buyer))[1]
    assert path.split("?")[0] == picture
    answer = api.get(path)
    assert answer.status_code == 200 and answer.content_type == "image/png"
    assert answer.data == qr.file(buyer.intent["payment_uri"])
    assert answer.headers["Cache-Control"] == "no-store"
    buyer.pay(node)
    buyer.purchase()
    assert api.get(picture).status_code == 404


def test_a_part_is_counted_and_the_rest_is_asked_for(buyer, node):
    buyer.pay(node, 2_000_000)
    worker_once(buyer.organizer.app)
    page = show(buyer)
    assert status(page) == "Received 2.00, still to pay 3.00"
    assert 'data-copy="3.00"' in page and "uint256=3000000" in page
    assert "Cancel this order" not in page


def test_a_payment_that_is_not_final_is_shown_in_blocks(three_deep, buyer, node):
    buyer.pay(node)
    worker_once(buyer.organizer.app)
    page = show(buyer)
    assert status(page) == "We see your payment"
    assert '<progress max="3" value="1"' in page
    assert 'id="timer"' not in page and REFRESH.format(link(buyer)) in page


def test_a_paid_order_shows_its_tickets_and_a_receipt(acme, node):
    buyer = sold(acme, node, acme.ticket(), quantity=2)
    page = show(buyer)
    assert status(page) == "Paid"
    for each in admissions_of(buyer):
        assert f'href="/t/{each.code}"' in page and f'href="/t/{each.code}#pass-on"' in page
    said = read(buyer)
    assert "You\u2019re in. 2 tickets for Launch Night" in said
    assert "<title>You\u2019re in. \u2013 Launch Night" in page
    assert "2 \u00d7 General admission 5.00 each 10.00 Total 10.00 USDC" in said
    assert "Receipt 10.00 USDC paid on Local , " in said and buyer.intent["id"] in said
    (payment,) = hashes_in(page)
    assert node.rpc("eth_getTransactionReceipt", payment)["status"] == "0x1"
    assert "http-equiv" not in page


def hashes_in(page):
    return [word for word in page.replace("<", " ").replace(">", " ").split() if len(word) == 66]


def test_an_online_event_has_its_link_only_on_a_paid_order(acme, node):
    event = acme.event(type="online", venue=None, online_join_url="https://meet.example.org/42")
    buyer = acme.buyer(acme.ticket(event))
    assert "meet.example.org" not in show(buyer)
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    assert 'href="https://meet.example.org/42"' in show(buyer)


def test_a_ticket_that_belongs_to_somebody_else_shows_no_code(acme):
    buyer = given(acme, acme.ticket(**FREE), quantity=3, buyer={"name": "Ada"})
    passed_on, replaced, kept = admissions_of(buyer)
    after = Held(acme, passed_on.id, passed_on.code).transferred(name="Grace")
    assert reissue(acme, replaced).status_code == 200
    page = show(buyer)
    codes = {each.code for each in (after, passed_on, *admissions_of(buyer))}
    assert [code for code in codes if code in page] == [kept.code]
    assert "Passed on. It belongs to somebody else now." in read(buyer)
    assert "The organizer has replaced it." in read(buyer)
    said = read(buyer).split()  # not the page: an id may have these letters, too
    assert "Grace" not in said and said.count("Ada") == 1


def test_an_expired_order_that_received_nothing_can_be_ordered_again(buyer, node):
    expire(buyer, node)
    page = show(buyer)
    assert status(page) == "Expired"
    assert "You have paid nothing." in read(buyer)
    assert f'action="{link(buyer)}/again"' in page
    assert "QR code" not in page


def test_money_of_an_expired_order_goes_back_to_the_stated_address(buyer, node):
    buyer.pay(node, 2_000_000)
    expire(buyer, node)
    assert status(show(buyer)) == "You get 2.00 USDC back"
    assert "Do not pay again." in read(buyer) and "Where should it go back to?" in read(buyer)
    assert f'action="{link(buyer)}/again"' not in show(buyer)

    assert press(buyer, "refund-address", address=FRIEND_ADDRESS.lower()).status_code == 303
    assert FRIEND_ADDRESS in read(buyer)
    payees.confirm(buyer)

    sent = give_back(node, 2_000_000, FRIEND_ADDRESS)
    assert settle(buyer.organizer, buyer, sent).status_code == 200
    page = show(buyer)
    assert status(page) == "Money sent back"
    assert sent in page and FRIEND_ADDRESS in page
    assert f'action="{link(buyer)}/again"' in page


def test_a_refund_waits_until_the_payment_is_final(three_deep, buyer, node):
    node.rpc("evm_increaseTime", 3600)
    buyer.pay(node, 2_000_000)
    worker_once(buyer.organizer.app)
    assert "waits until it is final on Local" in read(buyer)
    node.rpc("anvil_mine", "0x3")
    worker_once(buyer.organizer.app)
    assert "waits until" not in read(buyer)
    assert "The organizer sends it back by hand." in read(buyer)


def test_a_waived_refund_is_said(acme, node):
    buyer = overpay(acme, node)
    assert "You get 0.000007 USDC back" in read(buyer)
    assert status(show(buyer)) == "Paid" and "You keep your tickets." in read(buyer)
    assert waive(acme, buyer, 7).status_code == 200
    assert "Acme has decided not to send 0.000007 USDC back." in read(buyer)


def test_a_canceled_order_says_that_nothing_was_paid(buyer):
    assert buyer.cancel().status_code == 200
    assert status(show(buyer)) == "Canceled"
    assert "You have paid nothing." in read(buyer)


def test_money_for_a_canceled_order_is_owed(buyer, node):
    assert buyer.cancel().status_code == 200
    buyer.pay(node)
    pass_hours(node, 2)
    for _ in range(3):
        worker_once(buyer.organizer.app)
    assert status(show(buyer)) == "You get 5.00 USDC back"


def test_a_removed_payment_is_explained(acme, node):
    buyer = acme.buyer(acme.ticket())
    node.rpc("anvil_mine", "0x3")
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    cli(acme.app, "dev", "reorg", "--depth", "1")
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    page = show(buyer)
    assert status(page) == "Your payment is missing"
    assert "This is called a reorganization." in page
    assert "/t/" not in page


def test_a_voided_ticket_and_its_refund(acme, node):
    buyer = sold(acme, node, acme.ticket())
    (admission,) = admissions_of(buyer)
    assert void(acme, admission, refund=True).status_code == 200
    assert status(show(buyer)) == "You get 5.00 USDC back"
    assert "The organizer has taken it back. It is no longer valid." in read(buyer)
    assert admission.code not in show(buyer)


def test_a_canceled_event_is_said(acme, node):
    ticket = acme.ticket()
    buyer = sold(acme, node, ticket)
    path = f"{acme.path}/events/{ticket['event_id']}/status"
    assert acme.api().post(path, {"status": "canceled"}).status_code == 200
    assert "The organizer has canceled this event." in read(buyer)


def test_free_tickets_are_taken_with_one_button(acme):
    buyer = acme.buyer(acme.ticket(**FREE))
    assert "Get my ticket" in read(buyer)
    assert press(buyer, "purchase").status_code == 303
    assert status(show(buyer)) == "Done"
    (admission,) = admissions_of(buyer)
    assert f"/t/{admission.code}" in show(buyer) and "Receipt" not in show(buyer)


def test_a_free_order_that_nobody_took_says_so(acme):
    buyer = acme.buyer(acme.ticket(**FREE))
    PaymentIntent.update(expires_at=clock.now() - timedelta(hours=1)).execute()
    assert press(buyer, "purchase").status_code == 303
    assert "You did not take the tickets in time" in read(buyer)


def test_it_says_when_the_chain_is_not_seen(buyer):
    assert "We cannot see" not in read(buyer)
    ChainState.update(looked_at=clock.now() - timedelta(minutes=2)).execute()
    assert "We cannot see Local right now. Your place is kept" in read(buyer)
    assert 'id="timer"' not in show(buyer)


def test_an_unseen_chain_does_not_matter_to_a_paid_order(acme, node):
    buyer = sold(acme, node, acme.ticket())
    ChainState.update(looked_at=clock.now() - timedelta(minutes=2)).execute()
    assert "We cannot see" not in read(buyer)


@pytest.mark.parametrize(
    ("buyer", "says"),
    [
        ({"email": "ada@example.org"}, "You may close this page: we write to you."),
        ({}, "You may close this page. Keep its link: your tickets will be here."),
    ],
)
def test_a_buyer_with_an_address_is_told_that_a_mail_comes(environ, request, buyer, says):
    mail = {"SMTP_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "tickets@example.org"}
    environ |= {**mail, "PUBLIC_URL": "http://localhost"}
    acme = request.getfixturevalue("acme")
    assert says in read(acme.buyer(acme.ticket(), buyer=buyer))


def test_an_order_of_several_types_names_each_on_page_ticket_and_receipt(acme, node):
    ticket, shirt = shop_of_two(acme, transferable=False)
    buyer = buyer_of(acme, (ticket, 1), (shirt, 2))
    worker_once(acme.app)
    assert "1 \u00d7 Adult 5.00 2 \u00d7 T-shirt 2.00 each 4.00 Total 9.00 USDC" in read(buyer)
    buyer.pay(node)
    worker_once(acme.app)
    page, said = show(buyer), read(buyer)
    assert page.count("#pass-on") == 2
    assert "Adult ticket 1 1 of 3" in said and said.count("T-shirt") == 2 + 1
    assert "1 \u00d7 Adult 5.00 2 \u00d7 T-shirt 2.00 each 4.00 Total 9.00 USDC" in said


def test_a_part_that_is_not_sold_any_more_keeps_the_link_but_not_the_order(acme, node):
    ticket, shirt = shop_of_two(acme)
    worker_once(acme.app)
    buyer = buyer_of(acme, (ticket, 1), (shirt, 1))
    assert buyer.cancel().status_code == 200
    assert "Order the same again" in read(buyer)
    TicketType.update(status="canceled").where(TicketType.id == shirt["id"]).execute()
    assert "Order the same again" not in read(buyer)
    assert "/launch-night" in show(buyer)


def test_of_many_pages_that_wait_only_some_ask_quickly(buyer, monkeypatch):
    monkeypatch.setattr(order_view, "_QUICK_PAGES", QuickPages(2))
    pages = [show(buyer) for _ in range(3)]
    assert [re.search('data-every="([^"]*)"', page)[1] for page in pages] == ["0.8", "0.8", "3"]


def test_the_quick_pace_is_granted_again_each_minute(monkeypatch):
    now = 1000.0
    monkeypatch.setattr("ticketing.pages.pace.time.monotonic", lambda: now)
    pages = QuickPages(1)
    assert [pages.take(), pages.take()] == [True, False]
    now += 59
    assert not pages.take()
    now += 1
    assert pages.take()


def test_the_limit_of_an_order_is_enough_for_two_tabs(buyer):
    # A block in two seconds shows the page again, besides its questions for news.
    every = float(re.search('data-every="([^"]*)"', show(buyer))[1])
    assert 2 * (60 / every + 60 / 2) <= DEFAULT_RATE_LIMITS[CallClass.ORDER]
