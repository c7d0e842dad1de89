"""JSON-RPC 2.0 over HTTP, for Ethereum nodes. Every answer is checked before it is believed."""

import json
import logging
from collections.abc import Sequence
from typing import Any

import urllib3

TIMEOUT_SECONDS = 10.0

MAX_ANSWER_BYTES = 64 * 1024 * 1024

log = logging.getLogger(__name__)

Call = tuple[str, list[Any]]


class RpcError(Exception):
    """The node cannot be asked, or its answer is not one. Never carries the node's URL."""


class RpcRefused(RpcError):
    """The node understood the question and answered with an error."""


class RpcClient:
    """Asks the first of several nodes that answers. Safe to share between threads."""

    def __init__(self, urls: Sequence[str], timeout: float = TIMEOUT_SECONDS) -> None:
        self._urls = urls
        self._pool = urllib3.PoolManager(
            maxsize=4, retries=False, timeout=urllib3.Timeout(total=timeout)
        )

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Ask several questions in one HTTP request; results come in the order of `calls`.

        The nodes are tried in order. RpcRefused if the last of them answers with an error,
        RpcError if it cannot be asked.
        """
        *others, last = self._urls
        for url in others:
            try:
                return self._ask(url, calls)
            except RpcError as error:
                log.warning("node %s: %s", self._urls.index(url) + 1, error)
        return self._ask(last, calls)

    def _ask(self, url: str, calls: Sequence[Call]) -> list[Any]:
        questions = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(calls)
        ]
        answers = self._post(url, questions if len(questions) > 1 else questions[0])
        if isinstance(answers, dict):
            answers = [answers]
        if not isinstance(answers, list) or not all(isinstance(a, dict) for a in answers):
            raise RpcError("the node's answer is not JSON-RPC")
        for answer in answers:
            if answer.get("error") is not None:
                raise RpcRefused(f"the node refused: {_message(answer['error'])}")
        results = {answer.get("id"): answer for answer in answers}
        if set(results) != set(range(len(calls))) or not all("result" in a for a in answers):
            raise RpcError("the node did not answer every question")
        return [results[number]["result"] for number in range(len(calls))]

    def _post(self, url: str, question: object) -> Any:
        try:
            response = self._pool.request(
                "POST",
                url,
                body=json.dumps(question),
                headers={"Content-Type": "application/json"},
                preload_content=False,
            )
            with response:
                body = response.read(MAX_ANSWER_BYTES + 1)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise RpcError(f"the node cannot be reached ({type(error).__name__})") from None
        if len(body) > MAX_ANSWER_BYTES:
            raise RpcError("the node's answer is too large")
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise RpcError(f"the node's answer is not JSON (HTTP {response.status})") from None


def _message(error: Any) -> str:
    text = error.get("message") if isinstance(error, dict) else error
    return str(text)[:200]
