"""Mails that anybody may ask for: a repeat is not sent, and no stranger holds another's mail back.

Findings of an attack: three free orders with an administrator's address kept a new password, the
links of orders and the place on a waiting list back for a day, and so did three requests.
"""

import re

import pytest

from tests.notifications.mail.test_budgets import take, work
from tests.support.admissions import FREE, given
from tests.support.console import sign_in
from tests.support.factories import Api
from tests.support.mails import ADA as BUYER
from tests.support.mails import PUBLIC_URL, send, text_of
from tests.support.order_pages import SAME_ORIGIN
from ticketing.models.events import Event
from ticketing.models.notifications import Mail
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.services.mail import daily_bound
from ticketing.services.notifications import mail_queue

pytestmark = pytest.mark.sql

ADA, MALLORY = "ada@example.org", "192.0.2.66"
KINDS = {"reset": 1, "links": 4, "place": 4}
"""Once in how many hours each is sent."""
SUBJECTS = {
    "reset": "A new password",
    "links": "Your orders at Acme",
    "place": "Confirm that you wait for tickets",
}


class Asking:
    """Ada, who has a password, an order and a wish to wait, and people who type her address."""

    def __init__(self, organizer, server):
        self.organizer, self.server = organizer, server
        sign_in(organizer, "admin", ADA)
        organizer.buyer(organizer.ticket(**FREE, capacity=None), buyer=BUYER)
        self.sold_out = organizer.ticket(capacity=1, allow_waitinglist=True, **FREE)
        given(organizer, self.sold_out)
        Mail.delete().execute()

    def ask(self, kind, email=ADA, address="192.0.2.1", tenant="acme"):
        """Return the answer of a page to a form."""
        path, form = {
            "reset": ("/console/forgotten", {"tenant": tenant}),
            "links": (f"/_f/{tenant}", {}),
            "place": (self._list_path(), {"ticket_id": self.sold_out["id"], "quantity": "1"}),
        }[kind]
        return self.organizer.app.test_client().post(
            path,
            data={**form, "email": email},
            base_url=PUBLIC_URL,
            headers=SAME_ORIGIN,
            environ_overrides={"REMOTE_ADDR": address},
        )

    def _list_path(self):
        return f"/acme/{Event.get_by_id(self.sold_out['event_id']).slug}/waiting-list"

    def sent(self, kind, to=ADA):
        """Send what is due, and return the mails of a kind that came."""
        send(self.organizer.app)
        return [
            each
            for each in self.server.mails
            if each["Subject"].startswith(SUBJECTS[kind]) and each["To"] == to
        ]


@pytest.fixture
def asking(acme, server, time):
    return Asking(acme, server)


@pytest.fixture
def free_next_door(neighbour):
    return neighbour.ticket(**FREE, capacity=None)


@pytest.mark.parametrize("kind", KINDS)
def test_free_orders_of_strangers_hold_it_not_back(acme, neighbour, asking, free_next_door, kind):
    for number in range(12):
        take(neighbour, free_next_door, ADA, f"192.0.2.{100 + number // 2}")
    work(acme)
    assert asking.ask(kind).status_code == 303
    assert len(asking.sent(kind)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_neither_do_mailboxes_that_the_same_network_has_reached(
    acme, neighbour, asking, free_next_door, kind
):
    for number in range(20):
        take(neighbour, free_next_door, f"guest{number}@example.org")
    work(acme)
    assert asking.ask(kind).status_code == 303
    assert len(asking.sent(kind)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_repeat_is_not_sent_and_the_page_says_when_it_went(asking, time, kind):
    hours = KINDS[kind]
    assert asking.ask(kind, address=MALLORY).status_code == 303
    time.forward(minutes=12)
    again = asking.ask(kind)
    assert again.status_code == 200 and "12 minutes ago" in again.text
    assert "once in" in again.text and "<form" in again.text
    assert len(asking.sent(kind)) == 1
    time.forward(hours=hours, minutes=-13)
    assert asking.ask(kind).status_code == 200
    assert Mail.select().count() == 1
    time.forward(minutes=1)
    assert asking.ask(kind).status_code == 303
    assert len(asking.sent(kind)) == 2


def test_hours_are_said_as_hours(asking, time):
    asking.ask("links")
    time.forward(minutes=59)
    assert "59 minutes ago" in asking.ask("links").text
    time.forward(minutes=1)
    assert "1 hour ago" in asking.ask("links").text
    time.forward(minutes=179)
    assert "3 hours ago" in asking.ask("links").text


def test_strangers_who_ask_for_a_reset_all_day_keep_nobody_out(acme, asking, time):
    """There is always a link in the mailbox that works, or one that may be asked for now."""
    for number in range(24):
        for minute in (0, 20, 40):
            asked = asking.ask("reset", address=f"192.0.2.{number * 3 + minute // 20}")
            assert asked.status_code in (200, 303)
            asking.sent("reset")
            time.forward(minutes=20)
        owner = asking.ask("reset", address=f"198.51.100.{number // 10}")
        assert owner.status_code in (200, 303)
        (link,) = re.findall(r"http\S+/console/reset/\S+", text_of(asking.sent("reset")[-1]))
        page = acme.app.test_client().get(link, base_url=PUBLIC_URL)
        assert page.status_code == 200
    assert len(asking.sent("reset")) <= 25


@pytest.mark.parametrize("kind", ["reset", "links"])
def test_another_spelling_or_organizer_holds_nothing_back(neighbour, asking, kind):
    """Ada's address with a tag reaches her mailbox, but brings nothing of what she asks for."""
    asking.ask(kind, "ada+other@example.org", MALLORY)
    asking.ask(kind, ADA, MALLORY, tenant=neighbour.slug)
    assert asking.ask(kind).status_code == 303
    assert len(asking.sent(kind)) == 1
    assert asking.ask(kind, "Ada@Example.ORG").status_code == 200


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_is_the_same_for_an_unknown_address(asking, time, kind):
    pages = {}
    for email in (ADA, "nobody@example.org"):
        first = asking.ask(kind, email)
        asking.sent(kind)
        pages[email] = [first]
    time.forward(minutes=5)
    for email, answers in pages.items():
        answers.append(asking.ask(kind, email))
    known, unknown = (
        [(each.status_code, each.headers.get("Location"), _plain(each.text)) for each in answers]
        for answers in pages.values()
    )
    assert known == unknown and known[1][0] == 200


def _plain(page):
    """A page without its form's own key."""
    return re.sub(r'value="[0-9a-f]{32}"', "", page)


def test_a_place_that_was_left_is_another_one(acme, server, asking):
    asking.ask("place")
    entry = WaitingListEntry.get()
    WaitingListEntry.update(status="canceled", mailbox=None).execute()
    assert asking.ask("place").status_code == 303
    assert WaitingListEntry.select().count() == 2 and len(asking.sent("place")) == 1
    assert entry.id not in text_of(server.mails[-1])


def test_a_repeated_join_changes_how_many_and_says_when_its_mail_went(acme, asking, time):
    body = {
        "event_id": asking.sold_out["event_id"],
        "ticket_id": asking.sold_out["id"],
        "email": ADA,
    }
    api, path = Api(acme.app.test_client(), {}), f"{acme.checkout}/waiting-list"
    first = api.post(path, body)
    time.forward(minutes=9)
    again = api.post(path, {**body, "quantity": 3})
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json["mailed_at"] == again.json["mailed_at"]
    assert again.json["quantity"] == 3 and WaitingListEntry.get().quantity == 3
    assert Mail.select().count() == 1


def test_what_is_erased_says_nothing_of_a_request(asking):
    asking.ask("place")
    asking.sent("place")
    assert Mail.get().request_digest
    mail_queue.erase(WaitingListEntry.select(WaitingListEntry.id))
    assert Mail.get().request_digest is None


class TestMailbox:
    """Three mails a day of a client to a mailbox, and ten of all clients together."""

    def test_a_client_reaches_a_mailbox_three_times_a_day(self, acme, server, time):
        ticket = acme.ticket(**FREE, capacity=None)
        for _ in range(5):
            take(acme, ticket, ADA, MALLORY)
        take(acme, ticket, ADA, "198.51.100.1")
        work(acme)
        assert len(server.mails) == 4
        time.forward(days=1)
        work(acme)
        assert len(server.mails) == 6

    def test_a_wide_network_reaches_it_nine_times(self, acme, server):
        ticket = acme.ticket(**FREE, capacity=None)
        for number in range(12):
            take(acme, ticket, ADA, f"2001:db8:1:{number:x}::1")
        work(acme)
        assert len(server.mails) == 9
        take(acme, ticket, ADA, "2001:db8:2::1")
        take(acme, ticket, ADA, "2001:db8:3::1")
        work(acme)
        assert len(server.mails) == 10


class TestTenant:
    """The daily bound of an organizer has a part for mails that anybody may ask for."""

    @pytest.fixture
    def environ(self, environ):
        return {**environ, "MAILS_PER_TENANT": "3"}

    def test_free_orders_do_not_use_it_up(self, acme, server, asking):
        ticket = acme.ticket(**FREE, capacity=None)
        for number in range(5):
            take(acme, ticket, f"guest{number}@example.org", f"192.0.2.{number}")
        work(acme)
        assert len(server.mails) == 3
        for kind in KINDS:
            assert asking.ask(kind).status_code == 303
            assert len(asking.sent(kind)) == 1

    @pytest.mark.parametrize("kind", ["links", "place"])
    def test_what_would_wait_is_not_planned_and_the_page_says_so(self, acme, asking, time, kind):
        for number in range(3):
            asking.ask("place", f"guest{number}@example.org")
            asking.sent("place")
        refused = asking.ask(kind)
        assert refused.status_code == 429 and "as many mails today" in refused.text
        assert int(refused.headers["Retry-After"]) <= 86_400
        assert Mail.select().count() == 3
        assert daily_bound.today(acme.id, acme.app.extensions["ticketing"]).asked == 3
        time.forward(days=1)
        assert asking.ask(kind).status_code == 303
        assert len(asking.sent(kind)) == 1

    def test_a_reset_goes_all_the_same(self, asking):
        for number in range(3):
            asking.ask("place", f"guest{number}@example.org")
        asking.sent("place")
        assert asking.ask("reset").status_code == 303
        assert len(asking.sent("reset")) == 1

    def test_what_is_asked_for_keeps_no_mail_of_the_organizer_back(self, acme, server, asking):
        for number in range(3):
            asking.ask("place", f"guest{number}@example.org")
        asking.sent("place")
        take(acme, acme.ticket(**FREE), ADA, "198.51.100.1")
        work(acme)
        assert len(server.mails) == 4
