"""Questions that change while they are answered: each waits for the other one, in one order."""

import time

import pytest

from tests.support.admissions import FREE, admissions_of, given
from tests.support.questions import ask
from tests.support.races import at_once
from ticketing.models.questions import Question
from ticketing.services.orders import questions

pytestmark = pytest.mark.long

PAUSE_SECONDS = 0.5
"""Between the lock of a question and what follows. Meanwhile the others come."""


@pytest.fixture
def event(acme):
    return acme.event()


@pytest.fixture
def slow_changes(monkeypatch):
    """Each change of a question takes a while after its first locks."""
    check = questions._check

    def check_slowly(*arguments):
        time.sleep(PAUSE_SECONDS)
        check(*arguments)

    monkeypatch.setattr(questions, "_check", check_slowly)


def later(call):
    """Run a call when the others have their first locks."""
    time.sleep(PAUSE_SECONDS / 2)
    return call()


def test_a_question_moves_while_an_order_answers_others(acme, event, slow_changes):
    ticket = acme.ticket(event, capacity=None)
    asked = [ask(acme, event["id"]) for _ in range(3)]
    admin, last = acme.api(), f"{acme.path}/events/{event['id']}/questions/{asked[-1]['id']}"
    moved, ordered = at_once(
        lambda: admin.patch(last, {"position": 1}),
        lambda: later(lambda: acme.preflight(ticket, answers={asked[0]["identifier"]: "x"})),
    )
    assert (moved.status_code, ordered.status_code) == (200, 201)
    in_order = [each.id for each in Question.select().order_by(Question.position)]
    assert in_order == [asked[place]["id"] for place in (2, 0, 1)]


def test_an_answer_changes_while_the_door_stops_to_show_its_question(acme, event, slow_changes):
    ticket = acme.ticket(event, **FREE)
    asked = ask(acme, event["id"], ask="attendee", type="boolean", show_at_door=True)
    (admission,) = admissions_of(given(acme, ticket))
    admin, answers = acme.api(), {"answers": {asked["identifier"]: True}}
    holder = acme.with_headers({"Authorization": f"Bearer {admission.code}"})
    here = f"{acme.checkout}/admissions/{admission.id}"
    assert holder.patch(here, answers).status_code == 200
    question = f"{acme.path}/events/{event['id']}/questions/{asked['id']}"
    changed, answered = at_once(
        lambda: admin.patch(question, {"show_at_door": False}),
        lambda: later(lambda: holder.patch(here, answers)),
    )
    assert (changed.status_code, answered.status_code) == (200, 200)
