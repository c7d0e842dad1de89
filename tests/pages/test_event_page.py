"""The page of an event: what it shows, and its order form."""

import json
import re
from functools import partial

import pytest

from tests.conftest import SECRET_KEY
from tests.pages.conftest import SAME_ORIGIN, key_in
from tests.support.apps import new_app
from tests.support.factories import PRICE, in_days, worker_once
from tests.support.races import at_once
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.db.connection import database
from ticketing.models.payment_intents import PaymentIntent
from tools import anvil

PATH = "/acme/summer-concert"
ORDER = f"{PATH}/order"


LIVE = "awaiting_payment"


def intent_at(link):
    return PaymentIntent.get_by_id(re.match(r"/o/(pi_\w+)\.", link)[1])


def status_at(link):
    return intent_at(link).status


def form(seat, page, **fields):
    return {"ticket_id": seat["id"], "quantity": "2", "idempotency_key": key_in(page), **fields}


def test_it_shows_what_a_buyer_asks_first(event, seat, api):
    page = api.get(PATH)
    assert page.status_code == 200
    for shown in (
        "Summer Concert",
        "(Europe/Berlin)",
        "Main Hall",
        "Seat",
        '5.00 <span class="unit">USDC',
        "on Local",
    ):
        assert shown in page.text, shown
    assert "online_join_url" not in page.text
    assert len(page.data) < 15_000


def test_text_of_organizers_is_text_and_only_our_links_are_links(acme, api):
    hostile = '<script>alert(1)</script> " onload="x'
    description = f"{hostile}\n\njavascript:alert(1) https://example.org/a?b=1&c=<i>"
    event = acme.event(title=hostile, venue=hostile, description=description, status="published")
    acme.ticket(event, name=hostile, status="published")
    page = api.get(f"/acme/{event['slug']}")
    assert "<script>alert" not in page.text and 'onload="x' not in page.text.replace("&#34;", "")
    assert 'href="https://example.org/a?b=1&amp;c="' in page.text
    assert 'href="javascript' not in page.text
    data = re.search(r'<script type="application/ld\+json">(.*?)</script>', page.text)[1]
    assert json.loads(data)["name"] == hostile


def test_search_engines_read_the_event_and_its_offers(event, seat, api):
    page = api.get(PATH)
    data = json.loads(re.search(r'ld\+json">(.*?)</script>', page.text)[1])
    assert (data["@type"], data["url"]) == ("Event", f"http://localhost{PATH}")
    (offer,) = data["offers"]
    # USDC has no ISO 4217 code, without which a price is wrong for search engines.
    assert "price" not in offer and "priceCurrency" not in offer
    assert data["location"] == [{"@type": "Place", "name": "Main Hall", "address": "Main Hall"}]
    assert offer["availability"] == "https://schema.org/InStock"


def canceled(acme, event):
    path = f"{acme.path}/events/{event['id']}/status"
    assert acme.api().post(path, {"status": "canceled"}).status_code == 200


def test_a_canceled_event_says_so_and_what_its_buyers_do(acme, event, seat, api, send):
    form_of_before = form(seat, api.get(PATH))
    canceled(acme, event)
    page = api.get(PATH)
    assert page.status_code == 200
    for shown in ("This event is canceled.", "Summer Concert", "page of your order"):
        assert shown in page.text, shown
    assert "<form" not in page.text and "ics" not in page.text
    data = json.loads(re.search(r'ld\+json">(.*?)</script>', page.text)[1])
    assert data["eventStatus"] == "https://schema.org/EventCancelled"
    assert "Summer Concert" not in api.get("/acme").text
    late = send(ORDER, form_of_before)
    assert (late.status_code, late.headers["Location"]) == (303, PATH)
    for path in ("", "/tickets", ".ics"):
        assert api.get(f"{acme.public}/events/{event['id']}{path}").status_code == 404


def test_an_event_that_is_over_says_so_and_sells_nothing(acme, api, send, monkeypatch):
    event = acme.event(title="Summer Concert", start_at=in_days(1), end_at=in_days(2))
    seat = acme.ticket(event, name="Seat", status="published")
    form_of_before = form(seat, api.get(PATH))
    clock_ = StoppedClock(monkeypatch, clock.now())
    clock_.forward(days=2, seconds=1)
    page = api.get(PATH)
    assert page.status_code == 200 and "This event is over." in page.text
    assert "<form" not in page.text
    (offer,) = json.loads(re.search(r'ld\+json">(.*?)</script>', page.text)[1])["offers"]
    assert offer["availability"] == "https://schema.org/OutOfStock"
    assert offer["validThrough"] < clock.now().isoformat()
    late = send(ORDER, form_of_before)
    assert late.status_code == 409 and "This event is over." in late.text
    assert acme.stock(seat) == (0, 0)


def test_an_event_that_was_canceled_as_a_draft_stays_private(acme, api):
    never = acme.event(title="Never", status="draft")
    canceled(acme, never)
    taken_back = acme.event(title="Taken Back", status="published")
    path = f"{acme.path}/events/{taken_back['id']}/status"
    assert acme.api().post(path, {"status": "draft"}).status_code == 200
    canceled(acme, taken_back)
    for each in (never, taken_back):
        assert api.get(f"/acme/{each['slug']}").status_code == 404


def test_the_mail_address_of_the_footer_adds_no_headers(acme, event, api):
    address = "a?subject=x&b%0A@example.org"
    assert acme.api().patch(acme.path, {"contact_email": address}).status_code == 200
    footer = api.get(PATH).text.split("<footer", 1)[1]
    assert 'href="mailto:a%3Fsubject%3Dx%26b%250A@example.org"' in footer
    canceled(acme, event)
    assert "mailto:a?subject" not in api.get(PATH).text


def test_an_order_leads_to_its_page_and_holds_the_stock(acme, event, seat, api, send):
    answer = send(ORDER, form(seat, api.get(PATH), email="ada@example.org", name=" Ada "))
    assert answer.status_code == 303
    link = re.fullmatch(r"/o/(pi_\w+)\.(cs_\w+)", answer.headers["Location"])
    assert link and acme.stock(seat) == (2, 0)
    intent = PaymentIntent.get_by_id(link[1])
    assert (intent.buyer_email, intent.buyer_name) == ("ada@example.org", "Ada")
    headers = {"Authorization": f"Bearer {link[2]}"}
    assert api.get(f"{acme.checkout}/intents/{link[1]}", headers=headers).status_code == 200


def test_a_double_click_is_one_order(acme, event, seat, api, send):
    page = api.get(PATH)
    first, again = (send(ORDER, form(seat, page)) for _ in range(2))
    assert first.headers["Location"] == again.headers["Location"]
    assert acme.stock(seat) == (2, 0)


@pytest.mark.sql
def test_a_form_that_comes_several_times_at_once_is_one_order(acme, event, seat, api):
    fields = form(seat, api.get(PATH))
    browsers = [acme.app.test_client() for _ in range(4)]
    answers = at_once(
        *(partial(each.post, ORDER, data=fields, headers=SAME_ORIGIN) for each in browsers)
    )
    assert {each.status_code for each in answers} == {303}
    assert len({each.headers["Location"] for each in answers}) == 1
    assert acme.stock(seat) == (2, 0)


@pytest.mark.sql
def test_a_form_is_one_order_while_the_secret_key_changes(acme, event, seat, api, environ):
    fields = form(seat, api.get(PATH))
    new = {"SECRET_KEY": "another-one-" * 4}
    both = {**new, "SECRET_KEY_PREVIOUS": SECRET_KEY}
    found = []
    # Its repeat comes to a host that knows both keys, then to one that knows the new one only.
    for keys in ({}, both, both, new):
        database.close()
        sent = new_app({**environ, **keys}).test_client()
        answer = sent.post(ORDER, data=fields, headers=SAME_ORIGIN)
        assert answer.status_code == 303
        found.append(answer.headers["Location"].split(".")[0])
    assert len(set(found)) == 1 and acme.stock(seat) == (2, 0)


def test_whoever_comes_too_late_goes_back_to_the_page_of_the_event(acme, event, api, send):
    one = acme.ticket(event, name="One", capacity=1, status="published")
    page, late = api.get(PATH), api.get(PATH)
    first, again, other = (
        send(ORDER, form(one, each, quantity="1")) for each in (page, page, late)
    )
    assert first.headers["Location"] == again.headers["Location"] != other.headers["Location"]
    assert (other.status_code, other.headers["Location"]) == (303, f"{PATH}#sold-out")
    now = api.get(PATH).text
    assert 'id="sold-out"' in now and "All are being paid for at the moment." in now
    assert acme.stock(one) == (1, 0)


def test_each_visitor_has_an_order_and_other_content_replaces_ones_own(
    acme, event, seat, api, send, node
):
    page, other = api.get(PATH), api.get(PATH)
    sent = [form(seat, page), form(seat, other), form(seat, page, quantity="1")]
    links = [send(ORDER, each).headers["Location"] for each in sent]
    assert len(set(links)) == 3 and acme.stock(seat) == (3, 0)
    assert [status_at(link) for link in links] == ["canceled", LIVE, LIVE]


def test_who_corrects_a_mail_address_is_not_sold_out_by_their_own_order(
    acme, event, api, send, node
):
    last = acme.ticket(event, name="Last", capacity=2, status="published")
    page, late = api.get(PATH), api.get(PATH)
    first = send(ORDER, form(last, page, email="ada@example.rog")).headers["Location"]
    second = send(ORDER, form(last, page, email="ada@example.org")).headers["Location"]
    assert (status_at(first), status_at(second)) == ("canceled", LIVE)
    assert intent_at(second).buyer_email == "ada@example.org"
    assert acme.stock(last) == (2, 0)
    assert send(ORDER, form(last, late)).headers["Location"] == f"{PATH}#sold-out"


def test_money_that_nobody_has_booked_yet_is_seen_before_an_order_is_replaced(
    acme, event, seat, api, send, node
):
    page = api.get(PATH)
    paid = send(ORDER, form(seat, page)).headers["Location"]
    worker_once(acme.app)
    terms = intent_at(paid).terms
    anvil.transfer(node.rpc, terms.token_address, terms.address, 2 * PRICE)
    other = send(ORDER, form(seat, page, quantity="1")).headers["Location"]
    worker_once(acme.app)
    assert (status_at(paid), status_at(other)) == ("confirmed", LIVE)


def test_the_first_content_again_replaces_the_correction(acme, event, seat, api, send, node):
    page = api.get(PATH)
    links = [send(ORDER, form(seat, page, quantity=each)).headers["Location"] for each in "2112"]
    assert links[1] == links[2] and len(set(links)) == 3
    assert [status_at(link) for link in dict.fromkeys(links)] == ["canceled", "canceled", LIVE]
    assert acme.stock(seat) == (2, 0)


def test_an_order_that_was_paid_is_not_replaced(acme, event, seat, api, send, node):
    page = api.get(PATH)
    paid = send(ORDER, form(seat, page)).headers["Location"]
    worker_once(acme.app)
    terms = intent_at(paid).terms
    anvil.transfer(node.rpc, terms.token_address, terms.address, 2 * PRICE)
    worker_once(acme.app)
    other = send(ORDER, form(seat, page, quantity="1")).headers["Location"]
    third = send(ORDER, form(seat, page, quantity="3")).headers["Location"]
    assert [status_at(link) for link in (paid, other, third)] == ["confirmed", LIVE, LIVE]
    assert acme.stock(seat) == (4, 2)


def test_what_is_wrong_is_said_beside_what_was_filled_in(seat, api, send):
    page = api.get(PATH)
    answer = send(ORDER, form(seat, page, quantity="99", email="nobody@", name="Ada"))
    assert answer.status_code == 422
    assert 'value="99"' in answer.text and 'value="Ada"' in answer.text
    assert 'aria-invalid="true"' in answer.text and "email-error" in answer.text


def test_an_incomplete_form_is_refused_and_holds_nothing(acme, event, seat, api, send):
    key = key_in(api.get(PATH))
    for wrong in (
        {},
        {"ticket_id": seat["id"]},
        {"ticket_id": seat["id"], "idempotency_key": "short"},
        {"ticket_id": seat["id"], "idempotency_key": key, "quantity": "1e3"},
        {"ticket_id": seat["id"], "idempotency_key": key, "unknown": "1"},
        {"ticket_id": "\0", "idempotency_key": key},
    ):
        assert send(ORDER, wrong).status_code == 422, wrong
    unknown = {"ticket_id": "tkt_none", "idempotency_key": key}
    assert send(ORDER, unknown).status_code == 404
    assert acme.stock(seat) == (0, 0)


def test_a_form_of_another_site_is_refused(acme, event, seat, api, send):
    filled_in = form(seat, api.get(PATH))
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"},
        {"X-Nothing": "1"},
    ):
        answer = send(ORDER, filled_in, **headers)
        assert answer.status_code == 403, headers
    assert acme.stock(seat) == (0, 0)
    assert send(ORDER, filled_in, Origin="http://localhost").status_code == 303


def test_it_says_why_a_ticket_is_not_on_sale(acme, event, api):
    acme.ticket(event, name="Gone", capacity=0, status="published")
    acme.ticket(event, name="Later", sales_start_at=in_days(1), status="published")
    acme.ticket(event, name="Before", sales_end_at=in_days(-1), status="published")
    acme.ticket(event, name="Elsewhere", requires_key=True, status="published")
    page = api.get(PATH).text
    for shown in ("Sold out", "On sale from", "Sale has ended", "Not sold on this page"):
        assert shown in page, shown
    assert 'id="order"' not in page


def test_what_is_not_public_has_no_page(acme, api):
    draft = acme.event(title="Draft", status="draft")
    for path in (f"/acme/{draft['slug']}", "/acme/none", "/nobody", "/nobody/none"):
        page = api.get(path)
        assert page.status_code == 404 and page.mimetype == "text/html"


def test_a_change_is_seen_at_once_and_the_query_makes_no_second_copy(acme, admin, event, seat, api):
    assert "Seat" in api.get(f"{PATH}?utm_source=mail&fbclid=1").text
    path = f"{acme.path}/events/{event['id']}/tickets/{seat['id']}"
    admin.patch(path, {"name": "Chair", "capacity": 1})
    assert "Chair" in api.get(f"{PATH}?utm_source=mail").text
    assert "being paid for" not in api.get(PATH).text
    assert acme.preflight(seat).status_code == 201
    assert "being paid for" in api.get(PATH).text


def test_a_cached_page_is_safe_too_and_for_its_own_host_only(event, seat, api):
    fresh, cached = api.get(PATH), api.get(PATH)
    for name in ("Content-Security-Policy", "Referrer-Policy", "Cache-Control"):
        assert fresh.headers[name] == cached.headers[name], name
    assert "Access-Control-Allow-Origin" not in cached.headers and "ETag" not in cached.headers
    assert key_in(fresh) != key_in(cached)
    assert api.get(PATH, headers={"Host": "evil.example"}).status_code == 421
    assert "http://127.0.0.1:81/" in api.get(PATH, headers={"Host": "127.0.0.1:81"}).text


@pytest.fixture
def family(acme):
    """An event that sells adults, children and shirts in one order."""
    event = acme.event(title="Summer Concert", carts=True, status="published")
    fields = {"status": "published", "max_per_order": 6}
    adult = acme.ticket(event, name="Adult", **fields)
    child = acme.ticket(event, name="Child", min_per_order=2, price_amount=2_000_000, **fields)
    shirt = acme.ticket(event, name="Shirt", admission=False, capacity=30, **fields)
    return adult, child, shirt


def cart(page, *numbers, **fields):
    """The form with numbers of ticket types."""
    chosen = {f"quantity.{each['id']}": str(n) for each, n in numbers}
    return {"idempotency_key": key_in(page), **chosen, **fields}


def test_a_family_orders_all_it_needs_at_once(acme, family, api, send):
    adult, child, shirt = family
    page = api.get(PATH)
    sent = send(ORDER, cart(page, (adult, 2), (child, 0), (shirt, 1), email="ada@example.org"))
    intent = intent_at(sent.headers["Location"])
    assert (intent.quantity, intent.amount) == (3, 3 * PRICE)
    assert [acme.stock(each) for each in family] == [(2, 0), (0, 0), (1, 0)]


def test_a_refused_cart_has_its_error_at_the_field_with_the_number(acme, family, api, send):
    adult, child, shirt = family
    for numbers, field, words in (
        ([(adult, 0)], adult, "Choose at least one ticket."),
        ([(adult, 1), (child, 1)], child, "Order at least 2 of it."),
        ([(child, 7), (adult, 1)], child, "One order can have at most 6 of it."),
        ([(adult, "x")], adult, "Please write a number."),
        ([(adult, 99), (shirt, 99)], adult, "One order can have at most 100 tickets."),
    ):
        answer = send(ORDER, cart(api.get(PATH), *numbers, name="Ada"))
        assert answer.status_code in (409, 422), words
        text = answer.text
        error = f'id="quantity.{field["id"]}-error"'
        assert re.search(rf"{error}>{re.escape(words)}<", text), words
        of_field = re.search(rf'<input[^>]*name="quantity.{field["id"]}"[^>]*>', text)[0]
        assert "autofocus" in of_field and 'aria-invalid="true"' in of_field
        assert 'value="Ada"' in text
    assert [acme.stock(each) for each in family] == [(0, 0)] * 3


def test_what_is_left_is_said_at_the_ticket_that_is_short(acme, family, api, send):
    adult, _, shirt = family
    path = f"{acme.path}/events/{shirt['event_id']}/tickets/{shirt['id']}"
    page = api.get(PATH)
    assert acme.api().patch(path, {"capacity": 50}).status_code == 200
    other = send(ORDER, cart(api.get(PATH), (shirt, 6)))
    assert other.status_code == 303
    assert acme.api().patch(path, {"capacity": 9}).status_code == 200
    text = send(ORDER, cart(page, (adult, 1), (shirt, 6))).text
    assert "are left" in text or "not enough tickets are left" in text
    assert f'id="quantity.{shirt["id"]}-error"' in text
    assert acme.stock(adult) == (0, 0)


def test_a_code_is_used_by_the_form_that_shows_its_prices(acme, family, api, send):
    adult, _, _ = family
    path = f"{acme.path}/events/{adult['event_id']}/vouchers"
    made = {"code": "SPONSOR-1", "max_usages": 2, "price_mode": "percent", "value": 50}
    assert acme.api().post(path, made).status_code == 201
    page = api.get(f"{PATH}?voucher=sponsor-1")
    assert "2.50" in page.text
    many = send(ORDER, cart(page, (adult, 3), voucher="SPONSOR-1"))
    assert many.status_code == 409
    assert "This code is good for 2 more." in many.text
    sent = send(ORDER, cart(page, (adult, 2), voucher="SPONSOR-1"))
    intent = intent_at(sent.headers["Location"])
    assert (intent.amount, intent.discount_amount) == (PRICE, PRICE)
    late = send(ORDER, cart(api.get(PATH), (adult, 1), voucher="SPONSOR-1"))
    assert late.status_code == 409
    assert "All uses of this code are in orders that are not paid yet. Try again at" in late.text


def test_a_missing_answer_is_not_blamed_on_the_ticket(acme, family, api, send):
    adult, _, _ = family
    question = {"identifier": "diet", "question": "Diet?", "type": "text", "required": True}
    path = f"{acme.path}/events/{adult['event_id']}/questions"
    assert acme.api().post(path, {**question, "ask": "order"}).status_code == 201
    text = send(ORDER, cart(api.get(PATH), (adult, 1), **{"answers.diet": ""})).text
    assert 'id="answers.diet-error"' in text
    assert f'id="quantity.{adult["id"]}-error"' not in text
    assert re.search(rf'name="quantity.{adult["id"]}"[^>]* value="1"', text)


def test_a_description_has_markdown_and_other_surfaces_plain_text(acme, api):
    source = "An **evening** of\n\n## Songs\n\n- [Dock](https://example.org/dock)"
    event = acme.event(title="Summer Concert", description=source)
    page = api.get(PATH).text
    assert "An <strong>evening</strong> of" in page
    assert "<h3><bdi>Songs</bdi></h3>" in page and "<li><bdi><a href=" in page
    plain = "An evening of\n\nSongs\n\n- Dock (https://example.org/dock)"
    assert f'<meta name="description" content="{plain}">' in page
    data = re.search(r'<script type="application/ld\+json">(.*?)</script>', page)[1]
    assert json.loads(data)["description"] == plain
    shown = api.get(f"{acme.public}/events/{event['id']}")
    assert shown.json["description"] == source
    calendar = api.get(f"{acme.public}/events/{event['id']}.ics").text.replace("\r\n ", "")
    assert "DESCRIPTION:An evening of\\n\\nSongs\\n\\n- Dock (https://example.org/dock)" in calendar
