"""A node that misbehaves on request: a provider over HTTP in front of a real node."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import urllib3
from flask import Flask
from werkzeug.test import TestResponse

from tests.support.factories import CHAIN, Organizer, cli
from tests.support.provider.responses import HttpFailure
from tests.support.provider.rules import Provider
from tests.support.provider.views import Answer, Question
from ticketing.models.chains import ChainState
from ticketing.worker.watcher import Watcher

SECRET = "key-that-belongs-in-no-log"


class BadNode(Provider):
    """A provider that listens on its own port. A context manager.

    `delay` is the time of each response in seconds. `drip` sends it byte by byte. `hangs_up` closes
    each connection without a response. `garble` turns the body of a response into a status and a
    body.
    """

    def __init__(self, node_url: str) -> None:
        self._node_url = node_url
        self._http = urllib3.PoolManager(retries=False, timeout=30, maxsize=8)
        self._ended = threading.Event()
        self._well_again = threading.Event()
        super().__init__(self._ask_node)
        self._server = self._listen(0)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/{SECRET}"

    def __enter__(self) -> "BadNode":
        return self

    def __exit__(self, *_: object) -> None:
        self.go_away()
        self._http.clear()

    def well(self) -> None:
        """Be a good node again. Connections of requests that hang are closed."""
        super().well()
        self.garble: Callable[[bytes], tuple[int, bytes]] | None = None
        self.hangs_up = self.drip = False
        self.delay = 0.0
        self._well_again.set()
        self._well_again = threading.Event()

    def go_away(self) -> None:
        """Refuse connections until `come_back`."""
        self._ended.set()
        self._well_again.set()
        self._server.shutdown()
        self._server.server_close()

    def come_back(self) -> None:
        """Listen again on the same port."""
        self._ended.clear()
        self._well_again = threading.Event()
        self._server = self._listen(self.port)

    def _listen(self, port: int) -> ThreadingHTTPServer:
        server = _Server(("127.0.0.1", port), type("Handler", (_Handler,), {"bad": self}))
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server

    def serve(self, body: bytes) -> HttpFailure | None:
        """Return the response to the body of a request. None: hang up."""
        well_again, hangs_up = self._well_again, self.hangs_up
        asked = json.loads(body)
        response = self.respond(asked if isinstance(asked, list) else [asked])
        if self.delay:
            self._ended.wait(self.delay)
        if hangs_up:
            return None
        if isinstance(response, HttpFailure):
            if response.status is None:
                well_again.wait()
                return None
            return response
        if isinstance(response, list) and not isinstance(asked, list):
            (response,) = response
        answered = json.dumps(response).encode()
        return HttpFailure(*(self.garble(answered) if self.garble else (200, answered)))

    def trickle(self, send: Callable[[bytes], object], body: bytes) -> None:
        """Send a body, byte by byte while `drip` is set."""
        for place in range(len(body)):
            if not self.drip or self._ended.wait(0.05):
                send(body[place:])
                return
            send(body[place : place + 1])

    def _ask_node(self, question: Question) -> Answer:
        response = self._http.request(
            "POST",
            self._node_url,
            body=json.dumps(question),
            headers={"Content-Type": "application/json"},
        )
        answer: Answer = json.loads(response.data)
        return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    allow_reuse_address = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnected."""


class _Handler(BaseHTTPRequestHandler):
    bad: BadNode

    def do_POST(self) -> None:
        sent = self.bad.serve(self.rfile.read(int(self.headers["Content-Length"])))
        if sent is None:
            return
        self.send_response(sent.status)
        for name, value in {"Content-Length": str(len(sent.body)), **sent.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.bad.trickle(self.wfile.write, sent.body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def cursor() -> int:
    """Return the number of the last block that was read."""
    return int(ChainState.get().block_number)


def sentence(acme: Organizer) -> str:
    """Return the message of a look that fails: one sentence, without the node's URL."""
    said = cli(acme.app, "worker", "--once", exit_code=1)
    assert said.startswith(f"Error: chain {CHAIN} cannot be read: ")
    assert said.count("\n") == 1
    assert "127.0.0.1" not in said
    assert SECRET not in said
    return said


def checked_watcher(app: Flask) -> Watcher:
    """Return a watcher that has checked its chain while the node was well, and looked once."""
    watcher = Watcher(app.extensions["ticketing"].chains[CHAIN])
    watcher.look()
    return watcher


def is_unavailable(answer: TestResponse) -> bool:
    """Return whether a response is 503 `chain_unavailable`."""
    return (answer.status_code, answer.json["code"]) == (503, "chain_unavailable")


def assert_no_url(caplog: pytest.LogCaptureFixture, bad_node: BadNode) -> None:
    """Check that the test's log has neither the node's address nor a traceback."""
    records = caplog.get_records("call")
    said = "\n".join(record.getMessage() for record in records)
    assert SECRET not in said
    assert f"127.0.0.1:{bad_node.port}" not in said
    assert not any(record.exc_info for record in records)


@contextmanager
def short_timeout() -> Iterator[None]:
    """Give up on a silent node soon, until the block ends. No good response is expected in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ticketing.chain.endpoint.TIMEOUT_SECONDS", 0.3)
        yield
