"""A JSON-RPC provider that misbehaves as a test asks: rules in front of a good node, without HTTP.

    provider = Provider(answers_of(fake_chain.batch))
    provider.max_range(10, how="504")
    provider.respond([{"jsonrpc": "2.0", "id": 0, "method": "eth_chainId", "params": []}])

`bad_node.BadNode` is a provider that listens on a port. Misbehaviours can be combined.
"""

import json
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Literal

from tests.support.provider.core import ProviderCore, Response, of_method, only_logs
from tests.support.provider.responses import (
    CUT_OFF,
    GATEWAY_TIMEOUT,
    SILENCE,
    HttpFailure,
    too_large,
)
from tests.support.provider.views import (
    Answer,
    Answerer,
    Question,
    error,
    first_block_of,
    foreign,
    forked,
    head_of,
    lagging,
    range_of,
    result,
)
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import RpcError

TooWide = Literal["error", "results", "504", "silence", "cut off", "too large"]
TooMany = Literal["error", "items", "rest", "http"]
TooOften = Literal["http", "error", "items"]


class Provider(ProviderCore):
    """Answers requests like a provider. Each method below is one way to misbehave."""

    # Gaps.

    def lag(self, number: int, *, null_headers: bool = True) -> None:
        """Hide logs above a block, and headers except for the newest block of all."""

        def rule(question: Question, answer: Answer) -> Answer:
            method = question["method"]
            if method == "eth_getLogs":
                return only_logs(answer, lambda log: int(log["blockNumber"], 16) <= number)
            if method == "eth_getBlockByNumber" and null_headers:
                asked = question["params"][0]
                if asked != "latest" and int(asked, 16) > number:
                    return {**answer, "result": None}
            return answer

        self.rules.append(rule)

    def lag_head(self, blocks: int) -> None:
        """Hide the newest blocks, the head included."""
        self._layers.append(lambda question, ask: lagging(question, ask, blocks))

    def scatter(self, blocks: int, *, every: int = 2) -> None:
        """Answer every n-th question as a node that is this many blocks behind, in batches too."""
        turns = count(1)
        self._layers.append(
            lambda question, ask: (
                lagging(question, ask, blocks) if next(turns) % every == 0 else ask(question)
            )
        )

    def omit_tip_logs(self, blocks: int = 1) -> None:
        """Omit the logs of the newest blocks, but know their headers."""

        def layer(question: Question, ask: Answerer) -> Answer:
            if question["method"] != "eth_getLogs":
                return ask(question)
            newest = head_of(ask) - blocks
            return only_logs(ask(question), lambda log: int(log["blockNumber"], 16) <= newest)

        self._layers.append(layer)

    def omit_logs(self, *, every: int = 1) -> None:
        """Omit all logs from every n-th answer to eth_getLogs."""
        turns = count(1)

        def rule(question: Question, answer: Answer) -> Answer:
            if question["method"] != "eth_getLogs" or next(turns) % every:
                return answer
            return only_logs(answer, lambda _: False)

        self.rules.append(rule)

    def omit_new_logs(self) -> None:
        """Omit each log from the first answer that should have it."""
        shown: set[tuple[str, str]] = set()

        def is_known(log: dict[str, Any]) -> bool:
            key = (log["blockHash"], log["logIndex"])
            return key in shown or bool(shown.add(key))

        self.rules.append(
            lambda question, answer: (
                only_logs(answer, is_known) if question["method"] == "eth_getLogs" else answer
            )
        )

    # Limits.

    def max_batch(
        self,
        most: int,
        *,
        how: TooMany = "error",
        status: int = 413,
        message: str = "batch of too many requests is not allowed",
        code: int = -32600,
    ) -> None:
        """Refuse larger batches.

        With one error, an error for each item, an error for each item too many, or an HTTP status.
        """

        def gate(questions: Sequence[Question]) -> Response | None:
            if len(questions) <= most:
                return None
            errors = [error(question, message, code) for question in questions]
            if how == "rest":
                return [*map(self._answer, questions[:most]), *errors[most:]]
            return {
                "error": error({"id": None}, message, code),
                "items": errors,
                "http": HttpFailure(status, message.encode()),
            }[how]

        self._gates.append(gate)

    def max_body(self, size: int) -> None:
        """Refuse requests with larger bodies, in bytes, as a proxy does: HTTP 413 and a page."""
        failure = HttpFailure(413, b"<html>413 Request Entity Too Large</html>")
        self._gates.append(lambda questions: failure if len(json.dumps(questions)) > size else None)

    def max_call_data(self, size: int, message: str = "call data too large") -> None:
        """Refuse each eth_call with more call data, in bytes."""

        def layer(question: Question, ask: Answerer) -> Answer:
            is_call = question["method"] == "eth_call"
            if is_call and len(question["params"][0]["data"]) // 2 > size:
                return error(question, message)
            return ask(question)

        self._layers.append(layer)

    def max_gas_of_calls_to(self, to: str, size: int) -> None:
        """Let calls of one contract revert that have more call data, in bytes; 0: all."""

        def layer(question: Question, ask: Answerer) -> Answer:
            call = question["params"][0] if question["method"] == "eth_call" else {}
            if call.get("to") == to and len(call["data"]) // 2 > size:
                return error(question, "execution reverted", 3)
            return ask(question)

        self._layers.append(layer)

    def max_range(self, blocks: int, *, how: TooWide = "error") -> None:
        """Refuse to return logs of more than this many blocks.

        With a JSON-RPC error about the range or, with HTTP 200 and -32005, about too many results;
        with HTTP 504 and a page; with silence; with an answer that is cut off or too large.
        """
        messages = {
            "error": (f"exceed maximum block range: {blocks}", -32602),
            "results": ("query returned more than 10000 results", -32005),
        }
        failures = {"504": GATEWAY_TIMEOUT, "silence": SILENCE, "cut off": CUT_OFF}
        failure = too_large() if how == "too large" else failures.get(how)

        def is_too_wide(question: Question) -> bool:
            first, last = range_of(question)
            return last - first + 1 > blocks

        def gate(questions: Sequence[Question]) -> Response | None:
            return failure if any(map(is_too_wide, of_method("eth_getLogs", questions))) else None

        def layer(question: Question, ask: Answerer) -> Answer:
            if question["method"] == "eth_getLogs" and is_too_wide(question):
                return error(question, *messages[how])
            return ask(question)

        if failure:
            self._gates.append(gate)
        else:
            self._layers.append(layer)

    def max_results(self, logs: int, *, how: TooWide = "results") -> None:
        """Refuse to return more than this many logs: see `max_range`."""
        failures = {"504": GATEWAY_TIMEOUT, "silence": SILENCE, "cut off": CUT_OFF}

        def gate(questions: Sequence[Question]) -> Response | None:
            asked = of_method("eth_getLogs", questions)
            is_refused = any(len(self._ask(each).get("result") or []) > logs for each in asked)
            return failures[how] if is_refused else None

        def layer(question: Question, ask: Answerer) -> Answer:
            answer = ask(question)
            if question["method"] == "eth_getLogs" and len(answer.get("result") or []) > logs:
                return error(question, f"query returned more than {logs} results", -32005)
            return answer

        if how in failures:
            self._gates.append(gate)
        else:
            self._layers.append(layer)

    def max_rate(
        self,
        requests: int,
        *,
        seconds: float | None = None,
        how: TooOften = "http",
        retry_after: int | None = None,
        items: bool = False,
    ) -> None:
        """Accept this many requests in any `seconds` of the clock, or in all; then refuse.

        With HTTP 429, and Retry-After if it is given; with one error; or with an error for each
        item. A refused request does not count. With `items`, each question counts as a request.
        """
        taken: list[float] = []
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}

        def gate(questions: Sequence[Question]) -> Response | None:
            now = self._clock()
            if seconds is not None:
                taken[:] = [at for at in taken if at > now - seconds]
            weight = len(questions) if items else 1
            if len(taken) + weight <= requests:
                taken.extend([now] * weight)
                return None
            return {
                "http": HttpFailure(429, b"Too Many Requests", headers),
                "error": error({"id": None}, "limit exceeded", -32005),
                "items": [error(each, "rate limit exceeded", -32005) for each in questions],
            }[how]

        self._gates.append(gate)

    # Nodes that keep little.

    def prune(self, blocks: int, *, headers: Literal["null", "error", "kept"] = "null") -> None:
        """Hide headers and logs that are more than this many blocks behind the head.

        With headers "kept": only the logs.
        """

        def layer(question: Question, ask: Answerer) -> Answer:
            first = first_block_of(question)
            if first is None or first >= head_of(ask) - blocks:
                return ask(question)
            if question["method"] == "eth_getLogs":
                return error(question, "pruned history unavailable", 4444)
            if headers == "kept":
                return ask(question)
            if headers == "null":
                return result(question, None)
            return error(question, "header not found")

        self._layers.append(layer)

    def prune_state(self, blocks: int = -1) -> None:
        """Refuse eth_call at a block more than this many behind the head; -1: at any number."""

        def layer(question: Question, ask: Answerer) -> Answer:
            tag = question["params"][1] if question["method"] == "eth_call" else "latest"
            if tag == "latest" or int(tag, 16) >= head_of(ask) - blocks:
                return ask(question)
            return error(question, "missing trie node 7f3a (path )")

        self._layers.append(layer)

    # Another chain.

    def misroute(self, *, every: int = 1, items: bool = False, higher: int = 0) -> None:
        """Answer every n-th request, or every n-th item, as a node of another chain would.

        Its head is so many blocks above this chain's: by default a chain that looks like a deep
        reorganization.
        """
        turns = count(1)
        turn = 0

        def gate(questions: Sequence[Question]) -> None:
            nonlocal turn
            turn = next(turns)

        def layer(question: Question, ask: Answerer) -> Answer:
            now = next(turns) if items else turn
            return foreign(question, ask, higher) if now % every == 0 else ask(question)

        if not items:
            self._gates.append(gate)
        self._layers.append(layer)

    def fork(self, first: int, last: int | None = None) -> None:
        """Answer about the blocks `first` to `last` (None: the head) as a node on another fork.

        The fork has the same transactions, in blocks with other hashes.
        """
        self._layers.append(lambda question, ask: forked(ask(question), first, last))


def answers_of(batch: Callable[[Sequence[Call]], list[Any]]) -> Answerer:
    """Turn FakeChain's `batch` into a function that answers one JSON-RPC question."""

    def answer(question: Question) -> Answer:
        try:
            (value,) = batch([(question["method"], question["params"])])
        except RpcError as refusal:
            return error(question, str(refusal))
        return result(question, value)

    return answer
