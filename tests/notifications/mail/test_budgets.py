"""What strangers can cause is counted by mailbox and by client. Nothing else waits for that."""

from datetime import timedelta

import pytest

from tests.support.admissions import FREE, admissions_of, invite, reissue
from tests.support.factories import Api, Buyer
from tests.support.holders import Held
from tests.support.mails import ADA, change_intent, confirm, confirmed, send, statuses, tell
from tests.support.payees import state_only
from tests.support.refunds import FRIEND_ADDRESS, received
from ticketing.models.notifications import Mail
from ticketing.notification_types import NotificationType
from ticketing.services.mail import recipients
from ticketing.services.notifications import numbering

pytestmark = pytest.mark.sql

VICTIM = "victim@gmail.com"
SPELLINGS = (
    VICTIM,
    "Victim@GMAIL.com",
    "victim+1@gmail.com",
    "victim+@gmail.com",
    "victim@\uff47mail.com",
    "victim+x@\u24d6mail.com",
    "VICTIM+a+b@Gmail.com",
)
"""Ways to write one mailbox."""


@pytest.fixture
def free(acme):
    """A ticket type that costs nothing."""
    return acme.ticket(**FREE, capacity=None)


def order(organizer, ticket, email, address="192.0.2.1", headers=None, quantity=1):
    """Return a buyer whose order came from this network address."""
    body = {
        "event_id": ticket["event_id"],
        "ticket_id": ticket["id"],
        "quantity": quantity,
        "buyer": {"email": email},
    }
    api = Api(organizer.app.test_client(), headers or {})
    path = f"{organizer.checkout}/preflight"
    made = api.post(path, body, environ_overrides={"REMOTE_ADDR": address})
    assert made.status_code == 201, made.json
    return Buyer(organizer, made.json)


def take(organizer, ticket, email, address="192.0.2.1", headers=None, quantity=1):
    """Return the tickets of a free order."""
    bought = order(organizer, ticket, email, address, headers, quantity).purchase()
    assert bought.status_code == 200, bought.json
    return [Held(organizer, each["id"], each["code"]) for each in bought.json["admissions"]]


def work(organizer):
    """Number what was recorded, and send the mails that follow."""
    numbering.number_all()
    assert send(organizer.app) is None


def mails_to(server, *recipients):
    return [each for each in server.recipients if each in recipients]


def guest(number):
    return f"guest{number}@example.org"


class TestMailbox:
    """Three mails a day of one client for a mailbox, and ten of all, over all tenants."""

    def test_free_orders_of_strangers_do_not_silence_a_paid_order(self, acme, server, free):
        for number in range(12):
            take(acme, free, VICTIM, f"192.0.2.{number}")
        work(acme)
        assert len(mails_to(server, VICTIM)) == 10
        paid = confirmed(acme, acme.ticket(), buyer={"email": VICTIM})
        tell(acme.id, confirm(paid))
        send(acme.app)
        assert len(mails_to(server, VICTIM)) == 11
        assert admissions_of(paid)[0].code in str(server.mails[-1])

    @pytest.mark.long
    def test_what_follows_from_received_money_never_waits(self, acme, server):
        ticket = acme.ticket(capacity=None)
        for _ in range(8):
            paid = confirmed(acme, ticket, buyer={"email": VICTIM})
            change_intent(paid, received=paid.intent["amount"])
            intent = {"intent_id": paid.intent["id"]}
            change_intent(paid, due=5_000_000)
            assert state_only(paid, FRIEND_ADDRESS).status_code == 200
            tell(acme.id, confirm(paid), ("refund.due", intent))
            send(acme.app)
        assert len(mails_to(server, VICTIM)) == 24

    def test_a_payment_that_is_undone_is_still_an_order_that_was_paid(self, acme, server):
        paid = confirmed(acme, acme.ticket(), buyer={"email": VICTIM})
        received(paid, canonical=False)
        change_intent(paid, status="reversed")
        for number in range(1, 6):
            assert state_only(paid, f"0x{'ab' * 19}{number:02x}").status_code == 200
            send(acme.app)
        assert len(mails_to(server, VICTIM)) == 5

    def test_every_spelling_of_a_mailbox_is_counted_as_one(self, acme, neighbour, server):
        for number, spelling in enumerate(SPELLINGS):
            organizer = (acme, neighbour)[number % 2]
            take(organizer, organizer.ticket(**FREE), spelling)
        work(acme)
        assert len(server.mails) == 3

    @pytest.mark.parametrize(
        "others", [["victim2@gmail.com", "vic.tim@gmail.com", "victim@mail.gmail.com"]]
    )
    def test_other_mailboxes_are_counted_apart(self, acme, server, free, others):
        for number in range(3):
            take(acme, free, VICTIM, f"192.0.2.{number}")
        for number, other in enumerate(others):
            take(acme, free, other, f"198.51.100.{number}")
        work(acme)
        assert set(others) <= set(server.recipients)

    def test_the_rest_is_sent_after_a_day_or_dropped_after_two(self, acme, server, free, time):
        for _ in range(8):
            take(acme, free, VICTIM)
        work(acme)
        time.forward(hours=23, minutes=59)
        work(acme)
        assert len(server.mails) == 3
        time.forward(minutes=1)
        work(acme)
        assert len(server.mails) == 6
        time.forward(hours=24)
        work(acme)
        ended = [status for _, status in statuses()]
        assert (ended.count("sent"), ended.count("dropped")) == (6, 2)

    def test_mails_that_the_server_refused_count_too(self, acme, server, free):
        server.answers[VICTIM] = "550 no such mailbox"
        for _ in range(5):
            take(acme, free, VICTIM)
        work(acme)
        assert [status for _, status in statuses()] == ["dropped"] * 3 + ["waiting"] * 2

    def test_a_mail_that_is_tried_again_does_not_count_twice(self, acme, server, free, time):
        server.answers[VICTIM] = "451 later"
        for number in range(3):
            take(acme, free, VICTIM, f"192.0.2.{number}")
        work(acme)
        server.answers.clear()
        time.forward(minutes=1)
        work(acme)
        assert len(server.mails) == 3

    @pytest.mark.long
    def test_the_acts_of_an_organizer_are_not_counted(self, acme, server, free):
        for number in range(3):
            take(acme, free, VICTIM, f"192.0.2.{number}")
        work(acme)
        assert invite(acme, free, *[{"email": VICTIM}] * 5).status_code == 201
        work(acme)
        assert len(server.mails) == 8
        for _ in range(5):
            take(acme, free, VICTIM, headers={"X-API-Key": acme.key("write")})
        work(acme)
        assert len(server.mails) == 13
        (admission, *_) = admissions_of(confirmed(acme, free, buyer=ADA))
        for _ in range(4):
            assert reissue(acme, admission, {"email": VICTIM}).status_code == 200
            work(acme)
        assert len(server.mails) == 17

    @pytest.mark.parametrize(
        "fact", [NotificationType.EVENT_CHANGED, NotificationType.EVENT_CANCELED]
    )
    def test_a_moved_or_canceled_event_is_not_counted(self, acme, server, free, fact):
        for _ in range(4):
            take(acme, free, VICTIM)
        work(acme)
        path = f"{acme.path}/events/{free['event_id']}"
        if fact == NotificationType.EVENT_CHANGED:
            assert acme.api().patch(path, {"venue": "Side Hall"}).status_code == 200
        else:
            assert acme.api().post(f"{path}/status", {"status": "canceled"}).status_code == 200
        work(acme)
        assert len(server.mails) == 4

    def test_offers_and_the_free_tickets_that_change_hands_are_counted(self, acme, server, free):
        tickets = take(acme, free, None, quantity=8)
        for ticket in tickets[:2]:
            assert ticket.offer(email=VICTIM).status_code == 201
        for ticket in tickets[2:5]:
            ticket.transferred(email=VICTIM)
        work(acme)
        assert len(mails_to(server, VICTIM)) == 3

    def test_the_ticket_of_a_paid_order_reaches_its_new_holder(self, acme, server, free):
        for number in range(3):
            take(acme, free, VICTIM, f"192.0.2.{number}")
        work(acme)
        (admission,) = admissions_of(confirmed(acme, acme.ticket(), buyer=ADA))
        Held(acme, admission.id, admission.code).transferred(email=VICTIM)
        work(acme)
        assert len(mails_to(server, VICTIM)) == 4

    def test_what_is_erased_says_nothing_of_a_mailbox(self, acme, server, free):
        take(acme, free, VICTIM)
        work(acme)
        row = Mail.get()
        assert row.mailbox and row.client
        intent_id = row.subject
        assert acme.api().post(f"{acme.path}/intents/{intent_id}/erase").status_code == 200
        row = Mail.get()
        assert (row.mailbox, row.client, row.client_site) == (None, None, None)


class TestClient:
    """Twenty mailboxes a day for a client that does not pay."""

    @pytest.mark.long
    def test_a_client_reaches_twenty_new_mailboxes_a_day(self, acme, server, free, time):
        for number in range(25):
            take(acme, free, guest(number))
        take(acme, free, "other@example.org", "198.51.100.1")
        work(acme)
        assert len(server.mails) == 21 and "other@example.org" in server.recipients
        take(acme, free, guest(0))
        work(acme)
        assert server.recipients[21:] == [guest(0)]
        time.forward(days=1)
        work(acme)
        assert set(server.recipients) == {*map(guest, range(25)), "other@example.org"}

    def test_it_is_counted_over_all_tenants(self, acme, neighbour, server):
        tickets = [each.ticket(**FREE, capacity=None) for each in (acme, neighbour)]
        for number in range(30):
            take((acme, neighbour)[number % 2], tickets[number % 2], guest(number))
        work(acme)
        assert len(server.mails) == 20

    def test_offers_and_new_holders_of_free_tickets_count_for_who_ordered(self, acme, server, free):
        tickets = take(acme, free, None, quantity=10) + take(acme, free, None, quantity=10)
        tickets += take(acme, free, None, quantity=5)
        for number, ticket in enumerate(tickets):
            if number % 2:
                ticket.offer(email=guest(number))
            else:
                ticket.transferred(email=guest(number))
        work(acme)
        # The offer of a ticket that was accepted has ended: nothing is sent of it.
        assert len(server.mails) == 20

    @pytest.mark.exhaustive
    def test_a_wide_network_reaches_three_times_as_many(self, acme, server, free):
        for number in range(70):
            take(acme, free, guest(number), f"2001:db8:1:{number:x}::1")
        take(acme, free, "other@example.org", "2001:db8:2::1")
        work(acme)
        assert len(server.mails) == 61 and "other@example.org" in server.recipients

    def test_the_people_of_a_crowd_all_get_their_tickets(self, acme, server):
        event, crowd = acme.event(), {"network": "203.0.113.0/24", "seats": 30}
        path = f"{acme.path}/events/{event['id']}/crowds"
        assert acme.api().put(path, {"crowds": [crowd]}).status_code == 200
        ticket = acme.ticket(event, **FREE, capacity=None)
        for number in range(22):
            take(acme, ticket, guest(number), "203.0.113.9")
        work(acme)
        assert len(server.mails) == 22

    def test_a_client_that_pays_is_not_counted(self, acme, server):
        ticket = acme.ticket(capacity=None)
        emails = list(map(guest, range(25)))
        buyers = [confirmed(acme, ticket, buyer={"email": each}) for each in emails]
        tell(acme.id, *map(confirm, buyers))
        send(acme.app)
        assert server.recipients == emails


@pytest.mark.parametrize(
    ("recipient", "mailbox"),
    [
        ("Ada@Example.org", "ada@example.org"),
        ("ada+x+y@example.org", "ada@example.org"),
        ("ada@xn--mller-kva.example", "ada@xn--mller-kva.example"),
        ("+x@example.org", "@example.org"),
    ],
)
def test_a_mailbox_has_no_tag(recipient, mailbox):
    assert recipients.mailbox(recipient) == mailbox


def test_a_budget_that_waits_for_one_mailbox_delays_no_other(acme, server, free):
    for number in range(30):
        take(acme, free, VICTIM, f"192.0.2.{number}")
    take(acme, free, "other@example.org", "198.51.100.1")
    work(acme)
    assert sorted(server.recipients) == ["other@example.org", *[VICTIM] * 10]
    waiting = Mail.select().where(Mail.status == "waiting")
    assert all(each.next_attempt_at - each.created_at >= timedelta(hours=23) for each in waiting)
