"""Who lost the links of their orders gets them by mail. The page says nothing about an address."""

from datetime import timedelta

import pytest

from tests.support.admissions import FREE
from tests.support.mails import ADA, PUBLIC_URL, change_intent, html_of, order_link, send, text_of
from tests.support.order_pages import SAME_ORIGIN
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.models.events import Event
from ticketing.models.notifications import Mail

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


def test_ten_links_at_most(acme, server, ask):
    ticket = acme.ticket(**FREE, capacity=None)
    buyers = [acme.buyer(ticket, buyer=ADA) for _ in range(11)]
    ask(ADA["email"])
    send(acme.app)
    text = text_of(server.only())
    assert [order_link(each) in text for each in buyers] == [False] + [True] * 10


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
