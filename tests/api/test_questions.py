"""Questions of an event: create, read, change, move, archive; what the public sees; the counts."""

import pytest

from tests.support.admissions import FREE, given
from tests.support.holders import refused
from tests.support.questions import ANSWERS, OPTIONS, ask, of_every_type
from ticketing.constants import MAX_QUESTIONS
from ticketing.models.audit_log import AuditLogEntry
from ticketing.models.events import Event
from ticketing.models.questions import Question
from ticketing.models.ticket_types import TicketType

pytestmark = pytest.mark.sql


@pytest.fixture
def event(acme):
    return acme.event()


@pytest.fixture
def ticket(acme, event):
    return acme.ticket(event, **FREE)


@pytest.fixture
def path(acme, event):
    return f"{acme.path}/events/{event['id']}/questions"


@pytest.fixture
def admin(acme):
    return acme.api()


def counts(event):
    row = Event.get_by_id(event["id"])
    return row.order_questions, row.attendee_questions


def wrong(answer, *names):
    refused(answer, 422, "invalid_request")
    assert set(answer.json["errors"]) == set(names)


def test_a_question_is_created_with_all_fields_read_and_listed(admin, path, event, ticket):
    body = {
        "identifier": "diet",
        "question": "What do you eat?",
        "help_text": "For the cook.",
        "type": "choice",
        "required": True,
        "ask": "order",
        "ticket_ids": [ticket["id"]],
        "options": OPTIONS,
        "show_at_door": True,
    }
    made = admin.post(path, body)
    assert made.status_code == 201, made.json
    assert [each["label"] for each in made.json["options"]] == [each["label"] for each in OPTIONS]
    assert made.json | body | {"options": made.json["options"]} == made.json
    assert (made.json["position"], made.json["archived"]) == (1, False)
    assert admin.get(f"{path}/{made.json['id']}").json == made.json
    assert admin.get(path).json == {"data": [made.json], "next_cursor": None}


def test_defaults_and_the_identifier_that_is_free(admin, path):
    first = admin.post(path, {"question": "A?", "type": "text"}).json
    admin.post(path, {"question": "B?", "type": "text", "identifier": "q3"})
    third = admin.post(path, {"question": "C?", "type": "text"}).json
    assert (first["identifier"], third["identifier"]) == ("q1", "q2")
    assert (first["ask"], first["required"], first["ticket_ids"]) == ("attendee", False, None)
    assert (first["options"], first["show_at_door"], third["position"]) == ([], False, 3)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"type": "choice"}, "options"),
        ({"type": "choice", "options": []}, "options"),
        ({"options": OPTIONS}, "options"),
        ({"type": "choice", "options": [{"label": "A"}, {"label": "A"}]}, "options"),
        ({"type": "choice", "options": [{"id": "opt_x", "label": "A"}]}, "options"),
        ({"show_at_door": True}, "show_at_door"),
        ({"ticket_ids": ["tkt_x"]}, "ticket_ids"),
        ({"identifier": "taken"}, "identifier"),
    ],
)
def test_fields_that_contradict_each_other(admin, path, fields, name):
    admin.post(path, {"question": "A?", "type": "text", "identifier": "taken"})
    wrong(admin.post(path, {"question": "A?", "type": "text", **fields}), name)
    assert Question.select().count() == 1


def test_a_ticket_type_of_another_event_is_unknown(acme, admin, path):
    other = acme.ticket()
    body = {"question": "A?", "type": "text", "ticket_ids": [other["id"]]}
    wrong(admin.post(path, body), "ticket_ids")


def test_an_event_has_at_most_twenty_questions(admin, path, event):
    made = [admin.post(path, {"question": "A?", "type": "text"}) for _ in range(MAX_QUESTIONS)]
    assert {each.status_code for each in made} == {201}
    refused(admin.post(path, {"question": "A?", "type": "text"}), 409, "too_many_questions")
    assert admin.post(f"{path}/{made[0].json['id']}/archive").json["archived"] is True
    assert admin.post(path, {"question": "A?", "type": "text"}).status_code == 201


def test_the_counts_in_the_events_row_follow_each_change(acme, admin, path, event):
    made = ask(acme, event["id"])
    ask(acme, event["id"], ask="attendee")
    assert counts(event) == (1, 1)
    admin.patch(f"{path}/{made['id']}", {"ask": "attendee"})
    assert counts(event) == (0, 2)
    admin.patch(f"{path}/{made['id']}", {"ask": "order"})
    admin.post(f"{path}/{made['id']}/archive")
    again = admin.post(f"{path}/{made['id']}/archive")
    assert again.json["archived"] is True
    assert counts(event) == (0, 1)


def test_the_position_is_a_place_and_the_others_move(acme, admin, path, event):
    a, b, c = (ask(acme, event["id"], identifier=name)["id"] for name in "abc")
    admin.patch(f"{path}/{c}", {"position": 1})
    assert [each["identifier"] for each in admin.get(path).json["data"]] == ["c", "a", "b"]
    admin.patch(f"{path}/{c}", {"position": 20})
    ask(acme, event["id"], identifier="d", position=2)
    shown = admin.get(path).json["data"]
    assert [each["identifier"] for each in shown] == ["a", "d", "b", "c"]
    assert [each["position"] for each in shown] == [1, 2, 3, 4]
    assert a and b


def test_what_is_answered_keeps_its_meaning(acme, admin, path, ticket):
    made = ask(acme, ticket["event_id"], type="choice", options=OPTIONS, identifier="diet")
    here = f"{path}/{made['id']}"
    vegetarian, vegan, cmd = made["options"]
    assert admin.patch(here, {"type": "text"}).status_code == 200
    assert admin.patch(here, {"type": "choice", "options": OPTIONS}).status_code == 200
    vegetarian, vegan, cmd = admin.get(here).json["options"]
    given(acme, ticket, answers={"diet": "Vegan"})
    for change in ({"type": "text"}, {"ask": "attendee"}, {"options": [vegetarian, cmd]}):
        refused(admin.patch(here, change), 409, "question_answered")
    renamed = [{**vegan, "label": "Plants"}, vegetarian, {"label": "Fish"}]
    changed = admin.patch(here, {"options": renamed, "required": True, "question": "Diet?"})
    assert [each["label"] for each in changed.json["options"]] == ["Plants", "Vegetarian", "Fish"]
    counted = admin.get(f"{path.removesuffix('questions')}answers?question_id={made['id']}").json
    shown = [(each["value"], each["count"]) for each in counted["counts"]]
    assert (counted["answered"], shown) == (1, [("Plants", 1), ("Vegetarian", 0), ("Fish", 0)])


def test_answers_are_counted_for_each_option(acme, admin, path, ticket):
    made = {each["identifier"]: each for each in of_every_type(acme, ticket["event_id"])}
    given(acme, ticket, answers=ANSWERS)
    given(acme, ticket, answers={**ANSWERS, "boolean": True, "multiple-choice": ["=cmd"]})
    acme.buyer(ticket, answers=ANSWERS)  # not sold
    base = f"{path.removesuffix('questions')}answers?question_id="

    def counted(name):
        found = admin.get(base + made[name]["id"]).json
        assert found["answered"] == 2
        return [(each["value"], each["count"]) for each in found["counts"]]

    assert counted("choice") == [("Vegetarian", 0), ("Vegan", 2), ("=cmd", 0)]
    assert counted("multiple-choice") == [("Vegetarian", 1), ("Vegan", 0), ("=cmd", 2)]
    assert counted("boolean") == [(True, 1), (False, 1)]
    assert counted("text") == []
    refused(admin.get(base + "que_x"), 404, "not_found")


def test_the_public_sees_what_is_asked_at_once(acme, api, event, ticket):
    shown = f"{acme.public}/events/{event['slug']}"
    assert api.get(shown).json["questions"] == []
    order = ask(acme, event["id"], ticket_ids=[ticket["id"]])
    attendee = ask(acme, event["id"], ask="attendee")
    old = ask(acme, event["id"])
    acme.api().post(f"{acme.path}/events/{event['id']}/questions/{old['id']}/archive")
    found = api.get(shown).json["questions"]
    assert [each["id"] for each in found] == [order["id"], attendee["id"]]
    assert found[0]["ticket_ids"] == [ticket["id"]]
    assert not found[0].keys() & {"position", "show_at_door", "created_at"}
    assert "questions" not in api.get(f"{acme.public}/events").json["data"][0]


def test_the_public_does_not_see_hidden_ticket_types(acme, api, event, ticket):
    hidden = acme.ticket(event, **FREE)
    ask(acme, event["id"], identifier="both", ticket_ids=[ticket["id"], hidden["id"]])
    ask(acme, event["id"], identifier="secret", ticket_ids=[hidden["id"]])
    TicketType.update(hide_without_voucher=True).where(TicketType.id == hidden["id"]).execute()
    answer = api.get(f"{acme.public}/events/{event['slug']}")
    (shown,) = answer.json["questions"]
    assert (shown["identifier"], shown["ticket_ids"]) == ("both", [ticket["id"]])
    assert hidden["id"] not in answer.text


def test_changes_are_in_the_audit_log(acme, admin, path, event):
    made = admin.post(path, {"question": "A?", "type": "text"}).json
    admin.patch(f"{path}/{made['id']}", {"question": "B?"})
    admin.post(f"{path}/{made['id']}/archive")
    entries = AuditLogEntry.select().where(AuditLogEntry.subject == made["id"])
    assert [each.action for each in entries.order_by(AuditLogEntry.id)] == [
        "questions_create_question",
        "questions_change_question",
        "questions_archive_question",
    ]


def test_questions_of_another_event_or_tenant_are_unknown(acme, neighbour, admin, path, event):
    made = ask(acme, event["id"])
    other = acme.event()
    for base in (f"{acme.path}/events/{other['id']}", f"{neighbour.path}/events/{event['id']}"):
        caller = admin if base.startswith(acme.path) else neighbour.api()
        there = f"{base}/questions/{made['id']}"
        refused(caller.get(there), 404, "not_found")
        refused(caller.patch(there, {"question": "B?"}), 404, "not_found")
        refused(caller.post(f"{there}/archive"), 404, "not_found")
        refused(caller.get(f"{base}/answers?question_id={made['id']}"), 404, "not_found")
