"""No client keeps a waiting list, or the seats that become free, from everybody else."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import pytest

from tests.support.admissions import FREE, given, invite
from tests.support.races import at_once
from tests.support.stopped_clock import StoppedClock
from tests.support.waiting import (
    MAIL,
    buyer_of,
    entry_of,
    free_one,
    offer,
    page_of,
    press,
    proof,
    status,
    stock,
    wait,
    work,
)
from ticketing import clock, ids
from ticketing.errors import TicketingError
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.services.waiting_list import candidates, offer_times, offers

pytestmark = pytest.mark.sql

STRANGER, ADA = "192.0.2.1", "198.51.100.7"


@pytest.fixture
def environ(environ):
    return {**environ, **MAIL, "UNPAID_PER_ADDRESS": "100"}


@pytest.fixture
def time(monkeypatch):
    """The service's clock. Only the test moves it."""
    return StoppedClock(monkeypatch, datetime.now(UTC))


@pytest.fixture
def ticket(acme):
    """A ticket type of one seat with a waiting list, which a guest has."""
    ticket = acme.ticket(capacity=1, allow_waitinglist=True)
    assert invite(acme, ticket, {"name": "Guest"}).status_code == 201
    return ticket


def join(acme, ticket, name, address, quantity=1):
    """Join from an address, and confirm. Return the entry."""
    email = f"{name}@example.org"
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": quantity}
    answer = ask_from(acme, {**body, "email": email}, address)
    assert answer.status_code == 202, answer.json
    entry = entry_of(email)
    assert press(acme.app, entry, "confirm").status_code == 303
    return entry


def ask_from(acme, body, address):
    overrides = {"REMOTE_ADDR": address}
    path = f"{acme.checkout}/waiting-list"
    return acme.with_headers({}).post(path, body, environ_overrides=overrides)


def offer_by_turn(acme, entry):
    """Offer as a worker does that has chosen this entry, and has lost its lease meanwhile."""
    found = candidates.Candidate(entry.id, is_beyond=False)
    with suppress(TicketingError):
        offers.offer_to(found, acme.app.extensions["ticketing"])


def add_seats(ticket, seats):
    more = {TicketType.capacity: TicketType.capacity + seats}
    TicketType.update(more).where(TicketType.id == ticket["id"]).execute()


def statuses(entries):
    return [status(each) for each in entries]


def order_from(acme, ticket, address, **fields):
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], **fields}
    overrides = {"REMOTE_ADDR": address}
    return acme.with_headers({}).post(
        f"{acme.checkout}/preflight", body, environ_overrides=overrides
    )


class TestOffersOfAClient:
    def test_one_address_does_not_hold_what_becomes_free(self, acme, ticket):
        """Finding 2: five places of four seats of one address were all 20 seats for a day."""
        taken = [join(acme, ticket, f"mallory{n}", STRANGER, quantity=4) for n in range(5)]
        ada = join(acme, ticket, "ada", ADA)
        add_seats(ticket, 20)
        offer(acme.app)
        assert statuses(taken) == ["offered", "offered", "waiting", "waiting", "waiting"]
        assert status(ada) == "offered"
        # Somebody who only wants to buy gets a seat, too.
        bought = order_from(acme, ticket, "203.0.113.5", quantity=2)
        assert bought.status_code == 201, bought.json
        assert stock(ticket) == (11, 1, 3)
        proof(acme)

    def test_a_seat_does_not_wait_for_the_limit(self, acme, ticket, time):
        taken = [join(acme, ticket, f"mallory{n}", STRANGER) for n in range(4)]
        add_seats(ticket, 4)
        offer(acme.app)
        assert statuses(taken) == ["offered", "offered", "waiting", "waiting"]
        # Two are on sale for everybody, and one of these is bought.
        assert order_from(acme, ticket, ADA).status_code == 201
        time.forward(minutes=59)
        offer(acme.app)
        assert statuses(taken) == ["offered", "offered", "waiting", "waiting"]
        time.forward(minutes=1)
        offer(acme.app)
        # For an hour nobody wanted the other one: the address gets it, and not for a day.
        assert statuses(taken) == ["offered", "offered", "offered", "waiting"]
        first, third = [WaitingListEntry.get_by_id(taken[n].id) for n in (0, 2)]
        assert first.offer_expires_at - first.offered_at == timedelta(hours=24)
        zone = ZoneInfo("Europe/Berlin")
        assert third.offer_expires_at == offer_times.short_end(time.now, zone)
        proof(acme)

    def test_workers_at_once_keep_the_limit(self, acme, ticket):
        taken = [join(acme, ticket, f"mallory{n}", STRANGER) for n in range(5)]
        ada = join(acme, ticket, "ada", ADA)
        add_seats(ticket, 5)
        at_once(
            *[partial(offer, acme.app) for _ in range(3)],
            *[partial(offer_by_turn, acme, entry) for entry in taken],
        )
        assert statuses(taken).count("offered") == 2 and status(ada) == "offered"
        proof(acme)

    def test_a_network_has_three_times_as_many(self, acme, ticket):
        taken = [join(acme, ticket, f"m{n}", f"2001:db8:1:{n}::1") for n in range(8)]
        other = join(acme, ticket, "ada", "2001:db8:2::1")
        add_seats(ticket, 20)
        offer(acme.app)
        assert statuses(taken) == ["offered"] * 6 + ["waiting"] * 2
        assert status(other) == "offered"
        proof(acme)

    def test_a_paid_offer_makes_room_for_the_next(self, acme, ticket):
        taken = [join(acme, ticket, f"school{n}", STRANGER) for n in range(3)]
        add_seats(ticket, 3)
        offer(acme.app)
        assert statuses(taken) == ["offered", "offered", "waiting"]
        paid = WaitingListEntry.get_by_id(taken[0].id).intent_id
        PaymentIntent.update(status="processing").where(PaymentIntent.id == paid).execute()
        offer(acme.app)
        assert statuses(taken) == ["offered", "offered", "offered"]

    def test_organizers_offer_beyond_the_limit(self, acme, admin, ticket):
        taken = [join(acme, ticket, f"school{n}", STRANGER) for n in range(3)]
        add_seats(ticket, 3)
        offer(acme.app)
        path = f"{acme.path}/events/{ticket['event_id']}/waiting-list/{taken[2].id}/offer"
        assert admin.post(path).json["status"] == "offered"
        proof(acme)


class TestPlacesOfAClient:
    def test_a_client_has_twenty_open_places_of_an_event(self, acme, ticket):
        entry = join(acme, ticket, "mallory", STRANGER)
        row = WaitingListEntry.get_by_id(entry.id)
        more_places(row, [f"mallory{n}" for n in range(19)])
        body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
        # The answer is the same for an address that waits, and for one that does not.
        for name in ("mallory", "new"):
            answer = ask_from(acme, {**body, "email": f"{name}@example.org"}, STRANGER)
            assert (answer.status_code, answer.json["code"]) == (409, "too_many_places")
        join(acme, ticket, "ada", ADA)
        other = acme.ticket(capacity=1, allow_waitinglist=True)
        assert invite(acme, other, {"name": "Guest"}).status_code == 201
        join(acme, other, "other", STRANGER)
        # A place that has ended is not counted.
        assert press(acme.app, entry, "leave").status_code == 303
        join(acme, ticket, "again", STRANGER)
        proof(acme)

    def test_a_network_has_sixty(self, acme, ticket):
        entry = join(acme, ticket, "mallory", "2001:db8:1:1::1")
        row = WaitingListEntry.get_by_id(entry.id)
        for n in range(3):
            more_places(row, [f"m{n}-{k}" for k in range(20 if n else 19)], client=f"net {n}")
        body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
        asked = ask_from(acme, {**body, "email": "new@example.org"}, "2001:db8:1:2::1")
        assert (asked.status_code, asked.json["code"]) == (409, "too_many_places")
        join(acme, ticket, "ada", "2001:db8:2:2::1")


def more_places(row, names, **fields):
    """Add unconfirmed places of the same client."""
    like = {name: getattr(row, name) for name in ("client", "client_site", "quantity")}
    of = {"tenant": row.tenant_id, "event": row.event_id, "ticket_type": row.ticket_type_id}
    WaitingListEntry.insert_many(
        {
            "id": ids.new(ids.WAITING_LIST_ENTRY),
            "mailbox": f"{name}@example.org",
            "email": f"{name}@example.org",
            "status": "unconfirmed",
            "created_at": row.created_at,
            **of,
            **like,
            **fields,
        }
        for name in names
    ).execute()


class TestPassedOver:
    """Ada waits for four seats, and fewer are free."""

    def test_after_an_hour_everybody_can_buy_what_is_too_few(self, acme, ticket, time):
        ada = join(acme, ticket, "ada", ADA, quantity=4)
        add_seats(ticket, 3)
        offer(acme.app)
        time.forward(minutes=59)
        offer(acme.app)
        assert order_from(acme, ticket, STRANGER).json["code"] == "sold_out"
        time.forward(minutes=1)
        offer(acme.app)
        assert order_from(acme, ticket, STRANGER, quantity=2).status_code == 201
        listed = acme.with_headers({}).get(f"{acme.public}/events/{ticket['event_id']}/tickets")
        assert listed.json["data"][0]["availability"] == "on_sale"
        proof(acme)
        page = acme.app.test_client().get(page_of(ada)).text
        assert "Some tickets are on sale for everybody at the moment." in page
        # She keeps her place.
        add_seats(ticket, 3)
        offer(acme.app)
        assert status(ada) == "offered" and stock(ticket) == (6, 1, 0)
        proof(acme)

    def test_once_nothing_is_free_the_list_closes_the_sale_again(self, acme, ticket, time):
        ada = join(acme, ticket, "ada", ADA, quantity=2)
        add_seats(ticket, 1)
        for _ in range(2):
            offer(acme.app)
            time.forward(hours=1)
        assert order_from(acme, ticket, STRANGER).status_code == 201
        offer(acme.app)
        add_seats(ticket, 2)
        # Nobody is faster than the worker.
        assert order_from(acme, ticket, STRANGER).json["code"] == "sold_out"
        offer(acme.app)
        assert status(ada) == "offered"
        proof(acme)

    def test_who_comes_later_does_not_close_the_sale_for_another_hour(self, acme, ticket, time):
        join(acme, ticket, "ada", ADA, quantity=4)
        add_seats(ticket, 3)
        offer(acme.app)
        time.forward(minutes=59)
        join(acme, ticket, "mallory", STRANGER, quantity=4)
        offer(acme.app)
        time.forward(minutes=1)
        offer(acme.app)
        assert order_from(acme, ticket, "203.0.113.5").status_code == 201
        proof(acme)

    @pytest.mark.parametrize("capacity", [None, 4])
    def test_an_idle_place_ends_like_any_other(self, acme, time, capacity):
        event = acme.event(capacity=capacity)
        ticket = acme.ticket(event, capacity=4, max_per_order=4, allow_waitinglist=True, **FREE)
        buyers = [given(acme, ticket, quantity=n) for n in (1, 3)]
        found = [wait(acme, ticket, f"{n}@example.org", quantity=4) for n in range(3)]
        free_one(acme, buyers[0])
        for _ in range(2):
            offer(acme.app)
            time.forward(hours=1)
        assert TicketType.get_by_id(ticket["id"]).idle == 3
        assert press(acme.app, found[0], "leave").status_code == 303
        proof(acme)
        path = f"{acme.path}/events/{event['id']}/status"
        assert acme.api().post(path, {"status": "canceled"}).status_code == 200
        assert statuses(found) == ["canceled"] * 3
        assert TicketType.get_by_id(ticket["id"]).idle == 0
        proof(acme)


class TestFreeSeatsOfAClient:
    @pytest.fixture
    def environ(self, environ):
        return {**environ, "FREE_PER_CLIENT": "4"}

    def test_who_had_enough_today_does_not_close_the_sale(self, acme):
        ticket = acme.ticket(capacity=2, allow_waitinglist=True, **FREE)
        given(acme, ticket, quantity=2)
        taken = [join(acme, ticket, f"mallory{n}", STRANGER, quantity=4) for n in range(2)]
        add_seats(ticket, 10)
        offer(acme.app)
        assert statuses(taken) == ["offered", "waiting"]
        assert order_from(acme, ticket, ADA).status_code == 201
        proof(acme)


class TestShortOffers:
    def ended(self, acme, ticket, statuses):
        """Let offers have ended like this, the oldest first."""
        for n, each in enumerate(statuses):
            entry = wait(acme, ticket, f"{n}@example.org")
            add_seats(ticket, 1)
            offer(acme.app)
            intent = WaitingListEntry.get_by_id(entry.id).intent_id
            buyer = buyer_of(acme, entry)
            if each == "paid":
                assert buyer.purchase().status_code == 200
                offer(acme.app)
            elif each == "left":
                assert press(acme.app, entry, "leave").status_code == 303
                add_seats(ticket, -1)
            else:
                ago = time_ago(seconds=1)
                PaymentIntent.update(expires_at=ago).where(PaymentIntent.id == intent).execute()
                work(acme.app)
                add_seats(ticket, -1)

    @pytest.fixture
    def ticket(self, acme):
        ticket = acme.ticket(capacity=1, allow_waitinglist=True, **FREE)
        given(acme, ticket)
        return ticket

    @pytest.mark.parametrize(
        ("before", "is_short"),
        [
            (["unpaid", "unpaid"], False),
            (["unpaid", "left", "unpaid"], True),
            (["unpaid", "unpaid", "unpaid", "paid"], True),
            (["unpaid", "unpaid", "unpaid", "paid", "paid"], False),
            (["unpaid", "unpaid", "paid"] * 4, False),
            (["unpaid"] * 7 + ["paid", "unpaid", "paid", "unpaid", "paid"], True),
        ],
    )
    def test_offers_are_short_while_most_are_not_paid(self, acme, ticket, before, is_short):
        self.ended(acme, ticket, before)
        ada = wait(acme, ticket, "ada@example.org")
        # The page says how long it is before one joins.
        page = acme.app.test_client().get(join_page(acme, ticket)).text
        assert f"You have up to {3 if is_short else 24} hours" in page
        assert ("from 22:00 to 8:00 does not count" in page) == is_short
        add_seats(ticket, 1)
        offer(acme.app)
        offered = WaitingListEntry.get_by_id(ada.id)
        long = timedelta(hours=24)
        if is_short:
            long = offer_times.short_end(offered.offered_at, BERLIN) - offered.offered_at
        assert abs(offered.offer_expires_at - offered.offered_at - long) < timedelta(seconds=5)
        proof(acme)

    @pytest.mark.parametrize(
        ("made", "ends"),
        [
            ("2026-06-01 14:00", "2026-06-01 17:00"),
            ("2026-06-01 19:00", "2026-06-01 22:00"),
            ("2026-06-01 21:00", "2026-06-02 10:00"),
            ("2026-06-01 22:00", "2026-06-02 11:00"),
            ("2026-06-01 23:30", "2026-06-02 11:00"),
            ("2026-06-02 02:00", "2026-06-02 11:00"),
            ("2026-06-02 08:00", "2026-06-02 11:00"),
            # The clock is set back in this night.
            ("2026-10-24 21:30", "2026-10-25 10:30"),
        ],
    )
    def test_the_night_does_not_count(self, made, ends):
        end = offer_times.short_end(local(made).astimezone(UTC), BERLIN)
        assert end == local(ends)

    def test_the_event_comes_before_the_night(self, acme, ticket, time):
        self.ended(acme, ticket, ["unpaid"] * 3)
        time.now = local("2026-06-01 21:00").astimezone(UTC)
        doors = local("2026-06-02 01:00")
        Event.update(doors_open_at=doors, start_at=doors).execute()
        ada = wait(acme, ticket, "ada@example.org")
        add_seats(ticket, 1)
        offer(acme.app)
        # Half of the time until the doors open.
        assert WaitingListEntry.get_by_id(ada.id).offer_expires_at == local("2026-06-01 23:00")


BERLIN = ZoneInfo("Europe/Berlin")


def local(text):
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


def time_ago(**delta):
    return clock.now() - timedelta(**delta)


def join_page(acme, ticket):
    slug = Event.get_by_id(ticket["event_id"]).slug
    return f"/{acme.slug}/{slug}/waiting-list?ticket_id={ticket['id']}"
