"""What people print of an order."""

import re

import pytest

from tests.support.admissions import FREE, admissions_of, change, given
from tests.support.carts import buyer_of, shop_of_two
from tests.support.console import sign_in
from tests.support.factories import Api
from tests.support.order_pages import link
from tests.support.order_pages import show as read_page
from ticketing.models.admissions import Admission

HOSTILE = '\u202e<script>alert(1)</script>" onload="x'


@pytest.fixture
def show(app):
    """Return the answer to a request for a paper of an order."""
    return lambda buyer, name: Api(app.test_client()).get(f"{link(buyer)}/{name}")


@pytest.fixture
def group(acme, free):
    """A confirmed order of four tickets."""
    buyer = acme.buyer(free, quantity=4, buyer={"name": "Ada", "email": "ada@example.org"})
    assert buyer.purchase().status_code == 200
    return buyer


def sheets(page):
    return re.findall(r'<article class="sheet".*?</article>', page.text, re.DOTALL)


def test_each_ticket_is_on_a_sheet_with_its_qr_code(group, show):
    page = show(group, "print")
    assert page.status_code == 200
    found = sheets(page)
    assert len(found) == 4
    for sheet, admission in zip(found, admissions_of(group), strict=True):
        for shown in ("Summer Concert", "Main Hall", "(Europe/Berlin)", "Seat", "Ada", "Acme"):
            assert shown in sheet, shown
        assert admission.id in sheet and sheet.count('class="qr"') == 1
        # The paper must not pass the ticket on: only the door reads it.
        assert admission.code not in page.text
    assert (page.headers["Cache-Control"], page.headers["X-Robots-Tag"]) == ("no-store", "noindex")
    assert group.organizer.api().get(f"{link(group)}x/print").status_code == 404


def test_tickets_that_are_somebody_elses_or_void_are_left_out(group, show):
    _, passed_on, void, used = admissions_of(group)
    change(passed_on, generation=2)
    change(void, status="void")
    change(used, redeemed_at=used.created_at)
    found = sheets(show(group, "print"))
    assert len(found) == 2 and "Used at the door" in found[1]
    for gone in (passed_on, void):
        assert gone.id not in "".join(found)


def test_an_order_without_valid_tickets_says_so(acme, seat, group, show):
    Admission.update(status="void").execute()
    for order in (acme.buyer(seat), group):
        page = show(order, "print")
        assert page.status_code == 200 and "no tickets to print" in page.text
        assert not sheets(page)


def test_each_sheet_has_the_name_of_its_ticket_type(acme, show):
    ticket, shirt = shop_of_two(acme, **FREE)
    buyer = buyer_of(acme, (ticket, 2), (shirt, 1))
    assert buyer.purchase().status_code == 200
    adult, second, handed_out = sheets(show(buyer, "print"))
    assert "Adult" in adult and "Adult" in second and "T-shirt" in handed_out


def test_text_of_people_stays_text(acme, event, show):
    ticket = acme.ticket(event, name=HOSTILE, **FREE)
    buyer = given(acme, ticket, buyer={"name": HOSTILE})
    page = show(buyer, "print").text
    assert "<script>alert" not in page and 'onload="x' not in page.replace("&#34;", "")


def test_the_order_s_page_links_to_the_paper(group):
    assert f'href="{link(group)}/print"' in read_page(group)


def test_the_receipt_says_who_sold_what_to_whom(acme, group, show):
    settings = {"legal_address": "Acme Ltd.\nLondon", "tax_id": "GB <1>"}
    assert acme.api().patch(acme.path, settings).status_code == 200
    page = show(group, "receipt")
    for shown in ("Receipt, not a tax invoice", "<bdi>Seat</bdi>", "GB &lt;1&gt;", "Ada"):
        assert shown in page.text, shown
    assert (page.headers["Cache-Control"], page.headers["X-Robots-Tag"]) == ("no-store", "noindex")
    file = show(group, "receipt.json")
    assert file.json["number"] == group.intent["id"] and file.json["seller"]["tax_id"] == "GB <1>"
    assert f"receipt-{group.intent['id']}.json" in file.headers["Content-Disposition"]


def test_the_buyer_writes_who_the_order_is_billed_to(group, show, send):
    bill = {"name": HOSTILE, "address": "Line 1\r\nLine 2", "tax_id": " "}
    answer = send(f"{link(group)}/billing", bill)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{link(group)}/receipt")
    page = show(group, "receipt").text
    assert "Line 1\nLine 2" in page and "<script>alert" not in page
    assert 'onload="x' not in page.replace("&#34;", "")
    refused = send(f"{link(group)}/billing", {"address": "a" * 501})
    assert refused.status_code == 422 and "a" * 501 in refused.text and " open>" in refused.text


def test_an_unpaid_order_has_no_receipt_that_looks_paid(acme, seat, show):
    page = show(acme.buyer(seat), "receipt").text
    assert "This order is not paid yet." in page and "Paid for the tickets" not in page


def test_the_console_sets_the_tax_number(acme):
    console = sign_in(acme)
    assert console.send("/console/settings", {"tax_id": "GB1"}).status_code == 303
    assert 'value="GB1"' in console.get("/console/settings").text


def pages_of(pdf):
    """Return how many pages a PDF of Chromium has."""
    return len(re.findall(rb"/Type /Page\b", pdf))


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_a_printed_sheet_is_one_page(paper, stack, remote, visit):
    ticket = remote.ticket(price_amount=0, chain_id=None, name="N" * 200)
    long = {"title": "Long " * 40, "venue": "Main Street 1, " * 33}
    changed = remote.send("PATCH", f"{remote.path}/events/{ticket['event_id']}", long)
    assert changed.status == 200, changed.json
    made = remote.preflight(ticket, quantity=3, buyer={"name": "W" * 200}).json
    assert remote.purchase(made).status == 200
    page = visit(stack.url)
    page.goto(f"/o/{made['id']}.{made['client_secret']}/print")
    assert pages_of(page.pdf(format=paper)) == 3


def test_a_printed_receipt_is_one_page(stack, remote, visit):
    ticket = remote.ticket(price_amount=0, chain_id=None, name="N" * 200)
    long = {"title": "Long " * 40, "venue": "Main Street 1, " * 33}
    assert remote.send("PATCH", f"{remote.path}/events/{ticket['event_id']}", long).status == 200
    made = remote.preflight(ticket, quantity=3, buyer={"name": "W" * 200}).json
    assert remote.purchase(made).status == 200
    page = visit(stack.url)
    page.goto(f"/o/{made['id']}.{made['client_secret']}/receipt")
    assert pages_of(page.pdf(format="A4")) == 1
