"""The console's pages of orders."""

import re

import pytest

from tests.support.admissions import FREE, admissions_of, given, sold
from tests.support.carts import SHIRT_PRICE, buyer_of, shop_of_two, use_voucher
from tests.support.console import sign_in
from tests.support.factories import PRICE, worker_once
from tests.support.order_pages import text_of
from tests.support.refunds import overpay, state
from ticketing import clock
from ticketing.constants import DEFAULT_PAGE
from ticketing.models.notifications import Mail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.notification_types import MailKind, NotificationType
from ticketing.pages.console.words import SENT_TYPES
from ticketing.services.notifications import mail_queue
from tools import anvil

ORDERS = "/console/orders"
ADA = {"name": "Ada Lovelace", "email": "Ada@Example.org"}


@pytest.fixture
def order(acme):
    """A free order of Ada, with two tickets."""
    buyer = acme.buyer(acme.ticket(**FREE), quantity=2, buyer=ADA)
    assert buyer.purchase().status_code == 200
    return buyer.intent


def test_orders_are_listed_the_newest_first(acme, reader, order):
    newer = acme.buyer(acme.ticket(), buyer={"name": "Grace"}).intent
    page = reader.get(ORDERS).text
    assert page.index(newer["id"]) < page.index(order["id"])
    assert "Waiting for payment" in page and "Confirmed" in page and "Launch Night" in page


def test_filters_narrow_the_list_and_nonsense_shows_all(acme, reader, order):
    other = acme.buyer(acme.ticket()).intent
    for query, shown in (
        ("status=confirmed", {order["id"]}),
        (f"event_id={other['event_id']}", {other["id"]}),
        ("event_id=evt_none", set()),
        ("flag=overpaid", set()),
        ("status=none&flag=x&utm_source=y&event_id=", {order["id"], other["id"]}),
    ):
        page = reader.get(f"{ORDERS}?{query}").text
        assert {each for each in (order["id"], other["id"]) if each in page} == shown, query


def test_the_next_page_keeps_the_filters(acme, reader):
    ticket = acme.ticket(capacity=100)
    made = [acme.buyer(ticket).intent["id"] for _ in range(DEFAULT_PAGE + 1)]
    first = reader.get(f"{ORDERS}?event_id={ticket['event_id']}").text
    (link,) = [part.split('"')[0] for part in first.split('href="')[1:] if "cursor=" in part]
    second = reader.get(link.replace("&amp;", "&")).text
    assert made[-1] in first and made[0] not in first
    assert made[0] in second and made[-1] not in second
    assert reader.get(f"{ORDERS}?cursor=none").status_code == 422


@pytest.mark.parametrize("text", ["ada@EXAMPLE.org", " {id} ", "{admission}"])
def test_an_order_is_found_by_what_people_know(acme, reader, order, text):
    acme.buyer(acme.ticket())
    admission = acme.api().get(f"{acme.path}/admissions").json["data"][0]["id"]
    page = reader.get(f"{ORDERS}?q={text.format(id=order['id'], admission=admission)}").text
    assert order["id"] in page
    assert page.count("<tr>") == 2


def test_an_order_is_found_by_its_address_in_any_case_and_by_a_transaction(acme, node, reader):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    sent = buyer.pay(node)
    worker_once(acme.app)
    for text in (buyer.intent["address"], buyer.intent["address"].lower(), sent):
        assert buyer.intent["id"] in reader.get(f"{ORDERS}?q={text}").text, text


@pytest.mark.parametrize("text", ["nobody@example.org", "%00", "0x12", "pi_none", "%ff", "'"])
def test_a_search_that_finds_nothing_says_where_to_search(reader, order, text):
    answer = reader.get(f"{ORDERS}?q={text}")
    assert answer.status_code == 200
    assert text == "%00" or "/console/attendees?q=" in answer.text


def test_an_order_shows_its_money_payments_and_what_happened(acme, node, reader):
    buyer = overpay(acme, node, surplus=990_000, buyer=ADA)
    page = reader.get(f"{ORDERS}/{buyer.intent['id']}").text
    payments = acme.api().get(f"{acme.path}/intents/{buyer.intent['id']}").json["payments"]
    for said in (
        "5.99 USDC",
        "0.99 USDC",
        "Paid too much",
        payments[0]["tx_hash"],
        "Local",
        "Ordered",
        "Order confirmed",
        "Ticket issued",
        "Ada Lovelace",
        "Refund due",
        f"/console/refunds/{buyer.intent['id']}",
        buyer.intent["address"],
    ):
        assert said in page, said


def test_a_ticket_that_is_given_back_and_kept_is_in_its_story(acme, node, reader):
    ticket = acme.ticket(returns="when_resold", return_fee_percent=0)
    buyer = sold(acme, node, ticket)
    (seat,) = admissions_of(buyer)
    assert state(buyer, anvil.BUYER).status_code == 200
    held = acme.with_headers({"Authorization": f"Bearer {seat.code}"})
    for path in ("return", "return/cancel"):
        answer = held.post(f"{acme.checkout}/admissions/{seat.id}/{path}", {})
        assert answer.status_code == 200, answer.json
    page = reader.get(f"{ORDERS}/{buyer.intent['id']}").text
    assert "Ticket given back" in page and "Ticket kept after all" in page


def test_a_part_that_arrived_is_in_the_story(acme, node, reader):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node, 1_000_000)
    worker_once(acme.app)
    assert "A part was paid" in reader.get(f"{ORDERS}/{buyer.intent['id']}").text


def test_every_type_has_its_words():
    assert SENT_TYPES.keys() == set(NotificationType)


def test_tickets_that_were_issued_together_are_one_line(reader, order):
    page = reader.get(f"{ORDERS}/{order['id']}").text
    assert page.count("Ticket issued") == 1 and "\u00d7 2" in page


def test_mails_that_were_not_sent_say_why(acme, reader, order, admin):
    admission = admin.get(f"{acme.path}/admissions").json["data"][0]["id"]
    for subject, status, error in ((order["id"], "sent", None), (admission, "dropped", "550 full")):
        add_mail(acme, subject, status, error)
    page = reader.get(f"{ORDERS}/{order['id']}").text
    assert "Not sent" in page and "550 full" in page and "Sent" in page


def test_hostile_names_change_nothing(acme, reader):
    hostile = {"name": '<script>"\u202e', "email": "x@example.org"}
    order = acme.buyer(acme.ticket(**FREE), buyer=hostile).intent
    for path in (ORDERS, f"{ORDERS}/{order['id']}"):
        page = reader.get(path).text
        assert "<script>&" not in page and "<bdi>&lt;script&gt;" in page


def test_orders_of_a_neighbour_are_not_found(neighbour, reader, console):
    theirs = neighbour.buyer(neighbour.ticket(), buyer=ADA).intent
    assert reader.get(f"{ORDERS}/{theirs['id']}").status_code == 404
    assert console.send(f"{ORDERS}/{theirs['id']}/erase").status_code == 404
    for query in (f"q={theirs['id']}", "q=ada@example.org", f"event_id={theirs['event_id']}", ""):
        assert f"{ORDERS}/{theirs['id']}" not in reader.get(f"{ORDERS}?{query}").text


def test_administrators_erase_names_and_it_is_recorded(acme, console, writer, order):
    path = f"{ORDERS}/{order['id']}"
    assert "Erase personal data" not in writer.get(path).text
    assert writer.send(f"{path}/erase").status_code == 403
    assert console.send(f"{path}/erase").headers["Location"] == f"{path}#erased"
    page = console.get(path).text
    assert "Ada" not in page.replace("ada@example.org", "") and "Erased" in page
    assert PaymentIntent.get_by_id(order["id"]).buyer_email is None
    (entry, *_) = acme.api().get(f"{acme.path}/audit-log").json["data"]
    assert (entry["action"], entry["subject"]) == ("erasure_erase_intent", order["id"])


def add_mail(acme, subject, status, error):
    """Store a mail about a subject that has ended."""
    columns = {"status": status, "error": error, "ended_at": clock.now()}
    Mail.insert(mail_queue.new(acme.id, MailKind.TICKET, subject, **columns)).execute()


def test_an_order_of_several_types_names_each_with_its_price(acme, node, reader):
    ticket, shirt = shop_of_two(acme)
    buyer = buyer_of(acme, (ticket, 2), (shirt, 1), buyer=ADA)
    assert "2 \u00d7 Adult 1 \u00d7 T-shirt" in text_of(reader.get(ORDERS).text)
    buyer.pay(node)
    worker_once(acme.app)
    page = text_of(reader.get(f"{ORDERS}/{buyer.intent['id']}").text)
    assert "2 \u00d7 Adult = 10.00 USDC 1 \u00d7 T-shirt = 2.00 USDC" in page
    assert "Price 12.00 USDC" in page and "Discount" not in page
    assert (2 * PRICE, SHIRT_PRICE) == (10_000_000, 2_000_000)
    tickets = page[page.index("For Ticket type Status") :]
    assert [tickets.count(name) for name in ("Adult", "T-shirt")] == [2, 1]
    plain = given(acme, acme.ticket(**FREE)).intent["id"]
    assert "Ticket type" not in text_of(reader.get(f"{ORDERS}/{plain}").text)
    page = reader.get(f"/console/events/{ticket['event_id']}").text
    event = text_of(page)
    assert "T-shirt 1 0 1 0 2.00 0.00 2.00" in event and "By voucher" not in event
    # The bars beside the table: 10 and 2 kept, of the most, 10.
    by_type = page[page.index("By ticket type") :]
    assert re.findall(r'0 0 (\d+) 1".*?width="(\d+)"', by_type, re.DOTALL)[:2] == [
        ("10000000", "10000000"),
        ("10000000", "2000000"),
    ]


@pytest.mark.parametrize("role", ["read", "write"])
def test_a_voucher_is_shown_with_its_code_to_those_who_may_see_it(acme, role):
    ticket = acme.ticket(name="Adult")
    buyer = acme.buyer(ticket, quantity=2)
    voucher = use_voucher(buyer, ticket, "SPONSOR-7", PRICE + 500_000)
    page = text_of(sign_in(acme, role).get(f"{ORDERS}/{buyer.intent['id']}").text)
    assert "Discount 1.00 USDC" in page
    assert (f"Voucher {voucher.id}" in page) is (role == "read")
    assert ("Voucher SPONSOR-7" in page) is (role == "write")
