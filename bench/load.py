"""Generate load: repeat one request on many connections, from a separate process.

It does as little as possible, because it runs on the same cores as the server.
"""

import itertools
import json
import secrets
import select
import socket
import subprocess
import sys
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

CONNECTIONS = 32
CLIENT = "address-of-the-client"
"""A placeholder in a request. Each request gets another client address there."""
CLIENTS = 5_000
NONCE = "nonce-of-a-scan-36-characters-long--"
"""A placeholder. Each request gets another UUID there."""
SEAT = "id-of-an-admission-26-long"
"""A placeholder. Each request gets another of SEATS numbers there."""
SEATS = 50_000
_ANSWER_SECONDS = 30
_HOST = "127.0.0.1"
_LENGTH = b"\r\ncontent-length: "


@dataclass
class Load:
    """The result of a load: the count of each status, and the latency of each response."""

    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    latencies_us: list[int] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of responses."""
        return len(self.latencies_us)

    def add(self, other: "Load") -> None:
        """Add the results of another load."""
        self.seconds += other.seconds
        self.statuses += other.statuses
        self.latencies_us += other.latencies_us


def run(port: int, request: bytes, *, seconds: float = 3600, requests: int | None = None) -> Load:
    """Send a request for `seconds`, or `requests` times, and wait for all responses."""
    job = {"port": port, "request": request.decode("latin-1"), "seconds": seconds}
    return run_module("bench.load", {**job, "requests": requests})


def body_size(port: int, request: bytes) -> int:
    """Send a request once, and return the size of the response's body."""
    connection = _Connection(port)
    connection.ask(_from_everybody(request)[0])
    while status_of(connection.received) is None and connection.receive():
        pass
    connection.socket.close()
    return len(connection.received.partition(b"\r\n\r\n")[2])


def run_module(module: str, job: object) -> Load:
    """Run a module that reads its job from standard input, and prints a load."""
    done = subprocess.run(
        [sys.executable, "-m", module],
        cwd=Path(__file__).parent.parent,
        input=json.dumps(job),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    result = json.loads(done.stdout)
    return Load(result["seconds"], Counter(result["statuses"]), result["latencies_us"])


class _Connection:
    def __init__(self, port: int) -> None:
        self._port = port
        self.open()

    def open(self) -> None:
        self.socket = socket.create_connection((_HOST, self._port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> None:
        self.received = b""
        self.asked_at = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> bytes:
        try:
            received = self.socket.recv(65536)
        except ConnectionError:
            received = b""
        self.received += received
        return received


def _drive(port: int, request: bytes, seconds: float, requests: int | None) -> Load:
    load = Load()
    poll = select.epoll()
    connections: dict[int, _Connection] = {}
    for _ in range(CONNECTIONS):
        connection = _Connection(port)
        connections[connection.socket.fileno()] = connection
        poll.register(connection.socket, select.EPOLLIN)
    left = sys.maxsize if requests is None else requests
    each = itertools.cycle(_from_everybody(request))
    start = time.perf_counter()
    for connection in connections.values():
        connection.ask(next(each))
        left -= 1
    waiting = len(connections)
    while waiting:
        ready = poll.poll(_ANSWER_SECONDS)
        if not ready:
            load.statuses["no answer"] += waiting
            break
        for number, _ in ready:
            connection = connections[number]
            received = connection.receive()
            status = status_of(connection.received) if received else "hung up"
            if status is None:
                continue
            now = time.perf_counter()
            load.statuses[status] += 1
            load.latencies_us.append(int((now - connection.asked_at) * 1_000_000))
            if left <= 0 or now - start >= seconds:
                waiting -= 1
                poll.unregister(number)
                continue
            left -= 1
            if not received or b"\r\nConnection: close" in connection.received:
                del connections[number]
                connection.socket.close()
                connection.open()
                connections[connection.socket.fileno()] = connection
                poll.register(connection.socket, select.EPOLLIN)
            connection.ask(next(each))
    load.seconds = time.perf_counter() - start
    return load


def _from_everybody(request: bytes) -> list[bytes]:
    """Return the request of each client. Each run starts at another client and seat."""
    first, seat = secrets.randbelow(CLIENTS), secrets.randbelow(SEATS)
    requests = []
    for number in range(CLIENTS):
        client = first + number
        values = {
            CLIENT: f"10.0.{client // 256}.{client % 256}",
            NONCE: str(uuid.uuid4()),
            SEAT: f"{(seat + number) % SEATS:026}",
        }
        made = request
        for placeholder, value in values.items():
            made = made.replace(placeholder.encode(), value.encode())
        requests.append(made)
    return requests


def status_of(received: bytes) -> str | None:
    """Return the status of a response. None if it is not complete."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    status = received[9:12]
    if status != b"304":
        head = received[: end + 2].lower()
        start = head.find(_LENGTH) + len(_LENGTH)
        if start < len(_LENGTH):
            return "without a length"
        if len(received) < end + 4 + int(head[start : head.index(b"\r\n", start)]):
            return None
    return status.decode()


def main() -> None:
    """Run the job from standard input."""
    job = json.load(sys.stdin)
    load = _drive(
        job["port"], job["request"].encode("latin-1"), job["seconds"], job.get("requests")
    )
    print(json.dumps(vars(load)))


if __name__ == "__main__":
    main()
