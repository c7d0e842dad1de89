"""The console's first page: first steps, figures and the chart of sales."""

import re
from datetime import timedelta

import pytest

from tests.support.console import sign_in
from tests.support.factories import in_days, new_organizer, worker_once
from tests.support.receivers import Chain
from ticketing import clock
from ticketing.chain import receivers
from ticketing.models.payment_intents import PaymentIntent
from tools import anvil

OVERVIEW = "/console"


def _steps(page):
    """Return the title of each step, whether it is done, and the path of its link."""
    found = re.findall(r"<li( class=\"done\")?><div>\s*<b>(.*?)</b>(.*?)</li>", page, re.DOTALL)
    paths = (re.search(r'(?:href|action)="([^"]+)"', rest) for _, _, rest in found)
    return [
        (title, bool(done), path and path[1])
        for (done, title, _), path in zip(found, paths, strict=True)
    ]


def _figures(page):
    """Return each figure of a page, by its name without the hint."""
    found = re.findall(r"<dt>(.*?)(?:<span.*?</span>)?</dt><dd>(.*?)</dd>", page)
    return dict(found)


@pytest.fixture
def free(acme):
    """A ticket type on sale that costs nothing."""
    return acme.ticket(price_amount=0, chain_id=None, capacity=10)


def _sell(acme, ticket, quantity=1, days_ago=0):
    buyer = acme.buyer(ticket, quantity=quantity)
    assert buyer.purchase().status_code == 200
    at = clock.now() - timedelta(days=days_ago)
    PaymentIntent.update(confirmed_at=at).where(PaymentIntent.id == buyer.intent["id"]).execute()


def test_an_empty_console_leads_to_the_first_sale_step_by_step(app):
    bare = new_organizer(app, "bare", address=None)
    boss = sign_in(bare)
    now = _steps(boss.get(OVERVIEW).text)
    assert now == [
        ("Wallet", False, "/console/wallet"),
        ("Event", False, "/console/events/new"),
        ("Ticket type", False, None),
        ("Publish", False, None),
        ("Test purchase", False, None),
        ("Move the money", False, None),
        ("Spend it", False, None),
    ]
    event = bare.event(status="draft")
    here = f"/console/events/{event['id']}"
    assert _steps(boss.get(OVERVIEW).text)[1:3] == [
        ("Event", True, None),
        ("Ticket type", False, f"{here}/tickets/new"),
    ]
    ticket = bare.ticket(event, price_amount=0, chain_id=None, status="draft")
    to_publish = _steps(boss.get(OVERVIEW).text)[3]
    assert to_publish == ("Publish", False, f"{here}/publish")
    boss.send(f"{here}/status", {"status": "published"})
    of_type = ("Publish", False, f"{here}/tickets/{ticket['id']}#status")
    assert _steps(boss.get(OVERVIEW).text)[3] == of_type
    boss.send(f"{here}/tickets/{ticket['id']}/status", {"status": "published"})
    assert _steps(boss.get(OVERVIEW).text)[3:] == [
        ("Publish", True, None),
        ("Test purchase", False, "/bare/launch-night"),
    ]
    assert boss.get("/bare/launch-night").status_code == 200
    bare.buyer(ticket).purchase()
    assert _steps(boss.get(OVERVIEW).text) == []


def test_a_wallet_is_a_step_that_is_done(console):
    assert _steps(console.get(OVERVIEW).text)[0] == ("Wallet", True, None)


def test_free_events_need_no_wallet_and_end_with_the_purchase(app):
    bare = new_organizer(app, "bare", address=None)
    boss = sign_in(bare)
    ticket = bare.ticket(price_amount=0, chain_id=None)
    page = boss.get(OVERVIEW).text
    assert [title for title, _, _ in _steps(page)][-1] == "Test purchase"
    assert '<b>Wallet</b> <span class="optional">optional</span>' in page
    bare.buyer(ticket).purchase()
    assert _steps(boss.get(OVERVIEW).text) == []
    # As soon as a ticket has a price, its money has to arrive somewhere.
    bare.ticket()
    assert _steps(boss.get(OVERVIEW).text)[0] == ("Wallet", False, "/console/wallet")


def test_the_steps_end_when_the_money_can_be_spent(app, node):
    chain = Chain(node)
    shop = new_organizer(app, "shop", address=anvil.SELLER)
    worker_once(app)
    boss, writer = sign_in(shop), sign_in(shop, "write", "writer@example.org")
    event = shop.event()
    ticket = shop.ticket(event)
    # A ticket that costs nothing proves nothing.
    shop.buyer(shop.ticket(event, price_amount=0, chain_id=None)).purchase()
    assert _steps(boss.get(OVERVIEW).text)[4:] == [
        ("Test purchase", False, "/shop/launch-night"),
        ("Move the money", False, None),
        ("Spend it", False, None),
    ]
    buyer = shop.buyer(ticket)
    buyer.pay(node)
    assert buyer.purchase().status_code == 200
    shop.event(title="Another one", status="draft")
    steps = _steps(boss.get(OVERVIEW).text)
    assert all(is_done for _, is_done, _ in steps[:5])
    assert steps[5:] == [("Move the money", False, "/console/money"), ("Spend it", False, None)]
    assert _steps(writer.get(OVERVIEW).text)[5:] == [
        ("Move the money", False, None),
        ("Spend it", False, None),
    ]
    intent = PaymentIntent.get_by_id(buyer.intent["id"])
    salt = receivers.order_salt(bytes.fromhex(intent.wallet.secret), intent.address_index)
    chain.collect(anvil.SELLER, anvil.TOKEN_ADDRESS, [salt])
    worker_once(app)
    assert _steps(boss.get(OVERVIEW).text)[5:] == [
        ("Move the money", True, None),
        ("Spend it", False, "/console/wallet/credited"),
    ]
    answer = boss.send("/console/wallet/credited")
    assert answer.headers["Location"] == "/console/wallet#credited"
    assert _steps(boss.get(OVERVIEW).text) == []


def test_a_member_gets_links_only_to_what_their_role_opens(acme, reader, writer):
    assert all(path is None for _, _, path in _steps(reader.get(OVERVIEW).text))
    assert _steps(writer.get(OVERVIEW).text)[1][2] == "/console/events/new"


def test_each_event_has_its_figures(acme, node, reader):
    seat = acme.ticket(capacity=10)
    paid = acme.buyer(seat, quantity=2)
    paid.pay(node)
    assert paid.purchase().status_code == 200
    acme.buyer(seat, quantity=3)
    path = f"/console/events/{seat['event_id']}"
    for page in (OVERVIEW, path):
        figures = _figures(reader.get(page).text)
        assert (figures["Tickets"], figures["Reserved"], figures["Left"]) == ("2", "3", "5")
        assert (figures["Entered"], figures["Kept, in USDC"]) == ("0", "10.00")


def test_sales_per_day_are_a_chart_with_a_table_of_the_same_numbers(acme, free, reader):
    _sell(acme, free, 4, days_ago=3)
    _sell(acme, free, 1, days_ago=1)
    for path in (OVERVIEW, f"/console/events/{free['event_id']}"):
        page = reader.get(path).text
        svg = re.search(r'<svg class="chart".*?</svg>', page, re.DOTALL)[0]
        heights = re.findall(r'height="([\d.]+)"><title>', svg)
        assert heights == ["100.0", "25.0"]
        assert 'd="M0 100L100 100L105 20.0L125 0.0L140 0.0"' in svg  # four of five, then all
        assert "<b>5</b> tickets sold" in page
        days = page.partition("<tbody>")[2].partition("</tbody>")[0]
        table = re.findall(r'="Orders">(\d+)</td>.*?="Tickets">(\d+)</td>', days)
        assert table == [("1", "1"), ("1", "4")]
        assert 'style="' not in page


def test_without_sales_there_is_no_chart(acme, free, reader):
    assert "<svg" not in reader.get(OVERVIEW).text.partition("event-figures")[0]


def test_a_day_is_one_of_the_zone_of_the_event(acme, reader, monkeypatch):
    noon = clock.now().replace(hour=12, minute=0)
    event = acme.event(timezone="Pacific/Kiritimati")  # 14 hours before UTC
    free = acme.ticket(event, price_amount=0, chain_id=None)
    _sell(acme, free)
    PaymentIntent.update(confirmed_at=noon - timedelta(days=1)).execute()
    today = noon.date()
    page = reader.get(f"/console/events/{event['id']}").text
    assert f'<th scope="row"><time datetime="{today}">' in page
    yesterday = today - timedelta(days=1)
    assert f'<th scope="row"><time datetime="{yesterday}">' in reader.get(OVERVIEW).text


def test_many_events_are_on_several_pages(acme, reader):
    for number in range(26):
        acme.event(title=f"Night {number}", start_at=in_days(number + 1))
    first = reader.get(OVERVIEW).text
    assert first.count("<h3>") == 25
    more = re.search(r'href="([^"]*cursor=[^"]*)"', first)[1]
    assert reader.get(more).text.count("<h3>") == 1


def test_the_events_of_a_neighbour_are_not_shown(acme, neighbour):
    acme.event(title="Secret Night")
    assert "Secret Night" not in sign_in(neighbour).get(OVERVIEW).text


def test_titles_are_escaped(acme, reader):
    acme.event(title="<script>alert(1)</script>")
    assert "<script>alert" not in reader.get(OVERVIEW).text
