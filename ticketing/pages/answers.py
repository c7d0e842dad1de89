"""The fields of questions in forms: what was filled in becomes what the API takes, and back.

The name of a field is `answers.` and the identifier of its question, which is also where the API's
errors are. Each option of a multiple choice is a box of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ticketing.constants import QuestionType
from ticketing.models.questions import Question
from ticketing.pages import forms

PREFIX = "answers."
YES, NO, CHECKED = "yes", "no", "on"
_NUMBER = re.compile(r"-?[0-9]{1,13}(?:[.,][0-9]{1,6})?", re.ASCII)


def were_sent() -> bool:
    """Return whether the form that was sent has fields of questions."""
    return any(name.startswith(PREFIX) for name in forms.sent())


def read(questions: Sequence[Question]) -> dict[str, Any]:
    """Return the answers of the form that was sent, by identifier. None: the field is empty."""
    sent = forms.sent()
    return {each.identifier: _value(each, sent) for each in questions}


def typed(questions: Sequence[Question], answers: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a form that shows these answers."""
    fields: dict[str, str] = {}
    for each in questions:
        value = answers.get(each.identifier)
        name = f"{PREFIX}{each.identifier}"
        if value is None:
            continue
        if each.type == QuestionType.MULTIPLE_CHOICE:
            chosen = [option for option in each.options if option.label in value]
            fields |= {f"{name}.{option.id}": CHECKED for option in chosen}
        elif each.type == QuestionType.CHOICE:
            fields[name] = next((one.id for one in each.options if one.label == value), "")
        elif each.type == QuestionType.BOOLEAN:
            fields[name] = YES if value else NO
        else:
            fields[name] = str(value)
    return fields


def _value(question: Question, sent: Mapping[str, str]) -> Any:
    name = f"{PREFIX}{question.identifier}"
    if question.type == QuestionType.MULTIPLE_CHOICE:
        return [each.id for each in question.options if sent.get(f"{name}.{each.id}")]
    text = sent.get(name) or None
    if question.type == QuestionType.BOOLEAN:
        return {YES: True, NO: False}.get(text or "", text)
    if question.type == QuestionType.NUMBER and text is not None and _NUMBER.fullmatch(text):
        number = float(text.replace(",", "."))
        return int(number) if number.is_integer() else number
    return text
