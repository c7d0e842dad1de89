"""The value of an answer: checked, as text in the database, and as JSON and CSV show it.

An option is stored by its id, so an option that is renamed is renamed in the answers too.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from ticketing.constants import (
    ANSWER_DECIMALS,
    MAX_ANSWER_NUMBER,
    MAX_LONG_ANSWER,
    MAX_TEXT_ANSWER,
    QuestionType,
)
from ticketing.errors import FieldMessage
from ticketing.models.questions import Question

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TRUE, _FALSE = "true", "false"


class Wrong(Exception):
    """An answer that does not fit its question. `message` says why."""

    def __init__(self, code: str, text: str, **values: object) -> None:
        self.message = FieldMessage(code, text.format(**values), **values)
        super().__init__(text)


def to_text(question: Question, value: Any) -> str | None:
    """Return an answer as it is stored. None if it is empty: null, a blank text, an empty list.

    An option is named by its label or its id. Wrong.
    """
    if value is None or value == [] or (isinstance(value, str) and not value.strip()):
        return None
    return _READERS[QuestionType(question.type)](question, value)


def to_json(question: Question, text: str) -> Any:
    """Return a stored answer as the API shows it. Options are shown by their labels."""
    kind = QuestionType(question.type)
    if kind is QuestionType.BOOLEAN:
        return text == _TRUE
    if kind is QuestionType.NUMBER:
        number = Decimal(text)
        return int(number) if number == number.to_integral_value() else float(number)
    if kind is QuestionType.CHOICE:
        return _labels(question).get(text)
    if kind is QuestionType.MULTIPLE_CHOICE:
        labels = _labels(question)
        return [labels[each] for each in json.loads(text) if each in labels]
    return text


def to_cell(question: Question, text: str) -> Any:
    """Return a stored answer for a cell of a CSV file."""
    if question.type == QuestionType.NUMBER:
        return Decimal(text)
    value = to_json(question, text)
    return "; ".join(value) if isinstance(value, list) else value


def chosen(question: Question, text: str) -> list[str]:
    """Return what a stored answer counts for: ids of options, `true` or `false`. Else nothing."""
    if question.type == QuestionType.MULTIPLE_CHOICE:
        return list(json.loads(text))
    is_counted = question.type in (QuestionType.CHOICE, QuestionType.BOOLEAN)
    return [text] if is_counted else []


def _labels(question: Question) -> Mapping[str, str]:
    return {each.id: each.label for each in question.options}


def _text(most: int) -> Callable[[Question, Any], str]:
    def read(question: Question, value: Any) -> str:
        if not isinstance(value, str) or "\0" in value:
            raise Wrong("text", "Not a valid string.")
        if len(value) > most:
            raise Wrong("longest", "Length must be at most {max}.", max=most)
        return value

    return read


def _boolean(question: Question, value: Any) -> str:
    if type(value) is not bool:
        raise Wrong("boolean", "Not a valid boolean.")
    return _TRUE if value else _FALSE


def _choice(question: Question, value: Any) -> str:
    for option in question.options:
        if value in (option.id, option.label):
            return option.id
    raise Wrong("option", "Must be one of the question's options.")


def _choices(question: Question, value: Any) -> str:
    if not isinstance(value, list):
        raise Wrong("list", "Not a valid list.")
    found = {_choice(question, each) for each in value}
    return json.dumps([each.id for each in question.options if each.id in found])


def _number(question: Question, value: Any) -> str:
    is_number = type(value) is int or (type(value) is float and math.isfinite(value))
    if not is_number:
        raise Wrong("number", "Not a valid number.")
    if abs(value) > MAX_ANSWER_NUMBER:
        most = MAX_ANSWER_NUMBER
        raise Wrong("range", "Must be between {min} and {max}.", min=-most, max=most)
    number = Decimal(str(value))
    if number != round(number, ANSWER_DECIMALS):
        raise Wrong("decimals", "At most {max} digits after the point.", max=ANSWER_DECIMALS)
    return f"{number:f}"


def _date(question: Question, value: Any) -> str:
    try:
        if not isinstance(value, str) or not _DATE.fullmatch(value):
            raise ValueError
        return date.fromisoformat(value).isoformat()
    except ValueError:
        raise Wrong("date", "Must be a date, as 2026-12-31.") from None


_READERS: Mapping[QuestionType, Callable[[Question, Any], str]] = {
    QuestionType.TEXT: _text(MAX_TEXT_ANSWER),
    QuestionType.LONG_TEXT: _text(MAX_LONG_ANSWER),
    QuestionType.BOOLEAN: _boolean,
    QuestionType.CHOICE: _choice,
    QuestionType.MULTIPLE_CHOICE: _choices,
    QuestionType.NUMBER: _number,
    QuestionType.DATE: _date,
}
