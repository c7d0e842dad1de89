"""The surface on which organizers ask buyers and attendees, and count the answers."""

from typing import Any

from schemas.base import PageQuery, page_of
from schemas.questions import (
    AnswerCountsQuery,
    AnswerCountsSchema,
    QuestionChangeSchema,
    QuestionCreateSchema,
    QuestionSchema,
)
from ticketing.errors import NotFound, QuestionAnswered, TooManyQuestions
from ticketing.models.questions import Question
from ticketing.roles import Role
from ticketing.services.orders import answers, questions
from ticketing.services.orders.answers import Counts
from ticketing.services.pagination import Page
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, page_request
from ticketing.web.event_scope import ONE_EVENT
from ticketing.web.idempotency import idempotent

blp = ApiBlueprint(
    "questions",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/events/<event_id>",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=ONE_EVENT),
    description="Questions to buyers and attendees. Their answers are personal data.",
)


@blp.get("/questions")
@blp.arguments(PageQuery, location="query")
@blp.response(200, page_of(QuestionSchema))
@blp.raises(NotFound)
def list_questions(query: dict[str, Any], tenant: str, event_id: str) -> Page[Question]:
    """List the questions of an event in their order, archived ones included."""
    return questions.list_page(caller().tenant_id, event_id, page_request(query))


@blp.post("/questions")
@idempotent
@blp.arguments(QuestionCreateSchema)
@blp.response(201, QuestionSchema)
@audited(QuestionSchema)
@blp.raises(NotFound, TooManyQuestions)
def create_question(body: dict[str, Any], tenant: str, event_id: str) -> Question:
    """Create a question. It is asked at once."""
    return questions.create(caller().tenant_id, event_id, body)


@blp.get("/questions/<question_id>")
@blp.response(200, QuestionSchema)
@blp.raises(NotFound)
def get_question(tenant: str, event_id: str, question_id: str) -> Question:
    """Read one question."""
    return questions.get(caller().tenant_id, event_id, question_id)


@blp.patch("/questions/<question_id>")
@blp.arguments(QuestionChangeSchema)
@blp.response(200, QuestionSchema)
@audited(QuestionSchema, before=questions.get)
@blp.raises(NotFound, QuestionAnswered)
def change_question(body: dict[str, Any], tenant: str, event_id: str, question_id: str) -> Question:
    """Change some fields of a question. Once somebody has answered, its type cannot change."""
    return questions.change(caller().tenant_id, event_id, question_id, body)


@blp.post("/questions/<question_id>/archive")
@idempotent
@blp.response(200, QuestionSchema)
@audited(QuestionSchema, before=questions.get)
@blp.raises(NotFound)
def archive_question(tenant: str, event_id: str, question_id: str) -> Question:
    """Ask a question no more. Its answers stay. A repeat changes nothing."""
    return questions.archive(caller().tenant_id, event_id, question_id)


@blp.get("/answers")
@blp.arguments(AnswerCountsQuery, location="query")
@blp.response(200, AnswerCountsSchema)
@blp.raises(NotFound)
def count_answers(query: dict[str, Any], tenant: str, event_id: str) -> Counts:
    """Count the answers to a question, for each option."""
    return answers.count(caller().tenant_id, event_id, query["question_id"])
