"""Names and email addresses are erased by call and by age, in the audit log too."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.admissions import FREE, admissions_of, change, given, invite, sold, void
from tests.support.factories import cli, in_days, worker_once
from tests.support.stopped_clock import StoppedClock
from ticketing import clock, ids
from ticketing.db.connection import database
from ticketing.models.admissions import Admission, Transfer
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.payments import reconciliation

ADA = {"name": "Ada Zaphod", "email": "zaphod@example.org"}
NOBODY = {"name": None, "email": None}
NOW = datetime.now(UTC)


def text_of(table):
    """All that a table contains, as one text."""
    return json.dumps(
        [list(map(str, row)) for row in database.execute_sql(f"SELECT * FROM {table}")]
    )


def tables_with_personal_data():
    found = {name: text_of(name) for name in database.get_tables()}
    return {name for name, text in found.items() if "aphod" in text} - {"idempotency_keys"}


def erase(acme, kind, subject):
    answer = acme.api().post(f"{acme.path}/{kind}/{subject}/erase")
    assert answer.status_code == 200, answer.json
    return answer.json


def offer(admission):
    """An open offer to somebody."""
    Transfer.create(
        id=ids.new(ids.TRANSFER),
        admission=admission,
        generation=1,
        holder_name=ADA["name"],
        holder_email=ADA["email"],
        created_at=NOW,
        expires_at=NOW + timedelta(hours=48),
    )


@pytest.fixture
def buyer(acme):
    return given(acme, acme.ticket(**FREE), quantity=2, buyer=ADA)


@pytest.mark.sql
def test_an_order_is_erased_everywhere(acme, buyer):
    for admission in admissions_of(buyer):
        offer(admission)
        change(admission, change_number=7)
        assert void(acme, admission).status_code == 200
    assert tables_with_personal_data() == {"payment_intents", "admissions", "transfers"}
    intent = erase(acme, "intents", buyer.intent["id"])
    assert intent["buyer"] == NOBODY
    assert tables_with_personal_data() == set()
    assert {each.change_number for each in Admission.select()} == {None}
    assert erase(acme, "intents", buyer.intent["id"])["buyer"] == NOBODY
    assert reconciliation.reconcile(None) == []


@pytest.mark.sql
def test_a_new_holder_is_erased_by_the_admission(acme, buyer):
    first, second = admissions_of(buyer)
    change(second, transferred_at=NOW)
    erase(acme, "intents", buyer.intent["id"])
    assert Admission.get_by_id(first.id).holder == NOBODY
    assert Admission.get_by_id(second.id).holder == ADA
    assert erase(acme, "admissions", second.id)["holder"] == NOBODY
    assert tables_with_personal_data() == set()


@pytest.mark.sql
def test_the_audit_log_forgets_the_names_and_nothing_else(acme):
    guest = invite(acme, acme.ticket(), ADA).json["admissions"][0]["id"]
    other = invite(acme, acme.ticket(), ADA).json["admissions"][0]["id"]

    def entries(subject):
        query = {"subject": subject}
        return acme.api().get(f"{acme.path}/audit-log", query_string=query).json["data"]

    (before,) = entries(guest)
    assert before["after"]["holder"] == ADA
    erase(acme, "admissions", guest)
    erasure, after = entries(guest)
    assert erasure["action"] == "erasure_erase_admission"
    assert (erasure["before"], erasure["after"]) == (None, {"erased": True})
    assert after == {**before, "after": {**before["after"], "holder": None}}
    assert entries(other)[0]["after"]["holder"] == ADA


@pytest.mark.sql
def test_an_unknown_or_foreign_one_is_not_there(acme, neighbour, buyer):
    mine = {"intents": buyer.intent["id"], "admissions": admissions_of(buyer)[0].id}
    for kind, subject in mine.items():
        path = f"{neighbour.path}/{kind}/{subject}/erase"
        assert neighbour.api().post(path).status_code == 404
    assert Admission.select().where(Admission.holder_name == ADA["name"]).count() == 2


def end(event_id, days, hours=0):
    """Let an event have ended so long ago."""
    ended = NOW - timedelta(days=days, hours=hours)
    times = {"start_at": ended - timedelta(hours=1), "end_at": ended}
    Event.update(times).where(Event.id == event_id).execute()


def look_for_a_week(acme):
    """Let the worker look, and look again when what is due has been due for seven days."""
    worker_once(acme.app)
    Event.update(erasure_due_at=NOW - timedelta(days=7)).where(
        Event.erasure_due_at.is_null(False)
    ).execute()
    worker_once(acme.app)


@pytest.fixture
def week(acme, node, monkeypatch):
    """Let days pass, with a look of the worker at each of them."""
    stopped = StoppedClock(monkeypatch, clock.now())

    def week(days=8):
        for _ in range(days):
            stopped.forward(days=1)
            worker_once(acme.app)

    week.clock = stopped
    return week


@pytest.mark.long
def test_a_wrong_year_can_be_repaired_for_a_week(acme, buyer, week):
    here = f"{acme.path}/events/{buyer.intent['event_id']}"
    right = acme.api().get(here).json["start_at"]
    wrong = {"start_at": (week.clock.now - timedelta(days=300)).isoformat()}
    refused = acme.api().patch(here, wrong)
    assert (refused.status_code, refused.json["code"]) == (409, "in_the_past")
    assert acme.api().get(here).json["start_at"] == right
    for _ in range(2):
        assert acme.api().patch(here, {**wrong, "force": True}).status_code == 200
        week(6)
        assert buyer_and_guest_names() == ([ADA["name"]], [ADA["name"]] * 2)
        assert acme.api().patch(here, {"start_at": right}).status_code == 200
    week(3)
    assert buyer_and_guest_names() == ([ADA["name"]], [ADA["name"]] * 2)
    assert acme.api().patch(here, {**wrong, "force": True}).status_code == 200
    week(9)
    assert tables_with_personal_data() == set()


def test_a_clock_that_is_wrong_for_a_moment_erases_nobody(acme, buyer, week):
    for _ in range(3):
        week.clock.forward(days=365)
        worker_once(acme.app)
        week.clock.forward(days=-365)
        worker_once(acme.app)
        week(2)
    assert buyer_and_guest_names() == ([ADA["name"]], [ADA["name"]] * 2)


def test_people_who_were_added_after_the_erasure_are_erased_later(acme, week):
    ticket = acme.ticket(**FREE)
    invite(acme, ticket, ADA)
    end(ticket["event_id"], 91)
    week()
    assert tables_with_personal_data() == set()
    assert invite(acme, ticket, ADA).status_code == 201
    week(9)
    assert tables_with_personal_data() == set()


@pytest.mark.long
def test_an_event_that_is_moved_into_the_future_is_erased_after_that(acme, week):
    ticket = acme.ticket(**FREE)
    end(ticket["event_id"], 91)
    week()
    here = f"{acme.path}/events/{ticket['event_id']}"
    start_at = week.clock.now + timedelta(days=1)
    times = {"start_at": start_at.isoformat(), "end_at": None}
    assert acme.api().patch(here, times).status_code == 200
    given(acme, ticket, buyer=ADA)
    week(9)
    assert buyer_and_guest_names()[0] == [ADA["name"]]
    week.clock.forward(days=90)
    week(9)
    assert tables_with_personal_data() == set()


@pytest.mark.sql
def test_only_a_move_of_tickets_into_the_past_is_asked_about(acme, buyer):
    api, here = acme.api(), f"{acme.path}/events/{buyer.intent['event_id']}"
    assert api.patch(here, {"start_at": in_days(1), "title": "Sooner"}).status_code == 200
    assert api.patch(here, {"start_at": in_days(-0.01)}).json["code"] == "in_the_past"
    forced = api.patch(here, {"start_at": in_days(-0.01), "force": True})
    assert forced.status_code == 200 and "force" not in forced.json
    assert api.patch(here, {"start_at": in_days(-0.02)}).status_code == 200  # it has begun
    assert api.patch(here, {"end_at": in_days(-0.001)}).json["code"] == "in_the_past"
    unsold = acme.event()
    assert api.patch(f"{acme.path}/events/{unsold['id']}", {"start_at": in_days(-9)}).json


@pytest.mark.sql
def test_old_events_are_erased_by_the_worker(acme, node, buyer):
    guest_ticket = acme.ticket(**FREE)
    invite(acme, guest_ticket, ADA)
    end(buyer.intent["event_id"], 89)
    end(guest_ticket["event_id"], 91)
    look_for_a_week(acme)
    assert buyer_and_guest_names() == ([ADA["name"]], [ADA["name"]] * 2)
    # Not an hour too early, also within one day.
    end(buyer.intent["event_id"], 90, hours=-1)
    look_for_a_week(acme)
    assert buyer_and_guest_names() == ([ADA["name"]], [ADA["name"]] * 2)
    end(buyer.intent["event_id"], 90, hours=1)
    look_for_a_week(acme)
    assert tables_with_personal_data() == set()
    assert all(event.erased_at is not None for event in Event.select())


def buyer_and_guest_names():
    """The names that buyers and holders still have."""
    buyers = PaymentIntent.select().where(PaymentIntent.buyer_name.is_null(False))
    holders = Admission.select().where(Admission.holder_name.is_null(False))
    return [each.buyer_name for each in buyers], [each.holder_name for each in holders]


@pytest.mark.sql
def test_not_while_a_refund_is_due(acme, node):
    event = acme.event()
    ticket = acme.ticket(event)
    owing, owed_nothing = (sold(acme, node, ticket, buyer=ADA) for _ in range(2))
    assert void(acme, admissions_of(owing)[0]).status_code == 200
    end(event["id"], 91)
    look_for_a_week(acme)
    left = {each.id for each in PaymentIntent.select() if each.buyer_name is not None}
    assert left == {owing.intent["id"]}
    assert [each.holder for each in admissions_of(owing)] == [ADA]
    assert [each.holder for each in admissions_of(owed_nothing)] == [NOBODY]
    database.execute_sql("UPDATE order_accounts SET kept = kept + due, due = 0")
    look_for_a_week(acme)
    assert buyer_and_guest_names()[0] == [ADA["name"]]
    Event.update(erasure_tried_at=NOW - timedelta(days=2)).execute()
    look_for_a_week(acme)
    assert tables_with_personal_data() == set()


@pytest.mark.sql
def test_erasures_are_repeated_after_a_restore(acme, buyer, caplog):
    caplog.set_level("INFO")
    (first, second), intent_id = admissions_of(buyer), buyer.intent["id"]
    unknown = f"{ids.ADMISSION}{'0' * 26}"
    printed = cli(acme.app, "personal-data", "erase", first.id, unknown, exit_code=1)
    assert "erased 1" in printed and unknown in printed
    assert Admission.get_by_id(second.id).holder == ADA
    assert "erased 1" in cli(acme.app, "personal-data", "erase", intent_id)
    assert tables_with_personal_data() == set()
    told = [record.getMessage() for record in caplog.records if "erased" in record.getMessage()]
    assert told == [f"personal data erased: {each}" for each in (first.id, intent_id)]
