"""One JSON-RPC 2.0 endpoint of a node. It adapts batch sizes and pauses to the node."""

import json
import time
from collections.abc import Sequence
from typing import Any

import urllib3

from ticketing.chain import nesting
from ticketing.chain.errors import RpcError, RpcLimited, RpcRefused, RpcSilent
from ticketing.chain.request_size import RequestSize

TIMEOUT_SECONDS = 10.0
"""The time limit for a complete response."""

SILENT_SECONDS = 5.0
"""How long an endpoint that did not respond gets no requests."""

AVOIDED_SECONDS = 60.0
"""How long an endpoint that failed is tried last, if there are several."""

LARGEST_BATCH = 100
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
"""How long to wait after rate limits without a time: the first pause doubles up to the longest."""

_MOST_DOUBLINGS = 10

LONGEST_RETRY_AFTER_SECONDS = 600

MAX_ANSWER_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 256 * 1024

Call = tuple[str, list[Any]]

_LIMIT_EXCEEDED = -32005
_LIMIT_WORDS = ("rate limit", "too many requests", "compute units", "quota", "request count")
_WIDTH_WORDS = ("range", "results", "more than", "too large", "blocks", "size")


class _BatchRefused(Exception):
    """The endpoint rejects a batch of this size."""


class Endpoint:
    """One URL of a node. Threads may share it."""

    def __init__(self, url: str, pool: urllib3.PoolManager) -> None:
        self._url = url
        self._pool = pool
        self._batch_size = LARGEST_BATCH
        self._unlimited_size = RequestSize(LARGEST_BATCH)
        self._limited_until = 0.0
        self._limits_in_a_row = 0
        self._failed_at = -AVOIDED_SECONDS
        self._silent_at = -SILENT_SECONDS
        self.chain_id: int | None = None
        """The chain id that it reported. None before the first check and after a failure."""

    @property
    def is_avoided(self) -> bool:
        """Whether it failed recently."""
        return time.monotonic() < self._failed_at + AVOIDED_SECONDS

    @property
    def is_paused(self) -> bool:
        """Whether it gets no requests at the moment."""
        now = time.monotonic()
        return now < self._limited_until or now < self._silent_at + SILENT_SECONDS

    def avoid(self) -> None:
        """Try it last for a while, if there are several endpoints."""
        self._failed_at = time.monotonic()
        self.chain_id = None

    def ask(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of `calls`, in their order, with as few requests as possible.

        A rejected batch is sent again in halves. The size that worked is kept. During a
        pause, RpcLimited and RpcSilent are raised at once, without a request.

        "Too many requests" may be about one batch that is too large, or about too many of them. So
        one call is sent alone: if it passes, the rest is sent in halves; else RpcLimited.
        """
        self._check_pause()
        before, results = self._batch_size, list[Any]()
        try:
            while len(results) < len(calls):
                size = min(self._batch_size, self._unlimited_size.now)
                some = calls[len(results) : len(results) + size]
                try:
                    results += self._ask_together(some)
                    self._unlimited_size.passed(len(some))
                except _BatchRefused:
                    self._batch_size = max(1, len(some) // 2)
                except RpcLimited:
                    if len(some) == 1:
                        raise
                    results += self._ask_together(some[:1])
                    self._unlimited_size.failed(len(some))
        except RpcError as error:
            if not results:
                self._batch_size = before  # a smaller batch did not help
            self._note_failure(error)
            raise
        self._limits_in_a_row = 0
        return results

    def _check_pause(self) -> None:
        now = time.monotonic()
        if now < self._limited_until:
            raise RpcLimited(self._limited_until - now)
        if now < self._silent_at + SILENT_SECONDS:
            raise RpcSilent("the node did not respond a moment ago")

    def _note_failure(self, error: RpcError) -> None:
        now = time.monotonic()
        if isinstance(error, RpcLimited):
            self._limited_until = now + error.retry_after
            self._limits_in_a_row += 1
        elif isinstance(error, RpcSilent):
            self._silent_at = now
        if not isinstance(error, RpcRefused):
            self.avoid()

    def _ask_together(self, calls: Sequence[Call]) -> list[Any]:
        """Send one HTTP request. _BatchRefused if the node rejects the whole batch."""
        questions = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(calls)
        ]
        is_batch = len(calls) > 1
        answers = self._post(questions if is_batch else questions[0], is_batch)
        if isinstance(answers, dict):
            if is_batch:
                if not self._is_of_batches(answers):
                    self._check_limit(answers)
                raise _BatchRefused
            answers = [answers]
        if not isinstance(answers, list) or not all(isinstance(a, dict) for a in answers):
            raise RpcError("the node's response is not JSON-RPC")
        return self._results(answers, len(calls))

    def _results(self, answers: list[dict[str, Any]], count: int) -> list[Any]:
        refused = [answer for answer in answers if answer.get("error") is not None]
        if count > 1 and any(map(self._is_of_batches, refused)):
            raise _BatchRefused
        for answer in refused:
            self._check_limit(answer)
        if refused:
            raise RpcRefused(f"the node returned an error: {_message(refused[0], self._url)}")
        results = {answer["id"]: answer for answer in answers if type(answer.get("id")) is int}
        if set(results) != set(range(count)) or not all("result" in a for a in answers):
            raise RpcError("the node did not return a result for every call")
        return [results[number]["result"] for number in range(count)]

    def _is_of_batches(self, answer: dict[str, Any]) -> bool:
        """Return whether an error is about the size of a batch. Its code does not matter."""
        return "batch" in _message(answer, self._url).lower()

    def _check_limit(self, answer: dict[str, Any]) -> None:
        """Raise RpcLimited if the error is about the rate of requests."""
        error = answer.get("error")
        code = error.get("code") if isinstance(error, dict) else None
        message = _message(answer, self._url).lower()
        # Some providers use the code of rate limits for ranges that are too wide.
        is_width = any(word in message for word in _WIDTH_WORDS)
        if (
            code == 429
            or any(word in message for word in _LIMIT_WORDS)
            or (code == _LIMIT_EXCEEDED and not is_width)
        ):
            raise self._limited(None)

    def _limited(self, retry_after: str | None) -> RpcLimited:
        if retry_after is not None and retry_after.isascii() and retry_after.isdecimal():
            return RpcLimited(min(int(retry_after[:9]), LONGEST_RETRY_AFTER_SECONDS) or 1)
        doubled = FIRST_PAUSE_SECONDS * 2 ** min(self._limits_in_a_row, _MOST_DOUBLINGS)
        return RpcLimited(min(doubled, LONGEST_PAUSE_SECONDS))

    def _post(self, question: object, is_batch: bool) -> Any:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        body = bytearray()
        try:
            response = self._pool.request(
                "POST",
                self._url,
                body=json.dumps(question),
                headers={"Content-Type": "application/json"},
                preload_content=False,
                redirect=False,
                timeout=urllib3.Timeout(total=TIMEOUT_SECONDS),
            )
            with response:
                while chunk := response.read1(_CHUNK_BYTES):
                    body += chunk
                    if len(body) > MAX_ANSWER_BYTES:
                        raise RpcError("the node's response is too large")
                    if time.monotonic() > deadline:
                        raise RpcSilent("the node's response takes too long")
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise RpcSilent(f"the node cannot be reached ({type(error).__name__})") from None
        if response.status == 429:
            raise self._limited(response.headers.get("Retry-After"))
        try:
            if nesting.is_too_deep(body):
                raise ValueError("nested too deep")
            return json.loads(body)
        except ValueError:
            if is_batch and response.status in (400, 413):
                raise _BatchRefused from None
            raise RpcError(f"the node's response is not JSON (HTTP {response.status})") from None


def _message(answer: dict[str, Any], url: str) -> str:
    """Return the message of a node's error, in one short line and without its URL."""
    error = answer.get("error")
    text = str(error.get("message") if isinstance(error, dict) else error)[:2000]
    return " ".join(text.replace(url, "(its URL)").split())[:200]
