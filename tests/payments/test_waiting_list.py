"""The waiting list: who waits gets the first seats, and nobody overtakes, on both databases."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import FREE, admissions_of, given, invite
from tests.support.factories import PRICE
from tests.support.races import at_once
from tests.support.waiting import (
    MAIL,
    ask,
    buyer_of,
    entry_of,
    free_one,
    mails,
    offer,
    press,
    proof,
    status,
    stock,
    wait,
    work,
)
from ticketing.models.events import Event
from ticketing.models.notifications import Mail
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import EventStock, TicketType
from ticketing.models.waiting_list import WaitingListEntry

pytestmark = pytest.mark.sql


@pytest.fixture
def environ(environ):
    return {**environ, **MAIL}


@pytest.fixture
def ticket(acme):
    """A free ticket type of two seats with a waiting list."""
    return acme.ticket(capacity=2, allow_waitinglist=True, **FREE)


@pytest.fixture
def holders(acme, ticket):
    """Two who have the two seats."""
    return [given(acme, ticket), given(acme, ticket)]


def code(answer, expected=409):
    assert answer.status_code == expected, answer.json
    return answer.json["code"]


class TestJoining:
    def test_only_what_is_sold_out_is_waited_for(self, acme, ticket):
        given(acme, ticket)
        assert code(ask(acme, ticket, "ada@example.org")) == "not_sold_out"
        unpaid = acme.buyer(ticket)
        # What is held may come back soon: try again, but do not wait.
        assert acme.preflight(ticket).json["code"] == "sold_out"
        assert code(ask(acme, ticket, "ada@example.org")) == "not_sold_out"
        unpaid.purchase()
        assert ask(acme, ticket, "ada@example.org").status_code == 202

    def test_a_place_counts_once_it_is_confirmed(self, acme, ticket, holders):
        answer = ask(acme, ticket, "ada@example.org", quantity=2, name="Ada", locale="de")
        assert answer.status_code == 202
        expected = {"ticket_id": ticket["id"], "quantity": 2, "confirm_within": 172_800}
        assert answer.json == {**expected, "mailed_at": answer.json["mailed_at"]}
        entry = entry_of("ada@example.org")
        assert (entry.status, entry.quantity, entry.locale) == ("unconfirmed", 2, "de")
        assert mails("waiting_list_joined") == [entry.id] and stock(ticket) == (0, 2, 0)
        assert press(acme.app, entry, "confirm").status_code == 303
        assert press(acme.app, entry, "confirm").status_code == 303
        assert status(entry) == "waiting" and stock(ticket) == (0, 2, 1)
        proof(acme)

    def test_the_answer_does_not_say_who_waits(self, acme, ticket, holders):
        first = ask(acme, ticket, "ada@example.org")
        entry = wait(acme, ticket, "ada@example.org")
        again = ask(acme, ticket, "Ada+tag@Example.ORG", quantity=2)
        assert (again.status_code, again.json["ticket_id"]) == (202, first.json["ticket_id"])
        assert WaitingListEntry.select().count() == 1
        assert WaitingListEntry.get_by_id(entry.id).quantity == 1
        assert again.json["mailed_at"] <= first.json["mailed_at"]
        assert mails("waiting_list_joined") == [entry.id]

    def test_what_has_no_list(self, acme, admin, ticket, holders):
        path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
        for fields in (
            {"allow_waitinglist": False},
            {"require_voucher": True},
            {"requires_key": True},
            {"sales_end_at": (datetime.now(UTC) + timedelta(minutes=59)).isoformat()},
        ):
            before = admin.get(path).json
            assert admin.patch(path, fields).status_code == 200
            asked = ask(acme, ticket, "ada@example.org")
            assert code(asked) == "waiting_list_closed", fields
            admin.patch(path, {name: before[name] for name in fields})
        assert ask(acme, ticket, "ada@example.org").status_code == 202
        admin.patch(path, {"hide_without_voucher": True})
        assert code(ask(acme, ticket, "ada@example.org"), 404) == "not_found"

    def test_what_cannot_be_wanted(self, acme, admin, ticket, holders):
        path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
        admin.patch(path, {"min_per_order": 2, "max_per_order": 3})
        assert code(ask(acme, ticket, "ada@example.org")) == "below_minimum"
        assert code(ask(acme, ticket, "ada@example.org", quantity=4)) == "above_maximum"
        assert code(ask(acme, ticket, "ada@example.org", quantity=5), 422) == "invalid_request"
        for email in ("", "ada", "=?utf-8?q?a?=@example.org"):
            assert code(ask(acme, ticket, email, quantity=2), 422) == "invalid_request"

    def test_a_client_joins_five_times_a_day(self, acme, ticket, holders):
        anybody = acme.with_headers({})

        def join(n):
            body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"]}
            email = f"{n}@example.org"
            return anybody.post(f"{acme.checkout}/waiting-list", {**body, "email": email})

        # A repeat plans no mail, and is not counted.
        assert [join(n).status_code for n in (1, 1, 2, 3, 4, 5)] == [202] * 6
        assert code(join(6), 429) == "too_many_joins"
        assert WaitingListEntry.select().count() == 5

    def test_an_address_that_nobody_confirms_is_forgotten(self, acme, ticket, holders):
        ask(acme, ticket, "ada@example.org")
        entry = entry_of("ada@example.org")
        long_ago = datetime.now(UTC) - timedelta(hours=48, minutes=1)
        WaitingListEntry.update(created_at=long_ago).execute()
        offer(acme.app)
        assert WaitingListEntry.get_or_none(WaitingListEntry.id == entry.id) is None
        assert press(acme.app, entry, "confirm").status_code == 404

    def test_of_many_requests_one_place_remains(self, acme, ticket, holders):
        answers = at_once(*[lambda: ask(acme, ticket, "ada@example.org") for _ in range(5)])
        assert {each.status_code for each in answers} == {202}
        assert WaitingListEntry.select().count() == 1
        entry = entry_of("ada@example.org")
        at_once(*[lambda: press(acme.app, entry, "confirm") for _ in range(5)])
        assert stock(ticket) == (0, 2, 1)
        proof(acme)


class TestOffers:
    def test_the_first_who_waits_gets_the_first_seat(self, acme, ticket, holders):
        ada, bob = wait(acme, ticket, "ada@example.org"), wait(acme, ticket, "bob@example.org")
        free_one(acme, holders[0])
        # A stranger is not faster than the worker.
        assert acme.preflight(ticket).json["code"] == "sold_out"
        listed = acme.with_headers({}).get(f"{acme.public}/events/{ticket['event_id']}/tickets")
        (shown,) = listed.json["data"]
        assert (shown["availability"], shown["waiting_list"]) == ("sold_out", True)
        offer(acme.app)
        assert [status(ada), status(bob)] == ["offered", "waiting"]
        assert stock(ticket) == (1, 1, 1)
        proof(acme)
        order = buyer_of(acme, ada)
        assert order.now()["status"] == "awaiting_payment"
        assert order.purchase().json["status"] == "confirmed"
        offer(acme.app)
        assert [status(ada), status(bob)] == ["ordered", "waiting"] and stock(ticket) == (0, 2, 1)
        assert mails("waiting_list_offer") == mails("waiting_list_reminder") == [ada.id]
        proof(acme)

    def test_an_offer_is_an_order_that_is_paid_like_any_other(self, acme, node):
        ticket = acme.ticket(capacity=1, allow_waitinglist=True)
        first = given(acme, acme.ticket(**FREE))
        assert invite(acme, ticket, {"name": "Guest"}).status_code == 201
        ada = wait(acme, ticket, "ada@example.org", name="Ada", locale="de")
        TicketType.update(capacity=2).where(TicketType.id == ticket["id"]).execute()
        offer(acme.app)
        order = buyer_of(acme, ada)
        shown = order.now()
        assert (shown["amount"], shown["locale"]) == (PRICE, "de")
        hours = datetime.fromisoformat(shown["expires_at"]) - datetime.now(UTC)
        assert timedelta(hours=23, minutes=59) < hours <= timedelta(hours=24)
        row = PaymentIntent.get_by_id(order.intent["id"])
        assert (row.buyer_email, row.buyer_name) == ("ada@example.org", "Ada")
        order.pay(node)
        work(acme.app)
        work(acme.app)
        assert order.now()["status"] == "confirmed" and status(ada) == "ordered"
        assert first.now()["status"] == "confirmed"
        proof(acme)

    def test_a_smaller_wish_may_go_first(self, acme, ticket, holders):
        pair = wait(acme, ticket, "pair@example.org", quantity=2)
        single = wait(acme, ticket, "single@example.org")
        last = wait(acme, ticket, "last@example.org")
        free_one(acme, holders[0])
        offer(acme.app)
        assert [status(each) for each in (pair, single, last)] == ["waiting", "offered", "waiting"]
        TicketType.update(capacity=4).where(TicketType.id == ticket["id"]).execute()
        offer(acme.app)
        assert [status(each) for each in (pair, last)] == ["offered", "waiting"]
        assert stock(ticket) == (3, 1, 1)
        proof(acme)

    def test_an_offer_that_is_not_taken_goes_to_the_next(self, acme, ticket, holders):
        ada, bob = wait(acme, ticket, "ada@example.org"), wait(acme, ticket, "bob@example.org")
        free_one(acme, holders[0])
        offer(acme.app)
        ago = datetime.now(UTC) - timedelta(seconds=1)
        of_ada = WaitingListEntry.get_by_id(ada.id).intent_id
        PaymentIntent.update(expires_at=ago).where(PaymentIntent.id == of_ada).execute()
        work(acme.app)
        assert [status(ada), status(bob)] == ["expired", "offered"]
        work(acme.app)
        buyer_of(acme, bob).purchase()
        # Never offered again. To join again is a new place.
        again = wait(acme, ticket, "ada@example.org")
        assert again.id != ada.id and status(again) == "waiting" and stock(ticket) == (0, 2, 1)
        proof(acme)

    def test_nothing_is_offered_when_the_doors_open_soon(self, acme, ticket, holders):
        ada = wait(acme, ticket, "ada@example.org")
        soon = datetime.now(UTC) + timedelta(minutes=59)
        Event.update(doors_open_at=soon).where(Event.id == ticket["event_id"]).execute()
        free_one(acme, holders[0])
        offer(acme.app)
        ended = WaitingListEntry.get_by_id(ada.id)
        assert (ended.status, ended.email, ended.mailbox) == ("expired", None, None)
        (mail,) = Mail.select().where(Mail.kind == "waiting_list_ended")
        assert mail.recipient == "ada@example.org" and stock(ticket) == (0, 1, 0)
        assert acme.preflight(ticket).status_code == 201
        proof(acme)

    def test_an_offer_is_held_for_half_of_the_time_that_is_left(self, acme, ticket, holders):
        ada = wait(acme, ticket, "ada@example.org")
        doors = datetime.now(UTC) + timedelta(hours=2)
        Event.update(doors_open_at=doors).where(Event.id == ticket["event_id"]).execute()
        free_one(acme, holders[0])
        offer(acme.app)
        ends = WaitingListEntry.get_by_id(ada.id).offer_expires_at - datetime.now(UTC)
        assert timedelta(minutes=59) < ends <= timedelta(hours=1)

    def test_a_canceled_event_ends_all_places(self, acme, admin, ticket, holders):
        ada, bob = wait(acme, ticket, "ada@example.org"), wait(acme, ticket, "bob@example.org")
        ask(acme, ticket, "eve@example.org")
        free_one(acme, holders[0])
        offer(acme.app)
        path = f"{acme.path}/events/{ticket['event_id']}/status"
        assert admin.post(path, {"status": "canceled"}).status_code == 200
        offer(acme.app)
        assert [status(ada), status(bob)] == ["canceled", "canceled"]
        assert stock(ticket) == (0, 0, 0) and mails("waiting_list_ended") == [bob.id]
        assert WaitingListEntry.select().count() == 2
        proof(acme)

    def test_a_canceled_ticket_type_ends_its_places(self, acme, admin, ticket, holders):
        bob = wait(acme, ticket, "bob@example.org")
        path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}/status"
        assert admin.post(path, {"status": "canceled"}).status_code == 200
        assert status(bob) == "canceled" and stock(ticket) == (0, 2, 0)
        proof(acme)

    def test_what_is_given_back_goes_to_those_who_wait(self, acme):
        ticket = acme.ticket(capacity=1, allow_waitinglist=True, returns="when_resold", **FREE)
        first = given(acme, ticket)
        ada = wait(acme, ticket, "ada@example.org")
        (seat,) = admissions_of(first)
        api = acme.with_headers({"Authorization": f"Bearer {seat.code}"})
        answer = api.post(f"{acme.checkout}/admissions/{seat.id}/return")
        assert answer.status_code == 200, answer.json
        assert acme.preflight(ticket).json["code"] == "sold_out"
        offer(acme.app)
        assert status(ada) == "offered"
        buyer_of(acme, ada).purchase()
        work(acme.app)
        assert [each.status for each in admissions_of(first)] == ["void"]
        assert stock(ticket) == (0, 1, 0)
        proof(acme)


class TestLimits:
    @pytest.fixture
    def environ(self, environ):
        return {**environ, "FREE_PER_CLIENT": "10"}

    def test_a_limit_of_free_seats_counts_where_they_joined(self, acme, ticket, holders):
        anybody = acme.with_headers({})
        body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "quantity": 4}
        found = []
        for n in range(3):
            email = f"{n}@example.org"
            assert anybody.post(f"{acme.checkout}/waiting-list", {**body, "email": email})
            entry = entry_of(email)
            assert press(acme.app, entry, "confirm").status_code == 303
            found.append(entry)
        other = wait(acme, ticket, "other@example.org")
        TicketType.update(capacity=100).where(TicketType.id == ticket["id"]).execute()
        offer(acme.app)
        # Ten free seats of an event a day for one client: a third order of 4 would be 12.
        assert [status(each) for each in found] == ["offered", "offered", "waiting"]
        assert status(other) == "offered"
        proof(acme)


class TestCapacityOfTheEvent:
    """Two ticket types share ten seats of their event, and all are sold."""

    @pytest.fixture
    def types(self, acme):
        event = acme.event(capacity=2)
        return [acme.ticket(event, allow_waitinglist=True, **FREE) for _ in range(2)]

    @pytest.fixture
    def buyers(self, acme, types):
        return [given(acme, each) for each in types]

    def test_no_stranger_takes_the_seat_as_one_of_another_type(self, acme, types, buyers):
        ada = wait(acme, types[0], "ada@example.org")
        free_one(acme, buyers[1])
        assert acme.preflight(types[1]).json["code"] == "sold_out"
        listed = acme.with_headers({}).get(f"{acme.public}/events/{types[0]['event_id']}/tickets")
        shown = [(each["availability"], each["waiting_list"]) for each in listed.json["data"]]
        assert shown == [("sold_out", True)] * 2
        proof(acme)
        offer(acme.app)
        assert status(ada) == "offered"
        assert EventStock.get_by_id(types[0]["event_id"]).waiting == 0
        proof(acme)

    def test_the_order_is_that_of_the_event(self, acme, types, buyers):
        second = wait(acme, types[1], "second@example.org")
        first = wait(acme, types[0], "first@example.org")
        free_one(acme, buyers[0])
        offer(acme.app)
        assert [status(second), status(first)] == ["offered", "waiting"]
        free_one(acme, buyers[1])
        offer(acme.app)
        assert status(first) == "offered"
        proof(acme)

    def test_a_type_that_is_full_itself_does_not_close_the_others(self, acme):
        event = acme.event(capacity=10)
        full = acme.ticket(event, capacity=1, allow_waitinglist=True, **FREE)
        other = acme.ticket(event, **FREE)
        given(acme, full)
        wait(acme, full, "ada@example.org")
        assert acme.preflight(other).status_code == 201
        assert acme.preflight(full).json["code"] == "sold_out"
        proof(acme)

    def test_a_capacity_that_is_set_later_counts_who_waits(self, acme, admin):
        event = acme.event()
        ticket = acme.ticket(event, capacity=1, allow_waitinglist=True, **FREE)
        given(acme, ticket)
        ada = wait(acme, ticket, "ada@example.org")
        path = f"{acme.path}/events/{event['id']}"
        assert admin.patch(path, {"capacity": 5}).status_code == 200
        proof(acme)
        assert EventStock.get_by_id(event["id"]).waiting == 1
        assert press(acme.app, ada, "leave").status_code == 303
        assert EventStock.get_by_id(event["id"]).waiting == 0
        proof(acme)


class TestLeaving:
    def test_who_leaves_is_forgotten(self, acme, ticket, holders):
        ada = wait(acme, ticket, "ada@example.org", name="Ada")
        assert press(acme.app, ada, "leave").status_code == 303
        assert press(acme.app, ada, "leave").status_code == 303
        left = WaitingListEntry.get_by_id(ada.id)
        assert (left.status, left.email, left.name) == ("canceled", None, None)
        assert stock(ticket) == (0, 2, 0)
        assert press(acme.app, ada, "confirm").status_code == 409
        proof(acme)

    def test_who_leaves_an_offer_frees_it_for_the_next(self, acme, ticket, holders):
        ada, bob = wait(acme, ticket, "ada@example.org"), wait(acme, ticket, "bob@example.org")
        free_one(acme, holders[0])
        offer(acme.app)
        order = buyer_of(acme, ada)
        assert press(acme.app, ada, "leave").status_code == 303
        assert order.now()["status"] == "canceled"
        offer(acme.app)
        assert [status(ada), status(bob)] == ["canceled", "offered"]
        buyer_of(acme, bob).purchase()
        offer(acme.app)
        assert press(acme.app, bob, "leave").status_code == 409
        proof(acme)

    def test_an_offer_and_a_leaving_do_not_both_count(self, acme, ticket, holders):
        ada = wait(acme, ticket, "ada@example.org")
        free_one(acme, holders[0])
        at_once(lambda: press(acme.app, ada, "leave"), lambda: offer(acme.app))
        assert status(ada) in ("canceled", "offered")
        press(acme.app, ada, "leave")
        assert status(ada) == "canceled" and stock(ticket) == (0, 1, 0)
        proof(acme)


class TestOrganizers:
    def path(self, acme, ticket, entry=None, action=""):
        base = f"{acme.path}/events/{ticket['event_id']}/waiting-list"
        return base if entry is None else f"{base}/{entry.id}/{action}"

    def test_they_see_who_waits(self, acme, admin, ticket, holders):
        ada = wait(acme, ticket, "ada@example.org", quantity=2)
        bob = wait(acme, ticket, "bob@example.org")
        ask(acme, ticket, "eve@example.org")
        listed = admin.get(self.path(acme, ticket)).json["data"]
        assert [(each["email"], each["status"], each["place"]) for each in listed] == [
            ("ada@example.org", "waiting", 1),
            ("bob@example.org", "waiting", 2),
            ("eve@example.org", "unconfirmed", None),
        ]
        waiting = admin.get(f"{self.path(acme, ticket)}?status=waiting").json["data"]
        assert [each["id"] for each in waiting] == [ada.id, bob.id]
        assert waiting[0]["ticket_id"] == ticket["id"] and waiting[0]["quantity"] == 2

    def test_they_offer_out_of_turn(self, acme, admin, ticket, holders):
        ada, bob = wait(acme, ticket, "ada@example.org"), wait(acme, ticket, "bob@example.org")
        assert code(admin.post(self.path(acme, ticket, bob, "offer"))) == "sold_out"
        free_one(acme, holders[0])
        answer = admin.post(self.path(acme, ticket, bob, "offer"))
        assert (answer.status_code, answer.json["status"]) == (200, "offered")
        assert code(admin.post(self.path(acme, ticket, bob, "offer"))) == "entry_ended"
        offer(acme.app)
        assert status(ada) == "waiting" and stock(ticket) == (1, 1, 1)
        (logged,) = admin.get(f"{acme.path}/audit-log?subject={bob.id}").json["data"]
        assert logged["action"] == "waiting_list_offer_out_of_turn"
        assert "bob@" not in str(logged)
        proof(acme)

    def test_they_cancel_a_place_and_what_was_offered(self, acme, admin, ticket, holders):
        ada, bob = wait(acme, ticket, "ada@example.org"), wait(acme, ticket, "bob@example.org")
        free_one(acme, holders[0])
        offer(acme.app)
        order = buyer_of(acme, ada)
        for entry in (ada, bob):
            answer = admin.post(self.path(acme, ticket, entry, "cancel"))
            assert (answer.status_code, answer.json["status"]) == (200, "canceled")
            assert answer.json["email"] is None
        assert order.now()["status"] == "canceled" and stock(ticket) == (0, 1, 0)
        proof(acme)

    def test_guests_are_not_bound_by_the_list(self, acme, ticket, holders):
        wait(acme, ticket, "ada@example.org")
        free_one(acme, holders[0])
        assert invite(acme, ticket, {"name": "Guest"}).status_code == 201
        proof(acme)
