"""Who lost the links of their orders gets them by mail. The page says nothing about an address."""

import base64
import re
from datetime import timedelta

import pytest

from tests.support.admissions import FREE
from tests.support.factories import PRICE, Buyer, in_days
from tests.support.mails import ADA, PUBLIC_URL, change_intent, html_of, order_link, send, text_of
from tests.support.order_pages import SAME_ORIGIN
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.models.events import Event
from ticketing.models.notifications import Mail
from ticketing.services.mail import lost_links

pytestmark = pytest.mark.sql

PATH = "/_f/acme"


@pytest.fixture
def ask(app):
    """Send the form for an address, from a network address."""

    def ask(email, client="192.0.2.1"):
        return app.test_client().post(
            PATH,
            data={"email": email},
            base_url=PUBLIC_URL,
            headers=SAME_ORIGIN,
            environ_overrides={"REMOTE_ADDR": client},
        )

    return ask


def test_the_mail_has_the_links_of_the_orders(acme, server, ask):
    ticket = acme.ticket(**FREE)
    first, second = (acme.buyer(ticket, buyer=ADA) for _ in range(2))
    other = acme.buyer(ticket, buyer={"email": "grace@example.org"})
    answer = ask("ADA@example.org")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{PATH}#sent")
    assert send(acme.app) is None
    mail = server.only()
    assert mail["Subject"] == "Your orders at Acme" and "Ada Lovelace" not in str(mail)
    for part in (text_of(mail), html_of(mail)):
        assert order_link(first) in part and order_link(second) in part
        assert order_link(other) not in part
    (row,) = Mail.select()
    assert (row.status, row.recipient) == ("sent", None)


def test_the_answer_is_the_same_for_every_address(acme, neighbour, server, ask):
    acme.buyer(acme.ticket(**FREE), buyer=ADA)
    neighbour.buyer(neighbour.ticket(**FREE), buyer={"email": "bob@example.org"})
    known, foreign, unknown = map(ask, (ADA["email"], "bob@example.org", "nobody@example.org"))
    for answer in (foreign, unknown):
        assert (answer.status_code, answer.data) == (known.status_code, known.data)
        assert answer.headers["Location"] == known.headers["Location"]
    # The same work, and nothing is looked up: each has planned a mail.
    assert Mail.select().count() == 3
    send(acme.app)
    assert server.only()["To"] == ADA["email"]
    assert sorted(each.status for each in Mail.select()) == ["dropped", "dropped", "sent"]


def test_an_order_is_left_out_a_week_after_its_event_or_without_money(
    acme, server, ask, monkeypatch
):
    ticket = acme.ticket(**FREE)
    buyer, ended = acme.buyer(ticket, buyer=ADA), acme.buyer(ticket, buyer=ADA)
    change_intent(ended, status="canceled")
    over = Event.get().over_at
    stopped = StoppedClock(monkeypatch, over + timedelta(days=7, seconds=-1))
    ask(ADA["email"])
    send(acme.app)
    mail = server.only()
    assert order_link(buyer) in text_of(mail) and order_link(ended) not in text_of(mail)
    stopped.forward(seconds=2)
    ask(ADA["email"])
    send(acme.app)
    assert len(server.mails) == 1


def test_free_orders_of_a_stranger_do_not_hide_the_one_that_was_paid(acme, node, server, ask):
    """Finding 8: ten free orders with the victim's address were all that the mail had."""
    event = acme.event(title="Night")
    paid = acme.buyer(acme.ticket(event, name="Balcony"), buyer=ADA, quantity=2)
    paid.pay(node)
    assert paid.purchase().status_code in (200, 202)
    free = acme.ticket(name="Free", capacity=None, **FREE)
    strange = [acme.buyer(free, buyer=ADA) for _ in range(10)]
    unpaid = acme.buyer(acme.ticket(name="Dear"), buyer=ADA)
    ask(ADA["email"], "198.51.100.1")
    send(acme.app)
    mail = server.only()
    text, html = text_of(mail).replace("\r\n", "\n"), html_of(mail)
    links = [f"{PUBLIC_URL}/o/{found}" for found in re.findall(r"/o/(\S+)", text)]
    assert len(links) == 10 and links[0] == order_link(paid)
    assert order_link(strange[0]) not in text and order_link(paid) in html
    _, first, second, *_ = text.split(PUBLIC_URL + "/o/")
    assert "2 \u00d7 Balcony\nPaid" in first
    assert "1 \u00d7 Dear\nNot paid, ordered on " in second
    assert "1 \u00d7 Free\nFree, ordered on " in text
    # The rest is on a page.
    (path,) = re.findall(r"http://localhost(/_l/\S+)", text.replace(PUBLIC_URL, "http://localhost"))
    assert path in html
    page = acme.app.test_client().get(path, base_url=PUBLIC_URL)
    assert page.status_code == 200 and page.headers["Cache-Control"] == "no-store"
    for each in (paid, unpaid, *strange):
        assert order_link(each).replace("&", "&amp;") in page.text
    assert "2 \u00d7 <bdi>Balcony</bdi>" in page.text and ADA["email"] in page.text


def test_free_orders_of_the_own_network_come_before_those_of_others(acme, server, ask):
    ticket = acme.ticket(capacity=None, **FREE)
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "buyer": ADA}

    def order(client):
        overrides = {"REMOTE_ADDR": client}
        path = f"{acme.checkout}/preflight"
        made = acme.with_headers({}).post(path, body, environ_overrides=overrides)
        assert made.status_code == 201
        return Buyer(acme, made.json)

    mine = order("192.0.2.1")
    for number in range(11):
        order(f"198.51.100.{number}")
    ask(ADA["email"], "192.0.2.1")
    send(acme.app)
    text = text_of(server.only())
    assert text.index(order_link(mine)) == text.index(f"{PUBLIC_URL}/o/")


def test_orders_that_were_paid_are_listed_by_event(acme, app):
    later, sooner = (acme.ticket(acme.event(start_at=in_days(days))) for days in (40, 20))
    buyers = [acme.buyer(each, buyer=ADA) for each in (sooner, later, sooner, later)]
    for each in buyers:
        change_intent(each, received=PRICE)
    found = lost_links.orders_of(acme.id, ADA["email"])
    assert [each.id for each in found] == [buyers[n].intent["id"] for n in (2, 0, 3, 1)]


class TestThePageOfAllOrders:
    def test_it_ends_after_four_hours(self, acme, app, monkeypatch):
        stopped = StoppedClock(monkeypatch, clock.now())
        path = self.path(acme)
        assert app.test_client().get(path, base_url=PUBLIC_URL).status_code == 200
        stopped.forward(hours=4)
        ended = app.test_client().get(path, base_url=PUBLIC_URL)
        assert ended.status_code == 404 and "Ask for the links" in ended.text

    def test_nobody_makes_such_a_link(self, acme, app):
        path = self.path(acme)
        token = path.removeprefix("/_l/")
        for wrong in ("a", token[:-2], token + "AAAA", "A" + token[1:], "ä", "." * 40, token[:20]):
            if wrong != token:
                answer = app.test_client().get(f"/_l/{wrong}", base_url=PUBLIC_URL)
                assert answer.status_code == 404, wrong
        # What it is about cannot be read from it.
        assert ADA["email"] not in base64.urlsafe_b64decode(token + "==").decode("latin-1")

    def test_it_shows_no_orders_of_others(self, acme, neighbour, app):
        own = acme.buyer(acme.ticket(**FREE), buyer=ADA)
        of_other = acme.buyer(acme.ticket(**FREE), buyer={"email": "bob@example.org"})
        elsewhere = neighbour.buyer(neighbour.ticket(**FREE), buyer=ADA)
        page = app.test_client().get(self.path(acme), base_url=PUBLIC_URL).text
        assert own.intent["id"] in page
        assert of_other.intent["id"] not in page and elsewhere.intent["id"] not in page

    def test_many_are_on_several_pages(self, acme, app, monkeypatch):
        monkeypatch.setattr(lost_links, "MOST_OF_PAGE", 2)
        ticket = acme.ticket(capacity=None, **FREE)
        buyers = [acme.buyer(ticket, buyer=ADA).intent["id"] for _ in range(3)]
        client, path = app.test_client(), self.path(acme)
        first = client.get(path + "?lang=de", base_url=PUBLIC_URL).text
        assert f'href="{path}?page=2&amp;lang=de"' in first and "Kostenlos" in first
        second = client.get(path + "?page=2", base_url=PUBLIC_URL).text
        assert [each in first for each in buyers] == [False, True, True]
        assert [each in second for each in buyers] == [True, False, False]
        for page in ("0", "-1", "x", "9" * 30):
            answer = client.get(f"{path}?page={page}", base_url=PUBLIC_URL)
            assert answer.status_code == 200

    def path(self, acme):
        url, _ = lost_links.link(acme.id, ADA["email"], acme.app.extensions["ticketing"])
        return url.removeprefix(PUBLIC_URL)


def test_an_address_gets_them_once_in_four_hours(acme, server, ask, monkeypatch):
    stopped = StoppedClock(monkeypatch, clock.now())
    acme.buyer(acme.ticket(**FREE), buyer=ADA)
    codes = [ask(ADA["email"], f"192.0.2.{number}").status_code for number in range(4)]
    send(acme.app)
    assert codes == [303, 200, 200, 200] and len(server.mails) == 1
    stopped.forward(hours=4)
    assert ask(ADA["email"]).status_code == 303
    send(acme.app)
    assert len(server.mails) == 2


def test_a_client_asks_ten_times_a_day(acme, ask, monkeypatch):
    stopped = StoppedClock(monkeypatch, clock.now())
    for number in range(10):
        assert ask(f"{number}@example.org").status_code == 303
    refused = ask(ADA["email"])
    assert refused.status_code == 429 and "Try again tomorrow" in refused.text
    assert ask(ADA["email"], "198.51.100.1").status_code == 303
    stopped.forward(days=1, seconds=1)
    assert ask(ADA["email"]).status_code == 303


def test_a_wrong_address_is_said_at_its_field(acme, ask):
    for wrong in ("", "ada", "a@b@c"):
        answer = ask(wrong)
        assert answer.status_code == 422 and 'id="email-error"' in answer.text
    assert not Mail.select().exists()


def test_the_organizer_s_page_links_to_it(acme, app):
    acme.event(status="published")
    client = app.test_client()
    assert f'href="{PATH}"' in client.get("/acme", base_url=PUBLIC_URL).text
    assert 'name="email"' in client.get(PATH, base_url=PUBLIC_URL).text
