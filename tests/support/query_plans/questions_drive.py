"""What is asked and answered, while the plans of all queries are recorded."""

from typing import Any

from peewee import Model

from tests.support.admissions import admissions_of, void
from tests.support.factories import Api
from tests.support.mails import PUBLIC_URL
from tests.support.order_pages import SAME_ORIGIN, key_in
from tests.support.query_plans.admissions_drive import post_twice
from tests.support.query_plans.catalog_drive import MemberBrowser
from tests.support.questions import ask
from ticketing import clock, ids
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.questions import Answer, Question, QuestionOption

_ASKED = ("order", "attendee", "attendee")
_ANSWERED = 3000


def fill_questions(crowded: Event) -> None:
    """Ask in each event, and let many orders and tickets answer. One event asks most."""
    now = clock.now()
    questions, options = [], []
    for event in Event.select().order_by(Event.id):
        for place, asked in enumerate(_ASKED * (4 if event.id == crowded.id else 1)):
            question_id = ids.new(ids.QUESTION)
            questions.append(
                {
                    "id": question_id,
                    "tenant": event.tenant_id,
                    "event": event.id,
                    "identifier": f"q-{place}",
                    "question": "What?",
                    "type": "choice",
                    "required": True,
                    "ask": asked,
                    "position": place,
                    "show_at_door": False,
                    "created_at": now,
                    "updated_at": now,
                }
            )
            options.append(
                {
                    "id": ids.new(ids.QUESTION_OPTION),
                    "question": question_id,
                    "position": 0,
                    "label": "A",
                }
            )
    _insert(Question, questions)
    _insert(QuestionOption, options)
    first = {each["event"]: each["id"] for each in reversed(questions)}
    answers = []
    for model, name in ((PaymentIntent, "intent"), (Admission, "admission")):
        for row in model.select(model.id, model.event).limit(_ANSWERED):
            answer = {"id": ids.new(ids.ANSWER), "question": first[row.event_id], "value": "A"}
            owner = {"intent": None, "admission": None, name: row.id}
            answers.append({**answer, **owner, "answered_at": now})
    _insert(Answer, answers)


def _insert(model: type[Model], rows: list[dict[str, Any]]) -> None:
    for place in range(0, len(rows), 500):
        model.insert_many(rows[place : place + 500]).execute()


class QuestionsDrive:
    """The part of the drive that asks and answers."""

    app: Any
    acme: Any

    def ask_and_answer(self) -> None:
        """Ask by the API and in the console, answer as buyer, holder and organizer, and erase."""
        me, anybody = self.acme.api(), Api(self.app.test_client())
        ticket = self.acme.ticket(price_amount=0, chain_id=None)
        here = f"{self.acme.path}/events/{ticket['event_id']}"
        diet = ask(self.acme, ticket["event_id"], identifier="diet", required=True)
        size = ask(self.acme, ticket["event_id"], identifier="size", ask="attendee")
        post_twice(me, f"{here}/questions", {"question": "Else?", "type": "text", "ask": "order"})
        path = f"{here}/questions/{diet['id']}"
        assert me.get(path).status_code == me.get(f"{here}/questions").status_code == 200
        assert me.patch(path, {"question": "Diet?", "position": 3}).status_code == 200
        query = {"question_id": diet["id"]}
        assert me.get(f"{here}/answers", query_string=query).status_code == 200
        assert anybody.get(f"{self.acme.public}/events/{ticket['event_id']}").status_code == 200
        buyer = self.acme.buyer(ticket, answers={"diet": "none"}, buyer={"name": "Ada"})
        assert buyer.purchase().status_code == 200
        (seat,) = admissions_of(buyer)
        self._answer(me, anybody, seat)
        self._in_the_console(ticket["event_id"], seat.id, size["id"])
        assert void(self.acme, seat).status_code == 200
        erased = f"{self.acme.path}/intents/{buyer.intent['id']}/erase"
        post_twice(me, erased, None)
        post_twice(me, f"{path}/archive", None)

    def _answer(self, me: Any, anybody: Api, seat: Admission) -> None:
        holder = anybody.client.patch(
            f"{self.acme.checkout}/admissions/{seat.id}",
            json={"answers": {"size": "M"}},
            headers={"Authorization": f"Bearer {seat.code}"},
        )
        assert holder.status_code == 200, holder.text
        own = f"{self.acme.path}/admissions/{seat.id}"
        assert me.get(own).status_code == 200
        assert me.patch(own, {"answers": {"size": "L"}}).status_code == 200
        page = anybody.client.get(f"/t/{seat.code}", base_url=PUBLIC_URL)
        form = {"idempotency_key": key_in(page.text), "answers.size": "S"}
        sent = anybody.client.post(
            f"/t/{seat.code}/answers", data=form, headers=SAME_ORIGIN, base_url=PUBLIC_URL
        )
        assert sent.status_code == 303, sent.text

    def _in_the_console(self, event_id: str, admission_id: str, question_id: str) -> None:
        member = MemberBrowser(self.app, self.acme.slug, "asks@example.org")
        here = f"/console/events/{event_id}/questions"
        for path in (here, f"{here}/new", f"{here}/{question_id}", f"{here}/{question_id}/edit"):
            member.open(path)
        form = {"question": "More?", "type": "text", "ask": "order", "identifier": "more"}
        member.press(f"{here}/new", form)
        for act in ("up", "down"):
            member.press(f"{here}/{question_id}/{act}", {})
        changed = {**form, "question": "Size?", "ask": "attendee", "identifier": "size"}
        member.press(f"{here}/{question_id}/edit", changed)
        member.press(f"/console/attendees/{admission_id}/answers", {"answers.size": "XL"})
        member.press(f"{here}/{question_id}/archive", {})
