"""The real server, and raw bytes for it."""

import contextlib
import json
import re
import resource
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import urllib3

from tests.conftest import SECRET_KEY
from tests.support.remote import PATIENCE_SECONDS
from tools.stack import Stack, free_port

GOOD = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
POST = b"POST /v1/auth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
"""A head without its end: the length of the body follows."""
_ANSWER = re.compile(rb"HTTP/1\.[01] (\d{3}) [^\r]*\r\n(.*?)\r\n\r\n", re.DOTALL)


_SERVES = "a process serves"
_GUNICORN = f"""
import sys
from gunicorn.app.wsgiapp import run
from ticketing.server import worker

serve = worker.Worker.run

def say_and_serve(self):
    print("{_SERVES}", file=sys.stderr, flush=True)
    serve(self)

worker.Worker.run = say_and_serve
"""
"""gunicorn's command. Each process says when it has loaded the application."""


class RawServer(Stack):
    """gunicorn as in the Procfile, if necessary with other numbers for the worker."""

    def __init__(
        self, database_url: str, log: Path, numbers: Mapping[str, float], **variables: str
    ) -> None:
        super().__init__(
            {
                "DATABASE_URL": database_url,
                "SECRET_KEY": SECRET_KEY,
                "PORT": str(free_port()),
                "WEB_CONCURRENCY": "2",
                "RATE_LIMIT_PUBLIC": "0",
                "RATE_LIMIT_TOKEN": "0",
                **variables,
            },
            log=log,
        )
        self.log_path = log
        self.entry = self.port
        """The port for raw bytes: the server's own, or that of a proxy."""
        changes = "; ".join(f"worker.{name} = {value}" for name, value in numbers.items())
        code = f"{_GUNICORN}\n{changes}\nrun()"
        bind = f"127.0.0.1:{self.port}"
        self._start("web", [sys.executable, "-c", code, "--bind", bind, "app:create_app()"])
        while not (self._all_serve() and self._is_up()):
            self.check()
            time.sleep(0.05)

    @property
    def pid(self) -> int:
        """The pid of gunicorn's first process."""
        return self._processes["web"].pid

    def terminate(self) -> None:
        """Ask it to end, without waiting."""
        self._processes["web"].terminate()

    def wait(self) -> int:
        """Wait for its end."""
        return self._processes["web"].wait(PATIENCE_SECONDS)

    def connect(
        self, data: bytes = b"", *, receive_buffer: int = 0, source: str = "127.0.0.1"
    ) -> socket.socket:
        """Open a connection from a loopback address and send something."""
        sock = socket.socket()
        sock.bind((source, 0))
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.settimeout(PATIENCE_SECONDS)
        sock.connect(("127.0.0.1", self.entry))
        sock.sendall(data)
        return sock

    def ask(self, data: bytes) -> list["RawAnswer"]:
        """Send something, and close our half. Return all responses."""
        with self.connect(data) as sock:
            sock.shutdown(socket.SHUT_WR)
            return answers(read_all(sock))

    def one(self, data: bytes) -> "RawAnswer":
        """Send something and return the single response. After it the connection is closed."""
        with self.connect(data) as sock:
            (answer,) = answers(read_all(sock))
            return answer

    def seconds_to_answer(self) -> float:
        """Return the seconds until a fast client has its response."""
        start = time.monotonic()
        assert self.one(GOOD).status == 200
        return time.monotonic() - start

    def clients(self) -> set[int]:
        """Return the ports of connected clients from which the server has read everything."""
        found = set()
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            here, there, state, queues = line.split()[1:5]
            is_ours = int(here[-4:], 16) == self.port and state == ESTABLISHED
            if is_ours and queues == NOTHING_QUEUED:
                found.add(int(there[-4:], 16))
        return found

    def _all_serve(self) -> bool:
        said = self.log_path.read_text(errors="replace")
        return said.count(_SERVES) >= int(self.environ["WEB_CONCURRENCY"])

    def _is_up(self) -> bool:
        with contextlib.suppress(urllib3.exceptions.HTTPError):
            return urllib3.request("GET", f"{self.url}/readyz", retries=False).status == 200
        return False


class RawAnswer:
    """One response, as received."""

    def __init__(self, status: int, head: str, body: bytes) -> None:
        self.status = status
        self.headers = {
            name.lower(): value
            for name, _, value in (line.partition(": ") for line in head.split("\r\n"))
        }
        self.body = body

    def problem(self, status: int, code: str) -> None:
        """Check that it is a problem of this status and code (contract, section 2)."""
        assert (self.status, self.headers["content-type"]) == (status, "application/problem+json")
        told = json.loads(self.body)
        assert (told["status"], told["code"]) == (status, code)
        assert told["type"] == f"urn:ticketing:problem:{code}" and told["title"] and told["detail"]
        assert told["request_id"] == self.headers["x-request-id"]
        assert self.headers["x-content-type-options"] == "nosniff"
        assert self.headers["cache-control"] == "no-store"


def read_all(sock: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    received = b""
    while data := sock.recv(65536):
        received += data
    return received


def read_one(sock: socket.socket) -> RawAnswer:
    """Read one response. The connection stays open."""
    received = b""
    while not (found := answers(received)):
        data = sock.recv(65536)
        assert data, received
        received += data
    return found[0]


def answers(received: bytes) -> list[RawAnswer]:
    """Split bytes into complete responses, by their Content-Length."""
    found = []
    while head := _ANSWER.match(received):
        answer = RawAnswer(int(head[1]), head[2].decode("latin-1"), b"")
        size = 0 if answer.status < 200 else int(answer.headers["content-length"])
        answer.body = received[head.end() : head.end() + size]
        if len(answer.body) < size:
            break
        received = received[head.end() + size :]
        found.append(answer)
    return found


ESTABLISHED = "01"
"""The state of an open connection in /proc/net/tcp."""
NOTHING_QUEUED = "00000000:00000000"
"""What is neither received nor read, in /proc/net/tcp."""


def is_read(clients: Iterable[socket.socket]) -> bool:
    """Return whether the server has read everything that these sockets have sent."""
    ports = [{sock.getsockname()[1], sock.getpeername()[1]} for sock in clients]
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    shown = [line.split()[1:5] for line in lines]
    # Another connection may have one of the ports too, or may have had both.
    ends = [
        queues
        for here, there, state, queues in shown
        if {int(here[-4:], 16), int(there[-4:], 16)} in ports and state == ESTABLISHED
    ]
    return len(ends) == 2 * len(ports) and set(ends) == {NOTHING_QUEUED}


@contextlib.contextmanager
def many_files() -> Iterator[None]:
    """Raise the limit of sockets to the machine's maximum."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
