"""Runs thousands of scripts in one process: each sends requests, and waits in between.

A script is a generator. It yields a pause in seconds, or an `Ask`, and gets the `Answer`. Requests
go over a pool of kept connections, as those of a trusted proxy do. A latency counts from the time
when the script wanted to send, so it includes the wait for a connection and delays of this loop.
"""

import heapq
import itertools
import select
import socket
import time
from collections import Counter, deque
from collections.abc import Generator
from dataclasses import dataclass, field

CONNECTIONS = 400
"""Below the 500 of one gunicorn process, so none is closed because there are too many."""

_IDLE_SECONDS = 1.5
"""gunicorn closes a connection after 2 seconds without a request."""
ANSWER_SECONDS = 30.0
_NO_ANSWER, _HUNG_UP = "no answer", "hung up"
_LENGTH = b"\r\ncontent-length: "


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. `status` is its code, or a word if there is none."""

    status: str
    received: bytes

    def header(self, name: bytes) -> str | None:
        """Return the value of a header. None if it is missing."""
        head = self.received.partition(b"\r\n\r\n")[0]
        start = head.lower().find(b"\r\n" + name.lower() + b": ")
        if start < 0:
            return None
        return head[start + len(name) + 4 :].partition(b"\r\n")[0].decode()

    @property
    def body(self) -> bytes:
        """The body."""
        return self.received.partition(b"\r\n\r\n")[2]


@dataclass(slots=True)
class Step:
    """What became of the requests of one step."""

    wrong: Counter[str] = field(default_factory=Counter)
    latencies_us: list[int] = field(default_factory=list)


class _Connection:
    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.idle_since = 0.0
        self.sent_at = 0.0
        self.job: _Job | None = None


class Pool:
    """Kept connections to one port of a host, at most `most`."""

    def __init__(self, port: int, most: int = CONNECTIONS, host: str = "127.0.0.1") -> None:
        self.host, self.port, self.most = host, port, most
        self.open = 0
        self.idle: deque[_Connection] = deque()
        self.queue: deque[_Job] = deque()


@dataclass(frozen=True, slots=True)
class Ask:
    """A request of a step, and the statuses that are right."""

    step: str
    data: bytes
    expected: tuple[str, ...]
    pool: Pool


Script = Generator[Ask | float, Answer | None, None]


@dataclass(slots=True)
class _Job:
    script: Script
    ask: Ask
    due: float


class Loop:
    """Runs scripts until all have ended."""

    def __init__(self) -> None:
        self.steps: dict[str, Step] = {}
        self.running = 0
        """How many scripts have not ended."""
        self._due: list[tuple[float, int, Script]] = []
        self._number = itertools.count()
        self._poll = select.epoll()
        self._busy: dict[int, _Connection] = {}
        self._pools: dict[int, Pool] = {}

    def start(self, script: Script, at: float) -> None:
        """Start a script at a time of `time.perf_counter`."""
        self.running += 1
        self._later(script, at)

    def run(self, until: float) -> None:
        """Run until all scripts have ended, at most until a time of `time.perf_counter`."""
        next_look = 0.0
        while self.running and (now := time.perf_counter()) < until:
            while self._due and self._due[0][0] <= now:
                due, _, script = heapq.heappop(self._due)
                self._go_on(script, None, due)
            if now >= next_look:
                next_look = now + 1
                self._end_old(now)
            next_due = self._due[0][0] if self._due else now + 1
            for number, _ in self._poll.poll(min(1.0, max(0.0, next_due - time.perf_counter()))):
                # An earlier event of the same round may have closed it.
                if number in self._busy:
                    self._receive(self._busy[number])

    def _later(self, script: Script, at: float) -> None:
        heapq.heappush(self._due, (at, next(self._number), script))

    def _go_on(self, script: Script, answer: Answer | None, now: float) -> None:
        try:
            wanted = script.send(answer)
        except StopIteration:
            self.running -= 1
            return
        if isinstance(wanted, Ask):
            self._ask(_Job(script, wanted, now))
        else:
            self._later(script, now + wanted)

    def _ask(self, job: _Job) -> None:
        pool = job.ask.pool
        oldest = time.perf_counter() - _IDLE_SECONDS
        while pool.idle:
            connection = pool.idle.popleft()
            if connection.idle_since > oldest:
                self._send(connection, job)
                return
            self._close(connection, pool)
        if pool.open >= pool.most:
            pool.queue.append(job)
            return
        connection = _Connection((pool.host, pool.port))
        pool.open += 1
        self._busy[connection.socket.fileno()] = connection
        self._pools[connection.socket.fileno()] = pool
        self._poll.register(connection.socket, select.EPOLLIN)
        self._send(connection, job)

    def _send(self, connection: _Connection, job: _Job) -> None:
        connection.job, connection.received = job, b""
        connection.sent_at = time.perf_counter()
        try:
            connection.socket.sendall(job.ask.data)
        except ConnectionError:
            self._end(connection, _HUNG_UP)

    def _receive(self, connection: _Connection) -> None:
        try:
            received = connection.socket.recv(262_144)
        except ConnectionError:
            received = b""
        if connection.job is None:
            # The server has closed an idle connection.
            pool = self._pools[connection.socket.fileno()]
            pool.idle.remove(connection)
            self._close(connection, pool)
            return
        connection.received += received
        status = _status_of(connection.received) if received else _HUNG_UP
        if status is not None:
            self._end(connection, status)

    def _end(self, connection: _Connection, status: str) -> None:
        """Give the script its answer, and the connection another job."""
        job, received, now = connection.job, connection.received, time.perf_counter()
        assert job is not None
        pool, connection.job = job.ask.pool, None
        step = self.steps.setdefault(job.ask.step, Step())
        if status in job.ask.expected:
            step.latencies_us.append(int((now - job.due) * 1_000_000))
        else:
            step.wrong[status] += 1
        if not status.isdigit() or b"\r\nConnection: close" in received:
            self._close(connection, pool)
        else:
            connection.idle_since = now
            pool.idle.append(connection)
        if pool.queue:
            self._ask(pool.queue.popleft())
        self._go_on(job.script, Answer(status, received), now)

    def _end_old(self, now: float) -> None:
        for connection in list(self._busy.values()):
            if connection.job is not None and connection.sent_at < now - ANSWER_SECONDS:
                self._end(connection, _NO_ANSWER)

    def _close(self, connection: _Connection, pool: Pool) -> None:
        number = connection.socket.fileno()
        del self._busy[number], self._pools[number]
        self._poll.unregister(number)
        connection.socket.close()
        pool.open -= 1


def _status_of(received: bytes) -> str | None:
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
