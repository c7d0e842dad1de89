"""A node that misbehaves as a test says: an HTTP proxy in front of a real one."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import urllib3
from flask import Flask
from werkzeug.test import TestResponse

from tests.support.factories import CHAIN, Organizer, cli
from ticketing.models.chains import ChainState
from ticketing.worker.watcher import Watcher

SECRET = "key-that-belongs-in-no-log"

Answer = dict[str, Any]
Rule = Callable[[Answer, Answer], Answer]
"""Takes a question and the node's answer to it; returns what is answered instead."""


class BadNode:
    """A context manager. `well` ends every misbehaviour; it counts the calls by method.

    `delay` is how many seconds each answer takes, `drip` whether it comes byte by byte. `hangs_up`
    closes each connection unanswered. `garble` turns the whole answer into a status and a body.
    """

    def __init__(self, node_url: str) -> None:
        self._node_url = node_url
        self._http = urllib3.PoolManager(retries=False, timeout=30, maxsize=8)
        self._ended = threading.Event()
        self.calls: Counter[str] = Counter()
        self.ranges: list[tuple[int, int]] = []
        self.well()
        self._server = self._listen(0)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/{SECRET}"

    def __enter__(self) -> "BadNode":
        return self

    def __exit__(self, *_: object) -> None:
        self.go_away()
        self._http.clear()

    def well(self) -> None:
        """Be a good node from now on."""
        self.rules: list[Rule] = []
        self.garble: Callable[[bytes], tuple[int, bytes]] | None = None
        self.hangs_up = self.drip = False
        self.delay = 0.0

    def go_away(self) -> None:
        """Refuse connections, from now on until `come_back`."""
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()

    def come_back(self) -> None:
        """Listen again, at the same port."""
        self._ended.clear()
        self._server = self._listen(self.port)

    def refuse(self, *methods: str, message: str = "no") -> None:
        """Answer these methods with an error."""
        self.rules.append(
            lambda question, answer: (
                _error(answer, message) if question["method"] in methods else answer
            )
        )

    def answer(self, method: str, result: Any) -> None:
        """Answer a method with this result, or with what it makes of the node's."""
        make = result if callable(result) else lambda _: result
        self.rules.append(
            lambda question, answer: (
                {**answer, "result": make(answer["result"])}
                if question["method"] == method
                else answer
            )
        )

    def lag(self, number: int, *, null_headers: bool = True) -> None:
        """Know no logs above a block, and no headers; but tell the newest block of all."""

        def rule(question: Answer, answer: Answer) -> Answer:
            method, result = question["method"], answer.get("result")
            if method == "eth_getLogs":
                logs = [log for log in result if int(log["blockNumber"], 16) <= number]
                return {**answer, "result": logs}
            if method == "eth_getBlockByNumber" and null_headers:
                asked = question["params"][0]
                if asked != "latest" and int(asked, 16) > number:
                    return {**answer, "result": None}
            return answer

        self.rules.append(rule)

    def max_range(self, blocks: int) -> None:
        """Refuse to look for logs in more than so many blocks."""

        def rule(question: Answer, answer: Answer) -> Answer:
            if question["method"] == "eth_getLogs":
                first, last = _range_of(question)
                if last - first + 1 > blocks:
                    return _error(answer, f"exceed maximum block range: {blocks}")
            return answer

        self.rules.append(rule)

    def _listen(self, port: int) -> ThreadingHTTPServer:
        server = _Server(("127.0.0.1", port), type("Handler", (_Handler,), {"bad": self}))
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server

    def respond(self, body: bytes) -> tuple[int, bytes] | None:
        """Return the status and the body of an answer; None to hang up."""
        asked = json.loads(body)
        questions = asked if isinstance(asked, list) else [asked]
        self.calls.update(question["method"] for question in questions)
        if self.delay:
            self._ended.wait(self.delay)
        if self.hangs_up:
            return None
        response = self._http.request("POST", self._node_url, body=body, headers=_JSON)
        if self.garble:
            return self.garble(response.data)
        answers = json.loads(response.data)
        answers = {each["id"]: each for each in (answers if isinstance(asked, list) else [answers])}
        told = [self._bend(question, answers[question["id"]]) for question in questions]
        return 200, json.dumps(told if isinstance(asked, list) else told[0]).encode()

    def trickle(self, send: Callable[[bytes], object], body: bytes) -> None:
        """Send a body, byte by byte while `drip` stands."""
        for place in range(len(body)):
            if not self.drip or self._ended.wait(0.05):
                send(body[place:])
                return
            send(body[place : place + 1])

    def _bend(self, question: Answer, answer: Answer) -> Answer:
        for rule in self.rules:
            answer = rule(question, answer)
        if question["method"] == "eth_getLogs" and "result" in answer:
            self.ranges.append(_range_of(question))
        return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    allow_reuse_address = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    bad: BadNode

    def do_POST(self) -> None:
        answer = self.bad.respond(self.rfile.read(int(self.headers["Content-Length"])))
        if answer is None:
            return
        status, body = answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.bad.trickle(self.wfile.write, body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


_JSON = {"Content-Type": "application/json"}


def _error(answer: Answer, message: str) -> Answer:
    error = {"code": -32005, "message": message}
    return {"jsonrpc": "2.0", "id": answer["id"], "error": error}


def _range_of(question: Answer) -> tuple[int, int]:
    asked = question["params"][0]
    return int(asked["fromBlock"], 16), int(asked["toBlock"], 16)


def cursor() -> int:
    """The number of the block read last."""
    return int(ChainState.get().block_number)


def sentence(acme: Organizer) -> str:
    """What a look that fails says: one sentence, without the node's URL."""
    said = cli(acme.app, "worker", "--once", exit_code=1)
    assert said.startswith(f"Error: chain {CHAIN} cannot be seen: ")
    assert said.count("\n") == 1
    assert "127.0.0.1" not in said
    assert SECRET not in said
    return said


def checked_watcher(app: Flask) -> Watcher:
    """A watcher that has made sure of its chain while the node was well, and looked once."""
    watcher = Watcher(app.extensions["ticketing"].chains[CHAIN])
    watcher.look()
    return watcher


def is_unavailable(answer: TestResponse) -> bool:
    """Whether an answer says that the chain cannot be looked at."""
    return (answer.status_code, answer.json["code"]) == (503, "chain_unavailable")


def assert_no_url(caplog: pytest.LogCaptureFixture, bad_node: BadNode) -> None:
    """Nothing that was logged during the test names the node, or holds a traceback."""
    records = caplog.get_records("call")
    said = "\n".join(record.getMessage() for record in records)
    assert SECRET not in said
    assert f"127.0.0.1:{bad_node.port}" not in said
    assert not any(record.exc_info for record in records)
