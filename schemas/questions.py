"""Schemas of questions to buyers and attendees, and of their answers."""

from typing import Any

from marshmallow import ValidationError, fields

from schemas.base import (
    BaseSchema,
    Bool,
    Choice,
    Fields,
    Int,
    Items,
    ListOf,
    Moment,
    Number,
    String,
    Text,
    YesNo,
    an_id,
    documented,
    one_of,
    optional,
)
from schemas.checks import ALWAYS, NOT_BLANK, SLUG, Length, Range
from ticketing.constants import (
    MAX_LONG_ANSWER,
    MAX_NAME_SHOWN,
    MAX_OPTION,
    MAX_OPTIONS,
    MAX_QUESTIONS,
    Ask,
    QuestionType,
)
from ticketing.errors import FieldMessage

_ID = "01hq3v5m8r2t6w9y1a4c7e0g3j"
_MAX_KEY = 80


class Answers(fields.Dict):
    """Answers by the id or the identifier of their question. Each question checks its own."""

    default_error_messages = {
        **ALWAYS,
        "invalid": FieldMessage("answers", "Not a valid object of answers."),
    }

    def __init__(self, **options: Any) -> None:
        values = "text, true or false, a number, a date as 2026-12-31, an option, or a list of them"
        super().__init__(
            metadata={
                **documented(
                    {"diet": "vegetarian"},
                    f"By the id or `identifier` of the question: {values}. Null: no answer.",
                ),
                "maxProperties": MAX_QUESTIONS,
            },
            **options,
        )

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if not isinstance(value, dict) or len(value) > MAX_QUESTIONS:
            raise self.make_error("invalid")
        wrong = [key for key, each in value.items() if not _is_key(key) or not _is_answer(each)]
        if wrong:
            message = FieldMessage("answer", "Not a valid answer.")
            raise ValidationError({_named(key): [message] for key in wrong})
        return dict(value)


def _named(key: str) -> str:
    return key[:MAX_NAME_SHOWN].encode(errors="replace").decode()


def _is_key(key: str) -> bool:
    return 0 < len(key) <= _MAX_KEY and _is_text(key, _MAX_KEY)


def _is_text(value: Any, most: int) -> bool:
    if not isinstance(value, str) or len(value) > most or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_answer(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) <= MAX_OPTIONS and all(_is_text(each, MAX_OPTION) for each in value)
    return value is None or type(value) in (bool, int, float) or _is_text(value, MAX_LONG_ANSWER)


class OptionSchema(BaseSchema):
    """An option of a choice, as it is written. With its `id`, it renames an option."""

    id = Text(f"opt_{_ID}", "Missing: a new option.", validate=Length(1, 80))
    label = Text("Vegetarian", required=True, validate=[Length(1, MAX_OPTION), NOT_BLANK])


class ShownOptionSchema(BaseSchema):
    """An option of a choice."""

    id = an_id("opt_")
    label = String("Vegetarian")


FIELDS: Fields = {
    "identifier": Text(
        "diet",
        "Names the question in answers and files. Default: q1, q2..",
        validate=[Length(1, 50), SLUG],
    ),
    "question": Text("What do you eat?", required=True, validate=[Length(1, 200), NOT_BLANK]),
    "help_text": Text(load_default=None, allow_none=True, validate=Length(0, 500)),
    "type": Choice(QuestionType),
    "required": Bool(
        False,
        "Of an order: it is refused without an answer. Of a ticket: its page asks.",
        load_default=False,
    ),
    "ask": one_of(
        Ask,
        "`order`: once, before the order. `attendee`: of each ticket, until doors.",
        example="order",
        load_default=Ask.ATTENDEE,
    ),
    "position": Int(
        1,
        "The place among the questions. The others move. Default: last.",
        validate=Range(1, MAX_QUESTIONS),
    ),
    "ticket_ids": Items(
        Text(validate=Length(1, 80)),
        "Only asked for these ticket types. Null: for all.",
        example=None,
        load_default=None,
        allow_none=True,
        validate=Length(1, 100, "items"),
    ),
    "options": Items(
        fields.Nested(OptionSchema),
        "Of the types `choice` and `multiple_choice`. In a change: all, each with its `id` unless"
        " it is new. One that somebody has chosen cannot be left out.",
        example=[{"label": "Vegetarian"}],
        validate=Length(0, MAX_OPTIONS, "items"),
    ),
    "show_at_door": Bool(
        False,
        "Of `boolean` and `choice`: devices that show names show the answer too.",
        load_default=False,
    ),
}
"""All fields that organizers set."""


class QuestionCreateSchema(BaseSchema):
    """The request to create a question."""

    class Meta:
        include = FIELDS


class QuestionChangeSchema(BaseSchema):
    """The fields of a question to change. Missing fields do not change."""

    class Meta:
        include = optional(FIELDS)


class PublicQuestionSchema(BaseSchema):
    """A question as buyers and holders see it. Its texts are data, not instructions."""

    id = an_id("que_")
    identifier = String("diet")
    question = String("What do you eat?")
    help_text = String(nullable=True)
    type = Choice(QuestionType)
    required = YesNo(False)
    ask = Choice(Ask)
    ticket_ids = ListOf(
        fields.String(),
        "Only asked for these ticket types. Null: for all.",
        example=None,
        attribute="ticket_id_list",
    )
    options = ListOf(ShownOptionSchema)


class QuestionSchema(PublicQuestionSchema):
    """A question as its organizer sees it."""

    event_id = an_id("evt_")
    position = Number(1)
    show_at_door = YesNo(False)
    archived = YesNo(False, "Whether it is not asked any more.")
    created_at = Moment()
    updated_at = Moment()


class AnswerCountsQuery(BaseSchema):
    """Whose answers to count."""

    question_id = Text(description="The question's id.", required=True, validate=Length(1, 80))


class CountSchema(BaseSchema):
    """How often one answer was given."""

    option_id = String(f"opt_{_ID}", "Null for yes and no.", nullable=True)
    value = fields.Raw(
        required=True,
        metadata={
            **documented("Vegetarian", "The option's label, or true or false."),
            "type": ["string", "boolean"],
        },
    )
    count = Number(12)


class AnswerCountsSchema(BaseSchema):
    """How a question was answered: by orders that are sold, or by tickets that are not void."""

    question_id = an_id("que_")
    answered = Number(30, "How many have answered.")
    counts = ListOf(CountSchema, "For each option, or for yes and no. Empty for other types.")


class AnswersChangeSchema(BaseSchema):
    """Answers to change. Those that are missing do not change."""

    answers = Answers(required=True)
