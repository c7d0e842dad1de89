"""The questions of an event: list, create, change, archive; and those that are asked.

Each change locks the event, so the counts in the event's row are right, and then all questions of
the event by id. An answer keeps them as they are until its transaction ends (`asked` with `keep`).
A holder's answer locks the admission before the questions, so a change that shows admissions again
at the door does that too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from peewee import Expression, ModelSelect

from ticketing import clock, ids
from ticketing.constants import (
    MAX_ARCHIVED_QUESTIONS,
    MAX_QUESTIONS,
    Ask,
    Publication,
    QuestionType,
)
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import (
    FieldMessage,
    Invalid,
    NotFound,
    QuestionAnswered,
    TooManyQuestions,
)
from ticketing.models.admissions import Admission
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.models.questions import Answer, Question, QuestionOption
from ticketing.models.ticket_types import TicketType
from ticketing.services import catalog_version
from ticketing.services.orders import vouchers
from ticketing.services.pagination import Page, PageRequest, paginate

Options = Sequence[Mapping[str, str]]
"""Each has a `label`, and the `id` of the option that it renames, if it is not new."""

_CHOICES = (QuestionType.CHOICE, QuestionType.MULTIPLE_CHOICE)
_AT_DOOR = (QuestionType.CHOICE, QuestionType.BOOLEAN)


def _asked(event_id: Any, ask: Any) -> ModelSelect[Question]:
    return (
        Question.select()
        .where(Question.event == event_id, Question.ask == ask, Question.archived_at.is_null())
        .order_by(Question.position, Question.id)
    )


def _kept(event_id: Any, ask: Any) -> ModelSelect[Question]:
    # A move changes several questions, so all are locked in one order that no move changes.
    return locked(_asked(event_id, ask).order_by(Question.id), shared=True)


_asked_now: Prepared[Question] = Prepared(_asked)
_asked_and_kept: Prepared[Question] = Prepared(_kept)


@Prepared
def _options(question_ids: Any) -> ModelSelect[QuestionOption]:
    of_them = QuestionOption.question.in_(question_ids)
    return QuestionOption.select().where(of_them).order_by(QuestionOption.position)


@Prepared
def _of_event(event_id: Any) -> ModelSelect[Question]:
    return (
        Question.select().where(Question.event == event_id).order_by(Question.position, Question.id)
    )


def list_page(tenant_id: str, event_id: str, page: PageRequest) -> Page[Question]:
    """Return a page of an event's questions in their order, archived ones included. NotFound."""
    _event(tenant_id, event_id, lock=False)
    query = Question.select().where(Question.event == event_id)
    found = paginate(query, [Question.position, Question.id], page, scope=f"questions {event_id}")
    _add_options(found.data)
    return found


def of_event(event_id: str, ask: Ask | None = None) -> Sequence[Question]:
    """Return all questions of an event with their options, archived ones included."""
    return _add_options([each for each in _all(event_id) if ask in (None, each.ask)])


def asked(event_id: str, ask: Ask, *, keep: bool = False) -> Sequence[Question]:
    """Return the questions that are asked now, in their order, with their options.

    `keep`: nobody can change them until the write transaction ends.
    """
    if keep:
        rows = _asked_and_kept.rows(event_id=event_id, ask=ask)
        found: Sequence[Question] = sorted(rows, key=lambda each: (each.position, each.id))
    else:
        found = _asked_now.rows(event_id=event_id, ask=ask)
    return _add_options(found)


def at_door(event: Event) -> Sequence[Question]:
    """Return the questions whose answers the door shows. No statement for an event without any."""
    if not (event.order_questions or event.attendee_questions):
        return []
    found = [each for each in _all(event.id) if each.show_at_door and not each.archived]
    return _add_options(found)


def for_public(event: Event) -> Sequence[Question]:
    """Return the questions of an event that the public sees.

    Ids of hidden ticket types are left out. A question for hidden ones only is not shown.
    """
    if not (event.order_questions or event.attendee_questions):
        return []
    found = [*asked(event.id, Ask.ORDER), *asked(event.id, Ask.ATTENDEE)]
    if all(each.ticket_ids is None for each in found):
        return found
    visible = _visible_ticket_ids(event.id)
    shown = [each for each in found if each.is_for(visible)]
    for each in shown:
        if each.ticket_ids is not None:
            each.ticket_ids = " ".join(i for i in each.ticket_ids.split() if i in visible)
    return shown


def get(tenant_id: str, event_id: str, question_id: str) -> Question:
    """Return one question with its options. NotFound."""
    found = Question.get_or_none(
        Question.id == question_id, Question.event == event_id, Question.tenant == tenant_id
    )
    return _one(found)


def create(tenant_id: str, event_id: str, fields: Mapping[str, Any]) -> Question:
    """Create a question, by default as the last one.

    `fields` are those of the request. The default identifier is q1, q2 and so on. NotFound,
    TooManyQuestions; Invalid if two fields contradict each other, or a ticket type is unknown.
    """
    now = clock.now()
    columns = dict(fields)
    options = columns.pop("options", None) or []
    place = columns.pop("position", None)
    with write_transaction():
        event = _event(tenant_id, event_id, lock=True)
        others = _lock_all(event_id)
        live = [each for each in others if not each.archived]
        if len(live) >= MAX_QUESTIONS or len(others) >= MAX_QUESTIONS + MAX_ARCHIVED_QUESTIONS:
            raise TooManyQuestions
        if columns.get("identifier") is None:
            columns["identifier"] = _free_identifier(others)
        question = Question(
            id=ids.new(ids.QUESTION),
            tenant=tenant_id,
            event=event_id,
            position=len(live) + 1,
            created_at=now,
            updated_at=now,
            **_columns(columns),
        )
        question.options = []
        _check(question, options, others)
        question.save(force_insert=True)
        _write_options(question, options)
        if place is not None:
            _move(question, live, place)
        _count(event)
    return question


def change(tenant_id: str, event_id: str, question_id: str, fields: Mapping[str, Any]) -> Question:
    """Change the given fields. `position`: the place that it gets, from 1; the others move.

    `options` are all options: those that are left out are removed. NotFound; QuestionAnswered if
    that would spoil answers; Invalid as in `create`.
    """
    columns = dict(fields)
    options = columns.pop("options", None)
    place = columns.pop("position", None)
    with write_transaction():
        event = _event(tenant_id, event_id, lock=True)
        if "show_at_door" in fields:
            _lock_answered(event_id, question_id)
        question = _lock(tenant_id, event_id, question_id)
        was_at_door = question.show_at_door
        is_other = any(columns.get(name, was) != was for name, was in _fixed(question).items())
        if is_other and _is_answered(question):
            raise QuestionAnswered
        for name, value in _columns(columns).items():
            setattr(question, name, value)
        if options is None:
            stay = question.type in _CHOICES
            options = [_given(each) for each in question.options] if stay else []
        others = [each for each in _all(event_id) if each.id != question.id]
        _check(question, options, others)
        question.updated_at = clock.now()
        question.save(only=question.dirty_fields)
        _write_options(question, options)
        if place is not None and not question.archived:
            _move(question, [each for each in others if not each.archived], place)
        if question.show_at_door != was_at_door:
            _show_again_at_door(question)
        _count(event)
    return question


def archive(tenant_id: str, event_id: str, question_id: str) -> Question:
    """Ask a question no more. Its answers stay. A repeat changes nothing. NotFound."""
    with write_transaction():
        event = _event(tenant_id, event_id, lock=True)
        _lock_answered(event_id, question_id, if_shown=True)
        question = _lock(tenant_id, event_id, question_id)
        if not question.archived:
            question.archived_at = question.updated_at = clock.now()
            question.save(only=question.dirty_fields)
            if question.show_at_door:
                _show_again_at_door(question)
            _count(event)
    return question


def _all(event_id: str) -> list[Question]:
    found: list[Question] = _of_event.rows(event_id=event_id)
    return found


def _visible_ticket_ids(event_id: str) -> list[str]:
    """Return the ids of an event's published ticket types that everybody sees."""
    found = TicketType.select(TicketType.id).where(
        TicketType.event == event_id,
        TicketType.status == Publication.PUBLISHED,
        vouchers.shown(None),
    )
    return [each.id for each in found]


def _event(tenant_id: str, event_id: str, *, lock: bool) -> Event:
    query = Event.select().where(Event.tenant == tenant_id, Event.id == event_id)
    event: Event | None = (locked(query) if lock else query).first()
    if event is None:
        raise NotFound("This event does not exist.")
    return event


def _lock(tenant_id: str, event_id: str, question_id: str) -> Question:
    """Lock all questions of an event, and return one of them. NotFound."""
    of_event = (each for each in _lock_all(event_id) if each.tenant_id == tenant_id)
    return _one(next((each for each in of_event if each.id == question_id), None))


def _lock_all(event_id: str) -> list[Question]:
    """Lock all questions of an event, and return them in their order."""
    rows = locked(Question.select().where(Question.event == event_id).order_by(Question.id))
    return sorted(rows, key=lambda each: (each.position, each.id))


def _lock_answered(event_id: str, question_id: str, *, if_shown: bool = False) -> None:
    """Lock the admissions that `_show_again_at_door` changes. `if_shown`: if the door shows it."""
    is_it = (Question.id == question_id) & (Question.event == event_id)
    question = Question.get_or_none(is_it)
    if question is not None and (question.show_at_door or not if_shown):
        answered = Admission.select(Admission.id).where(_has_answer(question))
        list(locked(answered.order_by(Admission.id)))


def _one(question: Question | None) -> Question:
    if question is None:
        raise NotFound("This question does not exist.")
    _add_options([question])
    return question


def _add_options(found: Sequence[Question]) -> Sequence[Question]:
    """Set the options of questions, with at most one statement."""
    by_question: dict[str, list[QuestionOption]] = defaultdict(list)
    having = tuple(each.id for each in found if each.type in _CHOICES)
    if having:
        options: list[QuestionOption] = _options.rows(question_ids=having)
        for option in options:
            by_question[option.question_id].append(option)
    for each in found:
        each.options = by_question[each.id]
    return found


def _columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of the fields of a request."""
    if fields.get("ticket_ids") is None:
        return dict(fields)
    return {**fields, "ticket_ids": " ".join(dict.fromkeys(fields["ticket_ids"]))}


def _fixed(question: Question) -> dict[str, Any]:
    """Return what cannot change once somebody has answered."""
    return {"type": question.type, "ask": question.ask}


def _free_identifier(others: Sequence[Question]) -> str:
    used = {each.identifier for each in others}
    return next(name for n in range(1, len(used) + 2) if (name := f"q{n}") not in used)


def _check(question: Question, options: Options, others: Sequence[Question]) -> None:
    """Check fields that depend on each other, and on the event. Invalid."""
    errors: dict[str, list[str]] = {}
    if any(each.identifier == question.identifier for each in others):
        text = "Another question of the event has this identifier."
        errors["identifier"] = [FieldMessage("identifier_taken", text)]
    if (question.type in _CHOICES) != bool(options):
        text = "A choice needs options. Other types have none."
        errors["options"] = [FieldMessage("options", text)]
    labels = [each["label"] for each in options]
    known = {each.id for each in question.options}
    given = [each["id"] for each in options if each.get("id")]
    if len(set(labels)) != len(labels):
        errors["options"] = [FieldMessage("same_options", "Two options have the same label.")]
    elif not known.issuperset(given) or len(set(given)) != len(given):
        errors["options"] = [FieldMessage("option_unknown", "The question has no such option.")]
    if question.show_at_door and question.type not in _AT_DOOR:
        text = "Only a boolean or a choice can be shown at the door."
        errors["show_at_door"] = [FieldMessage("at_door", text)]
    wanted = question.ticket_id_list
    if wanted is not None:
        of_event = (TicketType.event == question.event_id) & TicketType.id.in_(wanted)
        if TicketType.select().where(of_event).count() != len(wanted):
            text = "The event has no such ticket type."
            errors["ticket_ids"] = [FieldMessage("ticket_ids", text)]
    if errors:
        raise Invalid(errors)


def _given(option: QuestionOption) -> dict[str, str]:
    return {"id": option.id, "label": option.label}


def _write_options(question: Question, options: Options) -> None:
    """Write all options of a question. QuestionAnswered if one was chosen that is left out."""
    known = {each.id: each for each in question.options}
    kept = {each["id"] for each in options if each.get("id")}
    for option_id in known.keys() - kept:
        of_question = Answer.question == question.id
        if Answer.select().where(of_question, Answer.value.contains(option_id)).exists():
            raise QuestionAnswered
        QuestionOption.delete().where(QuestionOption.id == option_id).execute()
    written = []
    for place, each in enumerate(options):
        option = known.get(each.get("id", ""))
        if option is None:
            option = QuestionOption.create(
                id=ids.new(ids.QUESTION_OPTION),
                question=question.id,
                position=place,
                label=each["label"],
            )
        elif (option.position, option.label) != (place, each["label"]):
            option.position, option.label = place, each["label"]
            option.save(only=option.dirty_fields)
        written.append(option)
    question.options = written


def _is_answered(question: Question) -> bool:
    return bool(Answer.select().where(Answer.question == question.id).exists())


def _move(question: Question, others: Sequence[Question], place: int) -> None:
    """Put a question at a place, from 1, among the others of its event."""
    order = list(others)
    order.insert(max(0, place - 1), question)
    for position, each in enumerate(order, start=1):
        if each.position != position:
            Question.update(position=position).where(Question.id == each.id).execute()
            each.position = position


def _count(event: Event) -> None:
    """Count what is asked now, and let cached pages of the event end."""
    live = [each.ask for each in _all(event.id) if not each.archived]
    Event.update(
        order_questions=live.count(Ask.ORDER), attendee_questions=live.count(Ask.ATTENDEE)
    ).where(Event.id == event.id).execute()
    catalog_version.advance(event.tenant_id)


def _show_again_at_door(question: Question) -> None:
    """Let devices at the door read the tickets with an answer to a question again."""
    Admission.update(change_number=None).where(_has_answer(question)).execute()


def _has_answer(question: Question) -> Expression:
    """Return the condition that an admission, or its order, has an answer to a question."""
    to_it = Answer.question == question.id
    if question.ask == Ask.ATTENDEE:
        return Admission.id.in_(
            Answer.select(Answer.admission).where(to_it, Answer.admission.is_null(False))
        )
    return Admission.intent.in_(
        Answer.select(Answer.intent).where(to_it, Answer.intent.is_null(False))
    )
