"""Seats that are given back, and sold on, on both databases."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from tests.conftest import SECRET_KEY
from tests.support.admissions import admissions_of, given, reissue, sold, void
from tests.support.factories import PRICE, worker_once
from tests.support.races import at_once
from ticketing.constants import RESOLD_REASON
from ticketing.credentials import Keyring, client_secret
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.notifications import Notification
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.ticket_types import TicketType
from ticketing.services.payments import reconciliation, resales

pytestmark = pytest.mark.sql

ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture
def ticket(acme):
    """A ticket type of two seats, which can be given back less 10 %."""
    return acme.ticket(capacity=2, returns="when_resold", return_fee_percent=10)


@pytest.fixture
def ada(acme, node, ticket):
    """Ada has bought one of the two seats, and states where her money would go."""
    buyer = sold(acme, node, ticket)
    state_address(buyer)
    return buyer


@pytest.fixture
def full(acme, node, ticket, ada):
    """Somebody else has the other seat."""
    return sold(acme, node, ticket)


def state_address(buyer):
    answer = buyer.api.post(f"{buyer.path}/refund-address", {"address": ADDRESS})
    assert answer.status_code == 200, answer.json


def seat_of(buyer):
    (seat,) = admissions_of(buyer)
    return seat


def holder(acme, seat):
    """Return a client with the code of a seat, and its path."""
    code = Admission.get_by_id(seat.id).code
    api = acme.with_headers({"Authorization": f"Bearer {code}"})
    return api, f"{acme.checkout}/admissions/{seat.id}"


def give_back(acme, seat):
    api, path = holder(acme, seat)
    return api.post(f"{path}/return")


def keep(acme, seat):
    api, path = holder(acme, seat)
    return api.post(f"{path}/return/cancel")


def pool(ticket):
    now = TicketType.get_by_id(ticket["id"])
    return now.held, now.sold, now.offered, now.taken


def proof(acme):
    """The books must be right at any time."""
    assert reconciliation.reconcile(acme.id) == []


def conflict(answer):
    assert answer.status_code == 409, answer.json
    return answer.json["code"]


def facts(kind):
    return Notification.select().where(Notification.type == kind).count()


class TestGivingBack:
    def test_a_seat_is_offered_and_kept_after_all(self, acme, ticket, ada):
        seat = seat_of(ada)
        answer = give_back(acme, seat)
        assert answer.status_code == 200, answer.json
        shown = answer.json["return"]
        assert (shown["status"], shown["amount"]) == ("offered", PRICE * 9 // 10)
        assert give_back(acme, seat).json["return"] == shown
        assert pool(ticket) == (0, 1, 1, 0) and answer.json["status"] == "valid"
        assert facts("admission.return_offered") == 1
        kept = keep(acme, seat).json
        assert kept["return"] is None and pool(ticket) == (0, 1, 0, 0)
        assert keep(acme, seat).status_code == 200
        assert facts("admission.return_canceled") == 1
        proof(acme)

    def test_the_terms_are_those_of_the_order(self, acme, admin, node, ticket, ada):
        path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
        changed = {"returns": "none", "return_fee_percent": 50}
        assert admin.patch(path, changed).json["returns"] == "none"
        assert give_back(acme, seat_of(ada)).json["return"]["amount"] == PRICE * 9 // 10
        later = sold(acme, node, ticket)
        assert conflict(give_back(acme, seat_of(later))) == "not_returnable"

    def test_a_lower_price_of_now_counts(self, acme, admin, ticket, ada):
        path = f"{acme.path}/events/{ticket['event_id']}/tickets/{ticket['id']}"
        admin.patch(path, {"price_amount": PRICE // 2})
        assert give_back(acme, seat_of(ada)).json["return"]["amount"] == PRICE // 2 * 9 // 10

    def test_money_needs_an_address_first(self, acme, node, ticket):
        buyer = sold(acme, node, ticket)
        assert conflict(give_back(acme, seat_of(buyer))) == "refund_address_missing"
        state_address(buyer)
        assert give_back(acme, seat_of(buyer)).status_code == 200

    def test_what_cannot_be_given_back(self, acme, node, ticket, ada):
        plain = sold(acme, node, acme.ticket())
        assert conflict(give_back(acme, seat_of(plain))) == "not_returnable"
        seat = seat_of(ada)
        for columns, code in (
            ({"transferred_at": datetime.now(UTC)}, "not_returnable"),
            ({"status": "suspended"}, "admission_suspended"),
            ({"redeemed_at": datetime.now(UTC)}, "already_redeemed"),
        ):
            before = {name: getattr(seat, name) for name in columns}
            Admission.update(columns).where(Admission.id == seat.id).execute()
            assert conflict(give_back(acme, seat)) == code
            Admission.update(before).where(Admission.id == seat.id).execute()
        PaymentIntent.update(early=True).where(PaymentIntent.id == ada.intent["id"]).execute()
        assert conflict(give_back(acme, seat)) == "payment_not_final"
        PaymentIntent.update(early=False).where(PaymentIntent.id == ada.intent["id"]).execute()
        soon = datetime.now(UTC) + timedelta(hours=3, minutes=59)
        Event.update(doors_open_at=soon).where(Event.id == ticket["event_id"]).execute()
        assert conflict(give_back(acme, seat)) == "returns_closed"
        assert pool(ticket) == (0, 1, 0, 0)

    def test_meanwhile_it_changes_no_hands(self, acme, ada):
        seat = seat_of(ada)
        api, path = holder(acme, seat)
        offered = api.post(f"{path}/transfer", {"holder": {"name": "Eve"}}).json
        assert give_back(acme, seat).json["transfer"] is None
        accepted = acme.with_headers({}).post(
            f"{acme.checkout}/transfers/accept", {"offer": offered["offer"], "holder": {}}
        )
        assert accepted.status_code in (409, 410)
        assert conflict(api.post(f"{path}/transfer", {"holder": {}})) == "return_offered"
        assert conflict(reissue(acme, seat)) == "return_offered"
        proof(acme)


class TestSellingOn:
    def test_the_seat_goes_to_a_new_order_and_its_money_is_owed(
        self, acme, node, ticket, ada, full
    ):
        seat = seat_of(ada)
        assert acme.preflight(ticket).json["code"] == "sold_out"
        give_back(acme, seat)
        listed = acme.with_headers({}).get(f"{acme.public}/events/{ticket['event_id']}/tickets")
        assert listed.json["data"][0]["availability"] == "on_sale"
        new = acme.buyer(ticket)
        assert pool(ticket) == (0, 2, 1, 1)
        proof(acme)
        assert conflict(keep(acme, seat)) == "return_in_progress"
        api, path = holder(acme, seat)
        assert api.get(path).json["return"]["status"] == "in_progress"
        assert acme.preflight(ticket).json["code"] == "sold_out"
        new.pay(node)
        worker_once(acme.app)
        assert new.now()["status"] == "confirmed"
        worker_once(acme.app)
        assert pool(ticket) == (0, 2, 0, 0)
        gone = Admission.get_by_id(seat.id)
        assert (gone.status, gone.void_reason) == ("void", RESOLD_REASON)
        assert api.get(path).json["return"]["status"] == "resold"
        order = ada.now()
        assert (order["refund_due"], order["status"]) == (PRICE * 9 // 10, "confirmed")
        assert [each.status for each in admissions_of(new)] == ["valid"]
        assert facts("admission.voided") == 1 and facts("refund.due") == 1
        proof(acme)

    def test_an_order_that_is_not_paid_gives_it_back_to_its_holder(self, acme, ticket, ada, full):
        seat = seat_of(ada)
        give_back(acme, seat)
        new = acme.buyer(ticket)
        assert new.cancel().status_code == 200
        assert pool(ticket) == (0, 2, 1, 0)
        assert PaymentIntent.get_by_id(new.intent["id"]).pooled == 0
        assert keep(acme, seat).status_code == 200
        proof(acme)

    def test_what_is_left_of_the_capacity_goes_first(self, acme, ticket, ada):
        give_back(acme, seat_of(ada))
        acme.buyer(ticket)
        assert pool(ticket) == (1, 1, 1, 0)
        # Whole from the capacity, or whole from the pool.
        assert acme.preflight(ticket, quantity=2).json["code"] == "sold_out"
        acme.buyer(ticket)
        assert pool(ticket) == (1, 1, 1, 1)
        proof(acme)

    def test_the_capacity_of_the_event_is_not_touched(self, acme, node):
        event = acme.event(capacity=2)
        terms = {"returns": "when_resold", "capacity": 2, "price_amount": 0, "chain_id": None}
        one, other = acme.ticket(event, **terms), acme.ticket(event, **terms)
        first, second = acme.buyer(one), acme.buyer(other)
        for buyer in (first, second):
            assert buyer.purchase().status_code == 200
        assert give_back(acme, seat_of(first)).status_code == 200
        # A seat is replaced by one of the same type only.
        assert acme.preflight(other).json["code"] == "sold_out"
        new = acme.buyer(one)
        assert new.purchase().status_code == 200
        assert resales.swap_some() == 1
        assert seat_of(first).status == "void" and pool(one) == (0, 1, 0, 0)
        proof(acme)

    def test_the_oldest_offer_goes_first(self, acme, node, ticket, ada, full):
        state_address(full)
        give_back(acme, seat_of(full))
        give_back(acme, seat_of(ada))
        new = acme.buyer(ticket)
        assert keep(acme, seat_of(ada)).status_code == 200  # one of the two is enough
        assert conflict(keep(acme, seat_of(full))) == "return_in_progress"
        give_back(acme, seat_of(ada))
        new.pay(node)
        for _ in range(2):
            worker_once(acme.app)
        assert seat_of(full).status == "void" and seat_of(ada).status == "valid"
        assert pool(ticket) == (0, 2, 1, 0)
        proof(acme)

    def test_a_voucher_or_a_cart_gets_none(self, acme, admin, ticket, ada, full):
        give_back(acme, seat_of(ada))
        event = f"{acme.path}/events/{ticket['event_id']}"
        code = admin.post(f"{event}/vouchers", {}).json["code"]
        assert acme.preflight(ticket, voucher=code).json["code"] == "sold_out"
        assert pool(ticket) == (0, 2, 1, 0)

    @pytest.mark.parametrize("quantity", [1, 2])
    def test_of_many_who_order_it_as_many_get_it(self, acme, ticket, ada, full, quantity):
        state_address(full)
        give_back(acme, seat_of(ada))
        if quantity == 2:
            give_back(acme, seat_of(full))
        answers = at_once(*[lambda: acme.preflight(ticket) for _ in range(5)])
        codes = sorted(each.status_code for each in answers)
        assert codes == [201] * quantity + [409] * (5 - quantity)
        assert pool(ticket) == (0, 2, quantity, quantity)
        proof(acme)

    def test_who_keeps_it_and_who_orders_it_do_not_both_win(self, acme, ticket, ada, full):
        for _ in range(5):
            assert give_back(acme, seat_of(ada)).status_code == 200
            ordered, kept = at_once(
                lambda: acme.preflight(ticket), lambda: keep(acme, seat_of(ada))
            )
            assert {ordered.status_code, kept.status_code} in ({201, 409}, {409, 200})
            if ordered.status_code == 201:
                break
        proof(acme)

    def test_fifty_give_back_and_fifty_others_get_in(self, acme):
        free = {"price_amount": 0, "chain_id": None, "capacity": 50, "max_per_order": 50}
        ticket = acme.ticket(returns="when_resold", **free)
        seats = admissions_of(given(acme, ticket, quantity=50))
        offered = at_once(*[lambda each=each: give_back(acme, each) for each in seats[:10]])
        offered += [give_back(acme, each) for each in seats[10:]]
        assert {each.status_code for each in offered} == {200} and pool(ticket) == (0, 50, 50, 0)

        def buy(_):
            return acme.preflight(ticket).status_code

        codes = [code for n in range(6) for code in at_once(*[partial(buy, n)] * 10)]
        assert codes.count(201) == 50 and codes.count(409) == 10
        for order in PaymentIntent.select().where(PaymentIntent.pooled > 0):
            secret = client_secret(Keyring(SECRET_KEY).current, order.id, 0)
            api = acme.with_headers({"Authorization": f"Bearer {secret}"})
            answer = api.post(f"{acme.checkout}/intents/{order.id}/purchase")
            assert answer.status_code == 200, answer.json
        assert resales.swap_some() == 50
        assert pool(ticket) == (0, 50, 0, 0)
        statuses = [Admission.get_by_id(each.id).status for each in seats]
        assert statuses == ["void"] * 50
        assert Admission.select().where(Admission.status == "valid").count() == 50
        proof(acme)


class TestWhatElseHappens:
    def test_the_organizer_takes_an_offered_seat_back(self, acme, ticket, ada, full):
        give_back(acme, seat_of(ada))
        new = acme.buyer(ticket)
        assert conflict(void(acme, seat_of(ada))) == "return_in_progress"
        new.cancel()
        assert void(acme, seat_of(ada)).status_code == 200
        assert pool(ticket) == (0, 1, 0, 0)
        assert ada.now()["refund_due"] == PRICE
        proof(acme)

    def test_the_organizer_takes_a_seat_of_the_pool_back(self, acme):
        """Then the seat that it was to replace stays with its holder."""
        free = {"price_amount": 0, "chain_id": None, "capacity": 1}
        ticket = acme.ticket(returns="when_resold", **free)
        first = given(acme, ticket)
        give_back(acme, seat_of(first))
        new = given(acme, ticket)
        assert PaymentIntent.get_by_id(new.intent["id"]).pooled == 1
        assert void(acme, seat_of(new)).status_code == 200
        assert pool(ticket) == (0, 1, 1, 0)
        assert resales.swap_some() == 0 and seat_of(first).status == "valid"
        assert keep(acme, seat_of(first)).status_code == 200
        proof(acme)

    def test_a_canceled_event_owes_everything_once(self, acme, admin, node, ticket, ada, full):
        give_back(acme, seat_of(ada))
        new = acme.buyer(ticket)
        new.pay(node)
        path = f"{acme.path}/events/{ticket['event_id']}/status"
        assert admin.post(path, {"status": "canceled"}).status_code == 200
        worker_once(acme.app)
        assert pool(ticket) == (0, 0, 0, 0)
        assert ada.now()["refund_due"] == PRICE
        proof(acme)

    def test_a_resold_seat_keeps_its_fee_when_the_event_is_canceled(
        self, acme, admin, node, ticket, ada, full
    ):
        give_back(acme, seat_of(ada))
        new = acme.buyer(ticket)
        new.pay(node)
        for _ in range(2):
            worker_once(acme.app)
        path = f"{acme.path}/events/{ticket['event_id']}/status"
        assert admin.post(path, {"status": "canceled"}).status_code == 200
        assert ada.now()["refund_due"] == PRICE * 9 // 10
        assert new.now()["refund_due"] == PRICE
        proof(acme)

    def test_offers_end_before_the_doors_unless_somebody_pays(self, acme, ticket, ada, full):
        state_address(full)
        for buyer in (ada, full):
            give_back(acme, seat_of(buyer))
        acme.buyer(ticket)
        soon = datetime.now(UTC) + timedelta(hours=3)
        Event.update(doors_open_at=soon).where(Event.id == ticket["event_id"]).execute()
        assert resales.end_some_offers() == 1
        # The later offer ended. The older one is still counted on.
        assert seat_of(ada).returned_at is not None and seat_of(full).returned_at is None
        assert pool(ticket) == (0, 2, 1, 1)
        assert resales.end_some_offers() == 0
        proof(acme)

    def test_an_order_of_the_pool_ends_before_that(self, acme, ticket, ada, full):
        give_back(acme, seat_of(ada))
        close = datetime.now(UTC) + timedelta(hours=4, minutes=12)
        Event.update(doors_open_at=close).where(Event.id == ticket["event_id"]).execute()
        new = acme.buyer(ticket)
        ends = datetime.fromisoformat(new.intent["expires_at"])
        assert ends <= close - timedelta(hours=4)
        new.cancel()
        later = datetime.now(UTC) + timedelta(hours=4, minutes=1)
        Event.update(doors_open_at=later).where(Event.id == ticket["event_id"]).execute()
        assert acme.preflight(ticket).json["code"] == "sold_out"

    def test_the_list_finds_them(self, acme, admin, ticket, ada, full):
        def listed(status):
            found = admin.get(f"{acme.path}/admissions?return={status}").json["data"]
            return [each["id"] for each in found]

        seat = seat_of(ada)
        give_back(acme, seat)
        assert listed("offered") == [seat.id] and listed("in_progress") == []
        acme.buyer(ticket)
        assert listed("offered") == [] and listed("in_progress") == [seat.id]
        assert listed("resold") == []


def test_a_free_order_frees_its_seat(acme):
    ticket = acme.ticket(capacity=1, price_amount=0, chain_id=None, returns="when_resold")
    first = acme.buyer(ticket)
    first.purchase()
    answer = give_back(acme, seat_of(first))
    assert answer.json["return"]["amount"] == 0
    second = acme.buyer(ticket)
    second.purchase()
    assert resales.swap_some() == 1
    assert [seat_of(first).status, seat_of(second).status] == ["void", "valid"]
    proof(acme)
