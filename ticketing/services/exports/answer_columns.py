"""The columns of a CSV file with the answers to an event's questions, one for each question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ticketing.constants import Ask
from ticketing.models.questions import Answer, Question
from ticketing.services.orders import answer_values, questions


class AnswerColumns:
    """The columns for questions of one kind. Archived questions are included.

    `id_of` returns the id of the order or the admission of a row.
    """

    def __init__(self, event_id: str, ask: Ask, id_of: Callable[[Any], str]) -> None:
        self._questions = questions.of_event(event_id, ask)
        self._id_of = id_of
        self._owner = Answer.intent if ask is Ask.ORDER else Answer.admission
        self.names = [f"answer_{each.identifier}" for each in self._questions]

    def values(self, rows: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """Return the values of the columns for each row. None: not answered."""
        if not self._questions:
            return [()] * len(rows)
        given = self._given([self._id_of(row) for row in rows])
        answers = [given.get(self._id_of(row), {}) for row in rows]
        return [[_value(each, of_row) for each in self._questions] for of_row in answers]

    def _given(self, owner_ids: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        found: dict[str, dict[str, str]] = defaultdict(dict)
        query: Any = Answer.select(self._owner, Answer.question, Answer.value)
        for owner_id, question_id, text in query.where(self._owner.in_(owner_ids)).tuples():
            found[owner_id][question_id] = text
        return found


def _value(question: Question, given: Mapping[str, str]) -> Any:
    text = given.get(question.id)
    return None if text is None else answer_values.to_cell(question, text)
