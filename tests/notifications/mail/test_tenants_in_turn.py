"""Due mails go round the tenants, confirmations first. Each tenant has a daily bound."""

import re

import pytest

from tests.support.admissions import FREE, given, invite
from tests.support.console import PASSWORD
from tests.support.factories import new_organizer
from tests.support.mails import PUBLIC_URL, confirm, confirmed, send, tell
from tests.support.members import invite as invite_member
from ticketing import ids
from ticketing.models.notifications import Mail
from ticketing.roles import Role
from ticketing.services.access import members, sessions
from ticketing.services.notifications import mail_queue, numbering

pytestmark = pytest.mark.sql


def guests(organizer, count, domain="guests.example.org"):
    """Put people on a new guest list, whose mails are not planned yet."""
    ticket = organizer.ticket(**FREE, capacity=None)
    people = [{"email": f"guest{number}@{domain}"} for number in range(count)]
    for first in range(0, count, 100):
        assert invite(organizer, ticket, *people[first : first + 100]).status_code == 201
    numbering.number_all()


def place_of(server, recipient):
    return server.recipients.index(recipient)


@pytest.mark.long
def test_the_guests_of_a_tenant_do_not_delay_another_tenants_ticket(acme, neighbour, server):
    guests(acme, 60)
    late = confirmed(neighbour, neighbour.ticket(), buyer={"email": "bob@example.org"})
    tell(neighbour.id, confirm(late))
    assert send(acme.app) is None
    assert place_of(server, "bob@example.org") < mail_queue.AT_ONCE
    assert len(server.mails) == 61


def test_confirmations_go_before_the_guests_of_all_tenants(acme, neighbour, server):
    for organizer in (acme, neighbour):
        guests(organizer, 5, f"{organizer.slug}.example.org")
    for organizer in (acme, neighbour):
        email = f"buyer@{organizer.slug}.example.org"
        tell(
            organizer.id, confirm(confirmed(organizer, organizer.ticket(), buyer={"email": email}))
        )
    guests(acme, 1, "last.example.org")
    send(acme.app)
    assert sorted(server.recipients[:2]) == [
        "buyer@acme.example.org",
        "buyer@neighbour.example.org",
    ]


@pytest.mark.long
def test_many_busy_tenants_do_not_starve_one(app, server):
    organizers = [
        new_organizer(app, f"tenant{n}", address=None) for n in range(mail_queue.AT_ONCE + 5)
    ]
    for organizer in organizers:
        guests(organizer, 2, f"{organizer.slug}.example.org")
    send(app)
    first = server.recipients[: len(organizers)]
    assert {each.partition("@")[2].partition(".")[0] for each in first} == {
        each.slug for each in organizers
    }


class TestDailyBound:
    """MAILS_PER_TENANT: 3 for each seat sold, and 1,000, unless it is set."""

    @pytest.fixture
    def environ(self, environ):
        return {**environ, "MAILS_PER_TENANT": "5"}

    def test_the_rest_waits_a_day_and_other_tenants_go_on(self, acme, neighbour, server, time):
        guests(acme, 8, "acme.example.org")
        guests(neighbour, 2, "neighbour.example.org")
        send(acme.app)
        assert len([each for each in server.recipients if "acme" in each]) == 5
        assert len(server.mails) == 7
        time.forward(hours=23, minutes=59)
        send(acme.app)
        assert len(server.mails) == 7
        time.forward(minutes=1)
        send(acme.app)
        assert len(server.mails) == 10

    def test_what_was_paid_for_does_not_wait(self, acme, server):
        guests(acme, 8)
        send(acme.app)
        tell(acme.id, confirm(confirmed(acme, acme.ticket(), buyer={"email": "bob@example.org"})))
        send(acme.app)
        assert server.recipients[5:] == ["bob@example.org"]
        assert Mail.select().where(Mail.status == "waiting").count() == 3

    def test_strangers_use_it_up_for_themselves_only(self, acme, server):
        free = acme.ticket(**FREE, capacity=None)
        for number in range(7):
            given(acme, free, buyer={"email": f"stranger{number}@example.org"})
        numbering.number_all()
        send(acme.app)
        assert len(server.mails) == 5
        assert shown(acme).endswith(
            "5 of at most 5. Offers and tickets of free orders wait. After 48 hours they are not"
            " sent."
        )
        invite_member(acme, "grace@example.org")
        guests(acme, 6)
        send(acme.app)
        assert len(server.mails) == 10 and "grace@example.org" in server.recipients
        assert "The others wait, but for those about paid orders." in shown(acme)

    def test_the_console_shows_it(self, acme, server):
        guests(acme, 4)
        send(acme.app)
        assert shown(acme) == "Mails in the last 24 hours: 4 of at most 5."
        guests(acme, 4, "others.example.org")
        send(acme.app)
        assert shown(acme).startswith("Mails in the last 24 hours: 5 of at most 5. The others wait")


def shown(organizer):
    """Return what the console says of a tenant's mails."""
    client = organizer.app.test_client()
    email = f"{ids.new(ids.MEMBER)}@example.org"
    member = members.add(organizer.id, email, Role.READ, PASSWORD)
    keyring = organizer.app.extensions["ticketing"].keyring
    session = sessions.begin(member, None, None, keyring)
    client.set_cookie("__Host-session", session, domain="tickets.example.org")
    page = client.get("/console", base_url=PUBLIC_URL).text
    (text,) = re.findall(r'<p class="small">(Mails in .*?)</p>', page, re.DOTALL)
    return " ".join(text.split())


def test_by_default_the_bound_grows_with_the_seats_that_were_sold(acme, server):
    assert shown(acme) == "Mails in the last 24 hours: 0 of at most 1000."
    confirmed(acme, acme.ticket(), quantity=2)
    guests(acme, 1)
    assert shown(acme) == "Mails in the last 24 hours: 0 of at most 1006."
