"""JSON-RPC 2.0 over HTTP, for Ethereum nodes. Every answer is checked before it is believed."""

import json
import logging
import time
from collections.abc import Sequence
from typing import Any

import urllib3

from ticketing import nesting

TIMEOUT_SECONDS = 10.0
"""How long a whole answer may take."""

AVOIDED_SECONDS = 60.0
"""How long a node that could not be asked is the last to be tried, where there are several."""

MAX_ANSWER_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 256 * 1024

log = logging.getLogger(__name__)
# It logs the URLs that it asks, and these hold keys.
logging.getLogger("urllib3").setLevel(logging.ERROR)

Call = tuple[str, list[Any]]


class RpcError(Exception):
    """The node cannot be asked, or its answer is not one. Never carries the node's URL."""


class RpcRefused(RpcError):
    """The node understood the question and answered with an error."""


class RpcClient:
    """Asks the first of several nodes that answers. Safe to share between threads."""

    def __init__(self, urls: Sequence[str], chain_id: int | None = None) -> None:
        """Ask these nodes. Of several, none is believed before it says that it is `chain_id`'s."""
        self._urls = urls
        self._chain_id = chain_id if len(urls) > 1 else None
        self._recognised: set[str] = set()
        self._avoided_until: dict[str, float] = {}
        self._pool = urllib3.PoolManager(maxsize=4, retries=False)

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Ask several questions in one HTTP request; results come in the order of `calls`.

        The nodes are tried in order, those last that lately could not be asked. RpcRefused if one
        of them answers with an error and none with results, RpcError if none can be asked.
        """
        errors: list[RpcError] = []
        for url in self._in_order():
            try:
                self._recognise(url)
                return self._ask(url, calls)
            except RpcError as error:
                if not isinstance(error, RpcRefused):
                    self._recognised.discard(url)
                    self._avoided_until[url] = time.monotonic() + AVOIDED_SECONDS
                errors.append(error)
                if len(self._urls) > 1:
                    log.warning("node %s: %s", self._urls.index(url) + 1, error)
        refused = [error for error in errors if isinstance(error, RpcRefused)]
        raise (refused or errors)[-1]

    def _in_order(self) -> list[str]:
        now = time.monotonic()
        return sorted(self._urls, key=lambda url: self._avoided_until.get(url, now) > now)

    def _recognise(self, url: str) -> None:
        """Ask a node once for its chain, and again after it failed."""
        if self._chain_id is None or url in self._recognised:
            return
        if self._ask(url, [("eth_chainId", [])]) != [hex(self._chain_id)]:
            raise RpcError("the node answers for another chain")
        self._recognised.add(url)

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
                raise RpcRefused(f"the node refused: {_message(answer['error'], url)}")
        results = {answer["id"]: answer for answer in answers if type(answer.get("id")) is int}
        if set(results) != set(range(len(calls))) or not all("result" in a for a in answers):
            raise RpcError("the node did not answer every question")
        return [results[number]["result"] for number in range(len(calls))]

    def _post(self, url: str, question: object) -> Any:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        body = bytearray()
        try:
            response = self._pool.request(
                "POST",
                url,
                body=json.dumps(question),
                headers={"Content-Type": "application/json"},
                preload_content=False,
                timeout=urllib3.Timeout(total=TIMEOUT_SECONDS),
            )
            with response:
                while chunk := response.read1(_CHUNK_BYTES):
                    body += chunk
                    if len(body) > MAX_ANSWER_BYTES:
                        raise RpcError("the node's answer is too large")
                    if time.monotonic() > deadline:
                        raise RpcError("the node's answer takes too long")
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise RpcError(f"the node cannot be reached ({type(error).__name__})") from None
        try:
            if nesting.is_too_deep(body):
                raise ValueError("nested too deep")
            return json.loads(body)
        except ValueError:
            raise RpcError(f"the node's answer is not JSON (HTTP {response.status})") from None


def _message(error: Any, url: str) -> str:
    """Return what a node says of its refusal: in one short line, without its own URL."""
    text = str(error.get("message") if isinstance(error, dict) else error)
    return " ".join(text.replace(url, "(its URL)").split())[:200]
