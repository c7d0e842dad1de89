"""The mails of a waiting list: to confirm, to offer, to remind, and when nothing became free."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import FREE, admissions_of, given, void
from tests.support.mails import PUBLIC_URL, html_of, send, text_of
from tests.support.waiting import ask, buyer_of, entry_of, offer, page_of, wait
from ticketing import clock, locales
from ticketing.models.events import Event
from ticketing.models.notifications import Mail
from ticketing.services.notifications import numbering
from tools import headless


@pytest.fixture
def ticket(acme):
    event = acme.event(title="Night")
    return acme.ticket(event, name="Seat", capacity=1, allow_waitinglist=True, **FREE)


@pytest.fixture
def holder(acme, ticket):
    return given(acme, ticket)


def free(acme, holder):
    (seat,) = admissions_of(holder)
    assert void(acme, seat).status_code == 200


def sent(acme, server):
    """Return the mails that are sent now: subject and both parts of each."""
    before = len(server.mails)
    assert send(acme.app) is None
    return [(mail["Subject"], text_of(mail), html_of(mail)) for mail in server.mails[before:]]


def test_a_place_is_confirmed_by_its_mail(acme, server, time, ticket, holder):
    ask(acme, ticket, "ada@example.org", name="Ada Lovelace")
    ((subject, *parts),) = sent(acme, server)
    assert subject == "Confirm that you wait for tickets: Night"
    entry = entry_of("ada@example.org")
    for part in parts:
        # A stranger may have typed the address: nothing that they wrote is in the mail.
        assert PUBLIC_URL + page_of(entry) in part and "Lovelace" not in part
        assert "Seat" in part
    assert server.recipients == ["ada@example.org"]
    time.forward(hours=4)
    ask(acme, ticket, "ada@example.org")
    assert [subject for subject, *_ in sent(acme, server)] == [subject]


def test_who_waits_already_gets_the_link_again(acme, server, time, ticket, holder):
    entry = wait(acme, ticket, "ada@example.org")
    sent(acme, server)
    time.forward(hours=4)
    ask(acme, ticket, "ada@example.org")
    ((subject, *parts),) = sent(acme, server)
    assert subject == "Your place on the waiting list: Night"
    assert all(page_of(entry) in part for part in parts)


def test_strangers_cannot_fill_a_mailbox(acme, server, ticket, holder):
    for _ in range(5):
        assert ask(acme, ticket, "ada@example.org").status_code == 202
    assert len(sent(acme, server)) == 1  # in four hours
    assert not Mail.select().where(Mail.status == "waiting").exists()


def test_an_offer_comes_at_once_and_again_at_half_time(acme, server, time, ticket, holder):
    entry = wait(acme, ticket, "ada@example.org")
    sent(acme, server)
    free(acme, holder)
    offer(acme.app)
    numbering.number_all()
    ((subject, *parts),) = sent(acme, server)
    assert subject.startswith("Your turn: tickets until ") and subject.endswith("Night")
    order = buyer_of(acme, entry)
    for part in parts:
        assert f"/o/{order.intent['id']}." in part and page_of(entry) in part
    time.forward(hours=11)
    assert sent(acme, server) == []  # no mail about an order that waits for its payment
    time.forward(hours=1, seconds=1)
    ((subject, *_),) = sent(acme, server)
    assert subject.startswith("We still hold your tickets, until ")


def test_who_has_taken_it_is_not_reminded(acme, server, time, ticket, holder):
    entry = wait(acme, ticket, "ada@example.org")
    free(acme, holder)
    offer(acme.app)
    sent(acme, server)
    buyer_of(acme, entry).purchase()
    numbering.number_all()
    assert [subject for subject, *_ in sent(acme, server)] == ["Your ticket for Night"]
    time.forward(hours=13)
    assert sent(acme, server) == []
    assert not Mail.select().where(Mail.status == "waiting").exists()


def test_who_got_nothing_is_told_and_forgotten(acme, server, ticket, holder):
    wait(acme, ticket, "ada@example.org")
    sent(acme, server)
    soon = datetime.now(UTC) + timedelta(minutes=59)
    Event.update(doors_open_at=soon).execute()
    offer(acme.app)
    ((subject, text, _),) = sent(acme, server)
    assert subject == "No ticket became free: Night"
    assert "on sale for everybody" in text and "was deleted" in text
    assert not Mail.select().where(Mail.recipient.is_null(False)).exists()


def test_a_canceled_event_says_so_once_to_each_who_waits(acme, server, ticket, holder):
    other = acme.ticket({"id": ticket["event_id"]}, capacity=0, allow_waitinglist=True, **FREE)
    for each in (ticket, other):
        wait(acme, each, "ada@example.org")
    sent(acme, server)
    path = f"{acme.path}/events/{ticket['event_id']}/status"
    assert acme.api().post(path, {"status": "canceled"}).status_code == 200
    told = [subject for subject, *_ in sent(acme, server) if "Canceled" in subject]
    assert "Canceled: Night" in told


@pytest.mark.long
def test_these_mails_fit_on_a_phone_in_each_language(acme, server, time, ticket, holder):
    event = {"id": ticket["event_id"]}
    other = acme.ticket(event, capacity=0, allow_waitinglist=True, **FREE)
    for each in (ticket, other):
        for locale in locales.LOCALES:
            wait(acme, each, f"{locale}@example.org", locale=locale)
    mails = [html for _, _, html in sent(acme, server)]
    path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
    assert acme.api().patch(path, {"capacity": 9}).status_code == 200
    offer(acme.app)
    mails += [html for _, _, html in sent(acme, server)]
    time.forward(hours=13)
    soon = clock.now() + timedelta(minutes=30)
    Event.update(doors_open_at=soon).execute()
    offer(acme.app)
    mails += [html for _, _, html in sent(acme, server)]
    assert len(mails) == 5 * len(locales.LOCALES)
    with headless.browser() as browser:
        page = browser.new_page()
        page.set_viewport_size({"width": 360, "height": 800})
        for mail in mails:
            page.set_content(mail)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, mail[:200]


def test_a_mail_does_not_leave_after_its_offer_ended(acme, server, time, ticket, holder):
    wait(acme, ticket, "ada@example.org")
    sent(acme, server)
    free(acme, holder)
    offer(acme.app)
    time.forward(hours=24)
    assert sent(acme, server) == []
    assert not Mail.select().where(Mail.status == "waiting").exists()
