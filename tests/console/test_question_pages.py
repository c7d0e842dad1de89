"""The console's pages of questions, and answers on the pages of attendees and orders."""

import re

import pytest

from tests.support.admissions import FREE, given
from tests.support.console import sign_in
from tests.support.questions import ANSWERS, OPTIONS, ask, of_every_type
from tests.support.translations import mark, not_translated
from ticketing.application import build
from ticketing.models.admissions import Admission
from ticketing.models.audit_log import AuditLogEntry
from ticketing.models.questions import Question


@pytest.fixture(scope="module")
def built_app():
    """An application of its own: its pages speak another language."""
    app = build()
    mark(app)
    return app


@pytest.fixture
def ticket(acme):
    return acme.ticket(**FREE)


@pytest.fixture
def base(ticket):
    return f"/console/events/{ticket['event_id']}/questions"


@pytest.fixture
def console(acme):
    return sign_in(acme)


def names(console, base):
    return re.findall(r'<th scope="row"><a[^>]*><bdi>(.*?)</bdi>', console.get(base).text)


def test_a_question_is_created_changed_moved_and_archived(acme, console, base, ticket):
    form = {
        "question": "Diet?",
        "ask": "order",
        "type": "choice",
        "new_options": "Vegan\r\n\r\n Fish ",
        "required": ["", "on"],
        "ticket_ids": [ticket["id"]],
    }
    made = console.send(f"{base}/new", form)
    assert (made.status_code, made.headers["Location"]) == (303, f"{base}#saved")
    (row,) = Question.select()
    assert (row.ask, row.required, row.ticket_ids) == ("order", True, ticket["id"])
    ask(acme, ticket["event_id"], question="Second?")
    assert names(console, base) == ["Diet?", "Second?"]
    assert console.send(f"{base}/{row.id}/down").status_code == 303
    assert names(console, base) == ["Second?", "Diet?"]
    assert console.send(f"{base}/{row.id}/up").status_code == 303
    edit = console.get(f"{base}/{row.id}/edit").text
    vegan, fish = re.findall(r'name="(option\.opt_[^"]+)"', edit)
    assert 'value="Vegan"' in edit and f'value="{ticket["id"]}" checked' in edit
    changed = {**form, vegan: "", fish: "Fish", "new_options": "Meat", "identifier": "diet"}
    assert console.send(f"{base}/{row.id}/edit", changed).status_code == 303
    shown = console.get(f"{base}/{row.id}").text
    assert "Meat" in shown and "Fish" in shown and "Vegan" not in shown
    archived = console.send(f"{base}/{row.id}/archive")
    assert archived.headers["Location"] == f"{base}#archived"
    assert names(console, base) == ["Second?"]
    actions = {each.action for each in AuditLogEntry.select()}
    assert {f"questions_{name}_question" for name in ("create", "change", "archive")} <= actions


def test_a_wrong_form_is_shown_again_as_it_was_filled_in(console, base):
    form = {"question": "Diet?", "ask": "order", "type": "choice", "help_text": "Cook asks"}
    again = console.send(f"{base}/new", {**form, "identifier": "A b"})
    assert again.status_code == 422 and 'value="Cook asks"' in again.text
    assert 'id="identifier-error"' in again.text
    again = console.send(f"{base}/new", form)
    assert 'id="options-error"' in again.text
    assert not Question.select().exists()


def test_counts_are_shown_and_an_answered_option_stays(acme, console, base, ticket):
    made = ask(acme, ticket["event_id"], type="choice", options=OPTIONS, identifier="diet")
    given(acme, ticket, answers={"diet": "Vegan"})
    page = console.get(f"{base}/{made['id']}").text
    rows = re.findall(r"<bdi>([^<]*)</bdi></th><td class=\"number\"[^>]*>(\d+)", page)
    assert rows == [("Vegetarian", "0"), ("Vegan", "1"), ("=cmd", "0")]
    form = {"question": "Diet?", "ask": "order", "type": "text", "identifier": "diet"}
    refused = console.send(f"{base}/{made['id']}/edit", form)
    assert refused.status_code == 409 and "Somebody has answered" in refused.text


def test_answers_are_on_the_pages_of_the_order_and_the_attendee(acme, console, ticket):
    of_every_type(acme, ticket["event_id"])
    ask(acme, ticket["event_id"], ask="attendee", identifier="size", required=True)
    ask(acme, ticket["event_id"], ask="attendee", identifier="other", required=True)
    buyer = given(acme, ticket, answers=ANSWERS)
    order = console.get(f"/console/orders/{buyer.intent['id']}").text
    for shown in ("Vegan", "-1.5", "2000-02-29", "⟦No⟧", "<bdi>=cmd</bdi>"):
        assert shown in order, shown
    (admission,) = Admission.select()
    path = f"/console/attendees/{admission.id}"
    assert console.get(path).text.count("⟦not answered⟧") == 2
    saved = console.send(f"{path}/answers", {"answers.size": "XL", "answers.other": ""})
    assert saved.headers["Location"] == f"{path}#answered"
    page = console.get(path).text
    assert "<bdi>XL</bdi>" in page and 'value="XL"' in page
    wrong = console.send(f"{path}/answers", {"answers.size": "x" * 201})
    assert wrong.status_code == 422 and "answers.size-error" in wrong.text
    (entry,) = AuditLogEntry.select().where(AuditLogEntry.action == "admissions_change_answers")
    assert "XL" not in str(entry.after) and "size" in str(entry.after)


def test_readers_see_and_change_nothing(acme, base, ticket):
    made = ask(acme, ticket["event_id"])
    reader = sign_in(acme, "read")
    page = reader.get(base).text
    assert "What?" in page and f"{base}/{made['id']}/archive" not in page
    for path in (f"{base}/new", f"{base}/{made['id']}/edit"):
        assert reader.get(path).status_code == 403
    for path in (f"{base}/new", *(f"{base}/{made['id']}/{name}" for name in ("up", "archive"))):
        assert reader.send(path).status_code == 403


def test_every_text_can_be_translated(acme, console, base, ticket):
    for each in of_every_type(acme, ticket["event_id"]):
        assert not_translated(console.get(f"{base}/{each['id']}").text) == []
    ask(acme, ticket["event_id"], ask="attendee", required=True, help_text="Why")
    (first, *_) = Question.select()
    for path in (base, f"{base}/new", f"{base}/{first.id}/edit"):
        assert not_translated(console.get(path).text) == []
    given(acme, ticket, answers=ANSWERS)
    (admission,) = Admission.select()
    assert not_translated(console.get(f"/console/attendees/{admission.id}").text) == []
