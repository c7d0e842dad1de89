"""The answers of buyers and holders. They are personal data: no log and no notification has them.

An order's answers are checked before anything is held, and written in the order's transaction. The
answers of a ticket belong to its holder: a transfer clears them, a reissue keeps them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import EXCLUDED, JOIN, ModelSelect

from ticketing import clock, ids
from ticketing.constants import MAX_ANSWER_BYTES, SOLD, AdmissionStatus, Ask, QuestionType
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import (
    AdmissionVoid,
    AlreadyRedeemed,
    AnswersClosed,
    Conflict,
    FieldMessage,
    Invalid,
    NotFound,
)
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared, new_row, prepared_insert
from ticketing.models.questions import Answer, Question
from ticketing.services.orders import admissions, answer_values, holders, questions
from ticketing.services.orders.holders import Holder

Given = Mapping[str, object]
"""Answers as they were sent, by the id or the identifier of their question."""

_FIELD = "answers"
_NAME_SHOWN = 80


@dataclass(frozen=True)
class OrderAnswers:
    """The answers of an order that are checked, and the ticket types that it has."""

    event_id: str
    ticket_ids: Sequence[str]
    given: Given


@dataclass(frozen=True)
class Count:
    """How often an option was chosen. `option_id` None: it is an answer to a yes-or-no question."""

    option_id: str | None
    value: Any
    count: int


@dataclass(frozen=True)
class Counts:
    """How a question was answered: by orders that are sold, or by tickets that are not void."""

    question_id: str
    answered: int
    counts: Sequence[Count]


@Prepared
def _of_admission(admission_id: Any) -> ModelSelect[Answer]:
    return Answer.select().where(Answer.admission == admission_id)


@Prepared
def _of_intent(intent_id: Any) -> ModelSelect[Answer]:
    return Answer.select().where(Answer.intent == intent_id)


_insert = prepared_insert(Answer)


def check(event: Event, ticket_ids: Sequence[str], given: Given) -> OrderAnswers:
    """Check the answers of an order before anything is held. Invalid, at `answers.<identifier>`.

    `ticket_ids` are the ticket types that the order has.
    """
    found = questions.asked(event.id, Ask.ORDER)
    _texts(found, ticket_ids, given, is_complete=True)
    return OrderAnswers(event.id, ticket_ids, given)


def write(intent: PaymentIntent, checked: OrderAnswers) -> None:
    """Write the answers of a new order. Call it in the order's transaction. Invalid.

    The questions may have changed since the check, so they are checked again, and kept.
    """
    found = questions.asked(checked.event_id, Ask.ORDER, keep=True)
    texts = _texts(found, checked.ticket_ids, checked.given, is_complete=True)
    rows = _rows(texts, intent=intent.id)
    if rows:
        _insert(*(new_row(Answer, each) for each in rows))


def change(admission: Admission, given: Given) -> None:
    """Change some answers of a locked admission. An empty one is removed. Invalid.

    A required one cannot be removed. Call it in a write transaction.
    """
    found = questions.asked(admission.event_id, Ask.ATTENDEE, keep=True)
    texts = _texts(found, [admission.ticket_type_id], given, is_complete=False)
    removed = [key for key, text in texts.items() if text is None]
    if removed:
        of_admission = Answer.admission == admission.id
        Answer.delete().where(of_admission, Answer.question.in_(removed)).execute()
    _replace(texts, admission.id)
    _check_bytes(each.value for each in _given_by(admission))
    if any(each.show_at_door for each in found if each.id in texts):
        Admission.update(change_number=None).where(Admission.id == admission.id).execute()


def change_by_holder(
    tenant_reference: str, admission_id: str, code: str | None, given: Given
) -> Admission:
    """Change some answers as the holder, until the doors open.

    `code` as in holders.get. NotFound, AdmissionVoid, AlreadyRedeemed, AnswersClosed, Invalid.
    """
    with write_transaction():
        admission = holders.lock(tenant_reference, admission_id, code)
        conflict = obstacle(admission)
        if conflict is not None:
            raise conflict
        change(admission, given)
        return admission


def change_held(
    tenant_reference: str,
    admission_id: str,
    code: str | None,
    *,
    holder: Holder | None = None,
    answers: Given | None = None,
) -> Admission:
    """Name the holder (holders.name), change answers (change_by_holder), or both."""
    if answers is None:
        return holders.name(tenant_reference, admission_id, code, holder or {})
    with write_transaction():
        found = change_by_holder(tenant_reference, admission_id, code, answers)
        if holder is not None:
            found = holders.name(tenant_reference, admission_id, code, holder)
        return found


def change_by_organizer(tenant_id: str, admission_id: str, given: Given) -> Admission:
    """Change some answers of an admission that is not void. NotFound, AdmissionVoid, Invalid."""
    query = Admission.select().where(Admission.tenant == tenant_id, Admission.id == admission_id)
    with write_transaction():
        admission: Admission | None = locked(query).first()
        if admission is None:
            raise NotFound("This admission does not exist.")
        if admission.status == AdmissionStatus.VOID:
            raise AdmissionVoid
        change(admission, given)
    return _for_organizer(admission)


def obstacle(admission: Admission) -> Conflict | None:
    """Return why the holder cannot change answers now. None if that is possible."""
    if admission.status == AdmissionStatus.VOID:
        return AdmissionVoid()
    if admission.redeemed_at is not None:
        return AlreadyRedeemed()
    return AnswersClosed() if clock.now() >= admission.event.doors_open else None


def read(tenant_id: str, admission_id: str) -> Admission:
    """Return one admission of a tenant with its answers, for its organizer. NotFound."""
    return _for_organizer(admissions.get(tenant_id, admission_id))


def add_to(admission: Admission) -> Admission:
    """Set what an admission, read with its event, is asked, and its answers by identifier."""
    admission.questions, admission.answers = [], {}
    if admission.event.attendee_questions:
        found = questions.asked(admission.event_id, Ask.ATTENDEE)
        admission.questions = [each for each in found if each.is_for([admission.ticket_type_id])]
        given = _given_by(admission)
        admission.answers = _shown(admission.questions, given)
    return admission


def missing(admission: Admission) -> bool:
    """Return whether a required answer is missing of an admission with its answers."""
    return any(
        each.required and each.identifier not in admission.answers for each in admission.questions
    )


def add_to_order(intent: PaymentIntent) -> None:
    """Set the questions that an order has answered, archived ones included, and its answers."""
    given: list[Answer] = _of_intent.rows(intent_id=intent.id)
    answered = {each.question_id for each in given}
    found = questions.of_event(intent.event_id, Ask.ORDER) if given else []
    intent.questions = [each for each in found if each.id in answered]
    intent.answers = _shown(found, given)


def _given_by(admission: Admission) -> list[Answer]:
    found: list[Answer] = _of_admission.rows(admission_id=admission.id)
    return found


def _for_organizer(admission: Admission) -> Admission:
    """Set the questions for an admission, also archived ones with an answer, and its answers."""
    given = _given_by(admission)
    answered = {each.question_id for each in given}
    admission.questions = [
        each
        for each in questions.of_event(admission.event_id, Ask.ATTENDEE)
        if each.id in answered or (not each.archived and each.is_for([admission.ticket_type_id]))
    ]
    admission.answers = _shown(admission.questions, given)
    return admission


def again(intent: PaymentIntent) -> dict[str, Any]:
    """Return the answers of an order, read with its event, for another order of the same."""
    if not intent.event.order_questions:
        return {}
    found = questions.asked(intent.event_id, Ask.ORDER)
    given: list[Answer] = _of_intent.rows(intent_id=intent.id)
    types = [item.ticket_type_id for item in intent.items]
    return _shown([each for each in found if each.is_for(types)], given)


def incomplete(event: Event, found: Sequence[Admission]) -> set[str]:
    """Return the ids of those of an event's admissions that lack a required answer."""
    if not event.attendee_questions or not found:
        return set()
    required = [each for each in questions.asked(event.id, Ask.ATTENDEE) if each.required]
    if not required:
        return set()
    query = Answer.select(Answer.admission, Answer.question).where(
        Answer.admission.in_([each.id for each in found]),
        Answer.question.in_([each.id for each in required]),
    )
    has = set(query.tuples())
    return {
        each.id
        for each in found
        for question in required
        if question.is_for([each.ticket_type_id]) and (each.id, question.id) not in has
    }


def clear(admission_id: str) -> None:
    """Remove all answers of an admission that gets a new holder."""
    Answer.delete().where(Answer.admission == admission_id).execute()


def count(tenant_id: str, event_id: str, question_id: str) -> Counts:
    """Count the answers to a question. Options that nobody chose count 0. NotFound."""
    question = questions.get(tenant_id, event_id, question_id)
    texts = [each.value for each in _countable(question)]
    chosen = Counter(each for text in texts for each in answer_values.chosen(question, text))
    counts = [Count(each.id, each.label, chosen[each.id]) for each in question.options]
    if question.type == QuestionType.BOOLEAN:
        counts = [Count(None, value, chosen[str(value).lower()]) for value in (True, False)]
    return Counts(question.id, len(texts), counts)


def at_door(event_id: str, found: Sequence[Question]) -> dict[str, dict[str, str]]:
    """Return stored answers to these questions by admission and question, for the manifest.

    The answers of an order count for its tickets that were not transferred.
    """
    question_ids = [each.id for each in found]
    columns = (Admission.id, Answer.question, Answer.value)
    own = Answer.select(*columns).join(Admission, on=(Answer.admission == Admission.id))
    of_orders = Answer.select(*columns).join(Admission, on=(Answer.intent == Admission.intent))
    of_orders = of_orders.where(Admission.transferred_at.is_null())
    shown: dict[str, dict[str, str]] = {}
    for query in (own, of_orders):
        rows: Any = query.where(Answer.question.in_(question_ids), Admission.event == event_id)
        for admission_id, question_id, text in rows.tuples():
            shown.setdefault(admission_id, {})[question_id] = text
    return shown


def _countable(question: Question) -> ModelSelect[Answer]:
    query = Answer.select(Answer.value).where(Answer.question == question.id)
    if question.ask == Ask.ORDER:
        of_order = query.join(PaymentIntent, JOIN.INNER, on=(Answer.intent == PaymentIntent.id))
        return of_order.where(PaymentIntent.status.in_(list(SOLD)))
    of_ticket = query.join(Admission, JOIN.INNER, on=(Answer.admission == Admission.id))
    return of_ticket.where(Admission.status != AdmissionStatus.VOID)


def _texts(
    found: Sequence[Question], ticket_ids: Sequence[str], given: Given, *, is_complete: bool
) -> dict[str, str | None]:
    """Return what was answered, as it is stored, by question. None: an empty answer. Invalid.

    `is_complete`: a required question that is not named is an error too.
    """
    errors: dict[str, list[str]] = {}
    texts: dict[str, str | None] = {}
    known = {key: each for each in found for key in (each.id, each.identifier)}
    for key, value in given.items():
        question = known.get(key)
        name = f"{_FIELD}.{question.identifier if question else key[:_NAME_SHOWN]}"
        if question is None or not question.is_for(ticket_ids):
            errors[name] = [FieldMessage("not_asked", "This question is not asked here.")]
        elif question.id in texts:
            errors[name] = [FieldMessage("twice", "This question is answered twice.")]
        else:
            try:
                texts[question.id] = answer_values.to_text(question, value)
            except answer_values.Wrong as wrong:
                texts[question.id] = ""
                errors[name] = [wrong.message]
    for each in found:
        is_due = each.id in texts or (is_complete and each.is_for(ticket_ids))
        if each.required and is_due and texts.get(each.id) is None:
            name = f"{_FIELD}.{each.identifier}"
            errors[name] = [FieldMessage("required", "Missing data for required field.")]
    if errors:
        raise Invalid(errors)
    _check_bytes(text for text in texts.values() if text is not None)
    return texts


def _check_bytes(texts: Iterable[str]) -> None:
    if sum(len(text.encode()) for text in texts) > MAX_ANSWER_BYTES:
        message = f"All answers together must have at most {MAX_ANSWER_BYTES} bytes."
        raise Invalid({_FIELD: [FieldMessage("answers_size", message)]})


def _rows(texts: Mapping[str, str | None], **owner: str) -> list[dict[str, Any]]:
    """Return the rows of answers of an order or an admission."""
    now = clock.now()
    return [
        {
            "id": ids.new(ids.ANSWER),
            "question": question_id,
            "value": text,
            "answered_at": now,
            **owner,
        }
        for question_id, text in texts.items()
        if text is not None
    ]


def _replace(texts: Mapping[str, str | None], admission_id: str) -> None:
    """Write answers of an admission. One that exists is replaced."""
    rows = _rows(texts, admission=admission_id)
    if rows:
        Answer.insert_many(rows).on_conflict(
            conflict_target=[Answer.admission, Answer.question],
            conflict_where=Answer.admission.is_null(False),
            update={Answer.value: EXCLUDED.value, Answer.answered_at: EXCLUDED.answered_at},
        ).execute()


def _shown(found: Sequence[Question], given: Iterable[Answer]) -> dict[str, Any]:
    by_question = {each.question_id: each.value for each in given}
    return {
        each.identifier: answer_values.to_json(each, by_question[each.id])
        for each in found
        if each.id in by_question
    }
