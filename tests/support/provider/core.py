"""The base of the provider stand-in: it counts requests, and applies a test's rules."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

from tests.support.provider.responses import SILENCE, HttpFailure
from tests.support.provider.views import (
    Answer,
    Answerer,
    Question,
    error,
    range_of,
)

Response = list[Answer] | Answer | HttpFailure
"""The response to a request: an answer to each question, one for all, or an HTTP failure."""

Rule = Callable[[Question, Answer], Answer]
"""Takes a question and the node's answer, and returns the answer to send."""

Layer = Callable[[Question, Answerer], Answer]
"""Takes a question and its answer so far, and returns the answer to send."""

Gate = Callable[[Sequence[Question]], Response | None]
"""Takes all questions of a request. Returns the response, or None to continue."""


class ProviderCore:
    """Answers requests, and counts them. `well` ends every misbehaviour.

    `requests` counts HTTP requests, `calls` questions by method, `batches` has the size of each
    request. `asked_ranges` has the block range of each eth_getLogs, `ranges` those that got a
    result.
    """

    def __init__(self, answer: Answerer, clock: Callable[[], float] = time.monotonic) -> None:
        """`ask` answers one question. `clock` returns seconds."""
        self._ask = answer
        self._clock = clock
        self.requests = 0
        self.calls: Counter[str] = Counter()
        self.batches: list[int] = []
        self.ranges: list[tuple[int, int]] = []
        self.asked_ranges: list[tuple[int, int]] = []
        self.well()

    def well(self) -> None:
        """Be a good provider again."""
        self.rules: list[Rule] = []
        self._layers: list[Layer] = []
        self._gates: list[Gate] = []

    def respond(self, questions: Sequence[Question]) -> Response:
        """Answer one request. In a list, the answers have the order of the questions."""
        self.requests += 1
        self.batches.append(len(questions))
        self.calls.update(question["method"] for question in questions)
        self.asked_ranges += map(range_of, of_method("eth_getLogs", questions))
        for gate in list(self._gates):
            if (instead := gate(questions)) is not None:
                return instead
        return [self._answer(question) for question in questions]

    def _answer(self, question: Question) -> Answer:
        ask = self._ask
        for layer in list(self._layers):
            ask = partial(layer, ask=ask)
        answer = ask(question)
        for rule in list(self.rules):
            answer = rule(question, answer)
        if question["method"] == "eth_getLogs" and "result" in answer:
            self.ranges.append(range_of(question))
        return answer

    # Any method.

    def refuse(self, *methods: str, message: str = "no", code: int = -32000) -> None:
        """Answer these methods with an error."""
        self.rules.append(
            lambda question, answer: (
                error(question, message, code) if question["method"] in methods else answer
            )
        )

    def answer(self, method: str, value: Any) -> None:
        """Answer a method with this result, or with a function of the node's result."""
        make = value if callable(value) else lambda _: value
        self.rules.append(
            lambda question, answer: (
                {**answer, "result": make(answer["result"])}
                if question["method"] == method and "result" in answer
                else answer
            )
        )

    def http(self, failure: HttpFailure, *, every: int = 1) -> None:
        """Answer every n-th request with this error page, garbage or silence."""
        turns = count(1)
        self._gates.append(lambda _: failure if next(turns) % every == 0 else None)

    def gate(self, gate: Gate) -> None:
        """Ask a function first: it returns the response to a request, or None to continue."""
        self._gates.append(gate)

    def hang(self, *methods: str) -> None:
        """Never answer requests with one of these methods; without methods: any request."""

        def gate(questions: Sequence[Question]) -> Response | None:
            asked = {question["method"] for question in questions}
            return SILENCE if not methods or asked & {*methods} else None

        self._gates.append(gate)


def of_method(method: str, questions: Sequence[Question]) -> list[Question]:
    return [question for question in questions if question["method"] == method]


def only_logs(answer: Answer, keep: Callable[[dict[str, Any]], bool]) -> Answer:
    if not isinstance(answer.get("result"), list):
        return answer
    return {**answer, "result": [log for log in answer["result"] if keep(log)]}
