"""Answers: of orders, of tickets; who sees them, and when they go."""

import csv
import io
import json

import pytest

from tests.support.admissions import FREE, admissions_of, given, reissue, void
from tests.support.factories import in_days
from tests.support.holders import bought, refused
from tests.support.questions import ANSWERS, OPTIONS, ask, of_every_type
from tests.support.races import at_once
from tests.support.stored_rows import rows
from ticketing.models.admissions import Admission
from ticketing.models.questions import Answer

pytestmark = pytest.mark.sql

SECRET = "coeliac-7319"


@pytest.fixture
def ticket(acme):
    return acme.ticket(**FREE)


@pytest.fixture
def admin(acme):
    return acme.api()


def wrong(answer, *names):
    refused(answer, 422, "invalid_request")
    assert set(answer.json["errors"]) == set(names)


def answer(held, **answers):
    return held.api.patch(held.path, {"answers": answers})


def where_stored(text):
    return [table for table, row in rows() if text in row]


def of_admission(acme, held):
    return acme.api().get(f"{acme.path}/admissions/{held.id}").json["answers"]


def test_required_answers_of_every_type_are_saved_and_shown(acme, admin, ticket):
    # Hi.Events#785: answers to required questions were not saved.
    of_every_type(acme, ticket["event_id"])
    buyer = given(acme, ticket, answers=ANSWERS)
    shown = admin.get(f"{acme.path}/intents/{buyer.intent['id']}").json["answers"]
    assert shown == ANSWERS
    wrong(acme.preflight(ticket), *(f"answers.{name}" for name in ANSWERS))


def test_a_missing_answer_is_refused_before_anything_is_held(acme, ticket):
    question = ask(acme, ticket["event_id"], identifier="diet", required=True)
    for answers in ({}, {"diet": None}, {"diet": " \n"}, {question["id"]: ""}):
        wrong(acme.preflight(ticket, answers=answers), "answers.diet")
    assert acme.stock(ticket) == (0, 0)
    assert acme.preflight(ticket, answers={question["id"]: "Cake"}).status_code == 201


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", "x" * 201),
        ("text", 1),
        ("long-text", True),
        ("boolean", "true"),
        ("boolean", 1),
        ("choice", "Meat"),
        ("choice", ["Vegan"]),
        ("multiple-choice", "Vegan"),
        ("multiple-choice", ["Vegan", "Meat"]),
        ("number", "1"),
        ("number", True),
        ("number", 10**12 + 1),
        ("number", 0.1234567),
        ("date", "2001-02-29"),
        ("date", "20010228"),
        ("date", 2001),
    ],
)
def test_an_answer_must_fit_its_question(acme, ticket, name, value):
    of_every_type(acme, ticket["event_id"])
    wrong(acme.preflight(ticket, answers={**ANSWERS, name: value}), f"answers.{name}")


def test_only_what_is_asked_can_be_answered(acme, ticket):
    other = acme.ticket(**FREE)
    elsewhere = ask(acme, other["event_id"], identifier="elsewhere")
    ask(acme, ticket["event_id"], identifier="later", ask="attendee")
    mine = ask(acme, ticket["event_id"], identifier="mine")
    shirt = acme.ticket({"id": ticket["event_id"]}, **FREE)
    ask(acme, ticket["event_id"], identifier="size", ticket_ids=[shirt["id"]], required=True)
    for key in (elsewhere["id"], "elsewhere", "later", "size", "nothing"):
        answered = acme.preflight(ticket, answers={key: "x"})
        wrong(answered, f"answers.{'elsewhere' if key == 'x' else key}")
    wrong(acme.preflight(ticket, answers={"mine": "a", mine["id"]: "b"}), "answers.mine")
    wrong(acme.preflight(shirt), "answers.size")
    assert acme.preflight(shirt, answers={"size": "M"}).status_code == 201
    wrong(acme.preflight(acme.ticket(**FREE), answers={"mine": "x"}), "answers.mine")


def test_answers_have_sixteen_kibibytes_at_most(acme, ticket):
    names = [f"q{n}" for n in range(1, 6)]
    for name in names:
        ask(acme, ticket["event_id"], type="long_text", identifier=name)
    large = dict.fromkeys(names, "\U0001f600" * 1000)
    wrong(acme.preflight(ticket, answers=large), "answers")
    assert acme.preflight(ticket, answers=large | {"q1": None}).status_code == 201


def test_a_repeated_preflight_stores_no_answer_and_shows_none(acme, api, ticket):
    ask(acme, ticket["event_id"], identifier="diet")
    key = {"Idempotency-Key": "k" * 40}
    body = {"event_id": ticket["event_id"], "ticket_id": ticket["id"], "answers": {"diet": SECRET}}
    first, again = (api.post(f"{acme.checkout}/preflight", body, headers=key) for _ in range(2))
    assert (first.status_code, again.json) == (201, first.json)
    assert SECRET not in first.text
    assert where_stored(SECRET) == ["answers"]


def test_the_holder_answers_until_the_doors_open(acme, admin, ticket):
    question = ask(acme, ticket["event_id"], identifier="diet", ask="attendee", required=True)
    (held,) = bought(acme, ticket)
    asked = held.get().json
    assert [each["id"] for each in asked["questions"]] == [question["id"]]
    assert asked["answers"] == {}
    assert answer(held, diet="Cake").json["answers"] == {"diet": "Cake"}
    assert answer(held, diet="Bread").json == held.get().json
    assert of_admission(acme, held) == {"diet": "Bread"}
    wrong(answer(held, diet=None), "answers.diet")
    wrong(answer(held, other="x"), "answers.other")
    wrong(held.api.patch(held.path, {}), "holder")
    both = held.api.patch(held.path, {"holder": {"name": "Ada"}, "answers": {"diet": "x" * 201}})
    wrong(both, "answers.diet")
    assert held.get().json["holder"]["name"] is None
    here = f"{acme.path}/events/{ticket['event_id']}"
    assert admin.patch(here, {"doors_open_at": in_days(-1)}).status_code == 200
    refused(answer(held, diet="Cake"), 409, "answers_closed")
    path = f"{acme.path}/admissions/{held.id}"
    changed = admin.patch(path, {"answers": {"diet": "Soup"}})
    assert changed.json["answers"] == {"diet": "Soup"}


def test_a_ticket_that_is_void_or_used_has_no_new_answers(acme, admin, ticket):
    ask(acme, ticket["event_id"], identifier="diet", ask="attendee")
    gone, used = bought(acme, ticket, quantity=2)
    void(acme, gone.id)
    Admission.update(redeemed_at=Admission.created_at).where(Admission.id == used.id).execute()
    refused(answer(gone, diet="x"), 409, "admission_void")
    refused(answer(used, diet="x"), 409, "already_redeemed")
    path = f"{acme.path}/admissions/{gone.id}"
    refused(admin.patch(path, {"answers": {"diet": "x"}}), 409, "admission_void")


def test_a_transfer_clears_the_answers_and_a_reissue_keeps_them(acme, ticket):
    ask(acme, ticket["event_id"], identifier="diet", ask="attendee")
    kept, passed = bought(acme, ticket, quantity=2)
    answer(kept, diet="Cake")
    answer(passed, diet="Bread")
    new = passed.transferred()
    assert new.get().json["answers"] == {} == of_admission(acme, passed)
    assert reissue(acme, Admission.get_by_id(kept.id)).status_code == 200
    assert of_admission(acme, kept) == {"diet": "Cake"}
    refused(answer(passed, diet="x"), 404, "not_found")


def test_answers_are_erased_with_their_buyer_and_holder(acme, admin, ticket):
    ask(acme, ticket["event_id"], identifier="why")
    ask(acme, ticket["event_id"], identifier="diet", ask="attendee")
    buyer = given(acme, ticket, quantity=2, answers={"why": "a"})
    first, other = admissions_of(buyer)
    for each in (first, other):
        path = f"{acme.path}/admissions/{each.id}"
        assert admin.patch(path, {"answers": {"diet": "b"}}).status_code == 200
    admin.post(f"{acme.path}/admissions/{first.id}/erase")
    assert sorted(each.value for each in Answer.select()) == ["a", "b"]
    admin.post(f"{acme.path}/intents/{buyer.intent['id']}/erase")
    assert Answer.select().count() == 0


def test_answers_are_nowhere_but_in_their_table(acme, admin, ticket, caplog):
    ask(acme, ticket["event_id"], identifier="why")
    ask(acme, ticket["event_id"], identifier="diet", ask="attendee")
    (held,) = bought(acme, ticket, answers={"why": SECRET})
    answer(held, diet=SECRET)
    path = f"{acme.path}/admissions/{held.id}"
    admin.patch(path, {"answers": {"diet": SECRET}}, headers={"Idempotency-Key": "k" * 40})
    key = {"Idempotency-Key": "c" * 40}
    offered = held.offer()
    assert offered.status_code == 201
    canceled = held.api.post(f"{held.path}/transfer/cancel", headers=key)
    assert canceled.json["answers"] == {"diet": SECRET}
    assert where_stored(SECRET) == ["answers"] * 2
    (entry,) = admin.get(f"{acme.path}/audit-log?subject={held.id}").json["data"]
    assert entry["after"] == {"answered": ["diet"]}
    assert SECRET not in admin.get(f"{acme.path}/admissions").text
    assert SECRET not in caplog.text


def test_files_have_a_column_for_each_question_and_no_formula(acme, admin, ticket):
    event_id = ticket["event_id"]
    of_every_type(acme, event_id)
    for number in range(13):
        ask(acme, event_id, ask="attendee", identifier=f"more-{number}", type="long_text")
    (held,) = bought(acme, ticket, answers=ANSWERS)
    answer(held, **{"more-0": "=cmd", "more-12": "+1"})
    files = {}
    for name in ("orders", "attendees"):
        text = admin.get(f"{acme.path}/events/{event_id}/{name}.csv").text
        (files[name],) = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    assert (
        files["orders"]
        | {
            "answer_text": "'=cmd|'' /C calc'!A0".replace("''", "'"),
            "answer_boolean": "false",
            "answer_choice": "Vegan",
            "answer_multiple-choice": "Vegetarian; '=cmd",
            "answer_number": "-1.5",
            "answer_date": "2000-02-29",
        }
        == files["orders"]
    )
    shown = [files["attendees"][f"answer_more-{number}"] for number in (0, 1, 12)]
    assert shown == ["'=cmd", "", "'+1"]
    assert "answer_text" not in files["attendees"]


def test_two_answers_at_once_are_one_row(acme, ticket):
    ask(acme, ticket["event_id"], identifier="diet", ask="attendee")
    (held,) = bought(acme, ticket)
    found = at_once(*(lambda text=text: answer(held, diet=text) for text in ("Cake", "Bread")))
    assert [each.status_code for each in found] == [200, 200]
    (row,) = Answer.select()
    assert row.value in ("Cake", "Bread")
    assert held.get().json["answers"] == {"diet": row.value}


def test_a_question_that_becomes_required_after_the_sale_blocks_nothing(acme, admin, ticket):
    (held,) = bought(acme, ticket)
    ask(acme, ticket["event_id"], identifier="diet", ask="attendee", required=True)
    assert held.get().json["qr"] is not None
    assert held.offer().status_code == 201


def test_the_door_shows_what_it_may(acme, admin, ticket):
    event_id = ticket["event_id"]
    boolean = ask(acme, event_id, type="boolean", identifier="allergy", show_at_door=True)
    choice = ask(acme, event_id, type="choice", options=OPTIONS, ask="attendee", identifier="diet")
    kept, passed = bought(acme, ticket, quantity=2, answers={"allergy": True})
    answer(kept, diet="Vegan")
    path = f"/v1/door/tenants/{acme.slug}/events/{event_id}/manifest"
    manifest = admin.get(path).json
    assert [each["id"] for each in manifest["event"]["questions"]] == [boolean["id"]]
    shown = {each["id"]: each["answers"] for each in manifest["admissions"]}
    assert shown == {key: {boolean["id"]: "true"} for key in (kept.id, passed.id)}
    here = f"{acme.path}/events/{event_id}/questions/{choice['id']}"
    assert admin.patch(here, {"show_at_door": True}).status_code == 200
    passed.transferred()
    since = admin.get(f"{path}?since={manifest['cursor']}").json
    shown = {each["id"]: each["answers"] for each in since["admissions"]}
    vegan = choice["options"][1]["id"]
    assert shown == {kept.id: {boolean["id"]: "true", choice["id"]: vegan}, passed.id: {}}
    answer(kept, diet="Vegetarian")
    (changed,) = admin.get(f"{path}?since={since['cursor']}").json["admissions"]
    assert changed["answers"][choice["id"]] == choice["options"][0]["id"]


def test_names_that_are_long_or_odd_are_named_shortly(acme, ticket):
    ask(acme, ticket["event_id"])
    for key in ("x" * 81, "\ud800", "a\0b", ""):
        found = acme.preflight(ticket, answers={key: "x"})
        refused(found, 422, "invalid_request")
        assert len(json.dumps(found.json)) < 1000
