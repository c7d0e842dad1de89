"""The console's pages of the questions of an event: list, form, order, counted answers."""

from collections.abc import Callable
from functools import partial
from typing import Any

from flask import redirect
from marshmallow import ValidationError
from werkzeug import Response

from schemas.base import BaseSchema
from schemas.questions import QuestionChangeSchema, QuestionCreateSchema, QuestionSchema
from ticketing.constants import MAX_QUESTIONS, Ask, QuestionType
from ticketing.errors import Invalid
from ticketing.models.events import Event
from ticketing.models.questions import Question
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.words import ASKS, QUESTION_TYPES
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.catalog import events, ticket_types
from ticketing.services.orders import answers, questions
from ticketing.web.audited import recorded
from ticketing.web.context import caller
from ticketing.web.event_scope import ONE_EVENT
from ticketing.web.idempotency import once

SECTION = "events"
_BOXES = ("required", "show_at_door")
_TEXTS = ("identifier", "question", "help_text", "type", "ask")
_OPTION, _NEW_OPTIONS = "option.", "new_options"
_QUESTION = "<question_id>"

blp = ConsoleBlueprint(
    "questions", __name__, reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=ONE_EVENT
)
form_blp = ConsoleBlueprint(
    "question_forms", __name__, reads={Role.WRITE}, writes={Role.WRITE}, scope=ONE_EVENT
)


@blp.get(paths.questions("<event_id>"))
def list_questions(event_id: str) -> str:
    """List the questions of an event, with what can be done about each."""
    return _list_page(event_id, Form())


@blp.get(paths.questions("<event_id>", _QUESTION))
def show_question(event_id: str, question_id: str) -> str:
    """Show one question, and how often each option was chosen."""
    tenant_id = caller().tenant_id
    question = questions.get(tenant_id, event_id, question_id)
    return page(
        "question.html",
        SECTION,
        event=events.get(tenant_id, event_id),
        question=question,
        counted=answers.count(tenant_id, event_id, question_id),
        types=QUESTION_TYPES,
        asks=ASKS,
        tab="questions",
    )


@blp.post(paths.questions("<event_id>", _QUESTION, "up"))
def move_up(event_id: str, question_id: str) -> Response:
    """Put a question one place higher."""
    return _moved(event_id, question_id, -1)


@blp.post(paths.questions("<event_id>", _QUESTION, "down"))
def move_down(event_id: str, question_id: str) -> Response:
    """Put a question one place lower."""
    return _moved(event_id, question_id, 1)


@blp.post(paths.questions("<event_id>", _QUESTION, "archive"))
def archive_question(event_id: str, question_id: str) -> Response:
    """Ask a question no more."""
    tenant_id = caller().tenant_id

    def archive() -> str:
        recorded(
            QuestionSchema,
            partial(questions.archive, tenant_id, event_id, question_id),
            partial(questions.get, tenant_id, event_id, question_id),
            action="questions_archive_question",
        )
        return f"{paths.questions(event_id)}#archived"

    return forms.carried_out(archive, partial(_list_page, event_id))


@form_blp.get(paths.questions("<event_id>", "new"))
def new_question(event_id: str) -> str:
    """Show the form for a new question."""
    event = events.get(caller().tenant_id, event_id)
    return _form_page(event, None, Form(values={"ask": Ask.ATTENDEE, "type": QuestionType.TEXT}))


@form_blp.post(paths.questions("<event_id>", "new"))
def create_question(event_id: str) -> Response:
    """Create a question, and go back to the list."""
    tenant_id = caller().tenant_id
    event = events.get(tenant_id, event_id)

    def create() -> str:
        made: Question = recorded(
            QuestionSchema,
            partial(questions.create, tenant_id, event_id, _fields(QuestionCreateSchema, None)),
            action="questions_create_question",
        )
        return made.id

    def act() -> str:
        once(forms.key(), create)
        return f"{paths.questions(event_id)}#saved"

    return forms.carried_out(act, partial(_form_page, event, None))


@form_blp.get(paths.questions("<event_id>", _QUESTION, "edit"))
def edit_question(event_id: str, question_id: str) -> str:
    """Show the form to change a question."""
    tenant_id = caller().tenant_id
    question = questions.get(tenant_id, event_id, question_id)
    return _form_page(events.get(tenant_id, event_id), question, Form(values=_values(question)))


@form_blp.post(paths.questions("<event_id>", _QUESTION, "edit"))
def change_question(event_id: str, question_id: str) -> Response:
    """Change a question, and go back to the list."""
    tenant_id = caller().tenant_id
    question = questions.get(tenant_id, event_id, question_id)

    def change() -> str:
        _change(event_id, question_id, _fields(QuestionChangeSchema, question))
        return f"{paths.questions(event_id)}#saved"

    again: Callable[[Form], str] = partial(_form_page, events.get(tenant_id, event_id), question)
    return forms.carried_out(change, again)


def _moved(event_id: str, question_id: str, by: int) -> Response:
    question = questions.get(caller().tenant_id, event_id, question_id)
    _change(event_id, question_id, {"position": max(1, question.position + by)})
    return redirect(paths.questions(event_id), 303)


def _change(event_id: str, question_id: str, fields: dict[str, Any]) -> None:
    tenant_id = caller().tenant_id
    recorded(
        QuestionSchema,
        partial(questions.change, tenant_id, event_id, question_id, fields),
        partial(questions.get, tenant_id, event_id, question_id),
        action="questions_change_question",
    )


def _fields(schema: type[BaseSchema], question: Question | None) -> dict[str, Any]:
    """Return the checked fields of the form that was sent. Invalid.

    An option that was emptied is removed. New ones are one a line.
    """
    sent = forms.sent()
    body: dict[str, Any] = {name: sent.get(name, "") for name in ("question", "type", "ask")}
    body["help_text"] = sent.get("help_text") or None
    body |= {name: sent.get(name) == typed_forms.CHECKED for name in _BOXES}
    body["ticket_ids"] = typed_forms.chosen("ticket_ids") or None
    if sent.get("identifier"):
        body["identifier"] = sent["identifier"]
    kept = [] if question is None else question.options
    options = [
        {"id": each.id, "label": label}
        for each in kept
        if (label := sent.get(f"{_OPTION}{each.id}", ""))
    ]
    lines = sent.get(_NEW_OPTIONS, "").split("\n")
    body["options"] = [*options, *({"label": line.strip()} for line in lines if line.strip())]
    try:
        loaded: dict[str, Any] = schema().load(body)
    except ValidationError as error:
        raise Invalid(error.normalized_messages()) from None
    return loaded


def _values(question: Question) -> dict[str, str]:
    """Return the fields of a form that shows a question."""
    boxes = {name: typed_forms.CHECKED if getattr(question, name) else "" for name in _BOXES}
    return {
        **{name: getattr(question, name) or "" for name in _TEXTS},
        **{f"{_OPTION}{each.id}": each.label for each in question.options},
        **boxes,
    }


def _form_page(event: Event, question: Question | None, form: Form) -> str:
    chosen = question.ticket_id_list if question is not None else None
    if form.refusal is not None:
        chosen = typed_forms.chosen("ticket_ids")
    return page(
        "question_form.html",
        SECTION,
        event=event,
        question=question,
        form=form,
        types=list(QUESTION_TYPES.items()),
        asks=list(ASKS.items()),
        ticket_types=ticket_types.names(event.id),
        chosen=chosen or [],
        tab="questions",
    )


def _list_page(event_id: str, form: Form) -> str:
    event = events.get(caller().tenant_id, event_id)
    found = questions.of_event(event.id)
    live = [each for each in found if not each.archived]
    return page(
        "questions.html",
        SECTION,
        event=event,
        questions=live,
        archived=[each for each in found if each.archived],
        has_room=len(live) < MAX_QUESTIONS,
        types=QUESTION_TYPES,
        asks=ASKS,
        form=form,
        tab="questions",
    )
