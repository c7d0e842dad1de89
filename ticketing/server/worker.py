"""gunicorn's threaded worker, made so that a thread never waits for a client.

gunicorn's own reads and writes in one of its few threads: eight clients that send a byte a minute,
or do not read, stop the service. Here one loop collects each request and sends what the client did
not take at once; a thread has it only in between. Deadlines and numbers bound what clients take.
Beyond a number, the connection that has waited longest is closed.
"""

import errno
import select
import selectors
import signal
import socket
import time
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any

from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, ThreadWorker

from ticketing.server import problems, supported
from ticketing.server.connection import Connection

REQUEST_SECONDS = 20.0
"""How long a request may take to arrive: head and body together."""
SEND_SECONDS = 60.0
"""How long an answer may take to be read."""
LINGER_SECONDS = 2.0
"""How long a connection stays half open for what the client is still sending (RFC 9112, 9.6)."""
QUEUE_SECONDS = 10.0
"""How long a request may wait for a thread. After that it gets 503 and is not carried out."""
GONE_SECONDS = 1.0
"""After how long a wait the client may be gone. A client that is gone is not served."""
STOP_SECONDS = 10.0
"""How long requests and answers that are on their way have left when the worker is to stop."""
MAX_HELD_BYTES = 32 * 1024 * 1024
"""How much of requests and answers a worker keeps for all who are slow."""

_READ_BYTES = 64 * 1024
_FULL = (errno.EMFILE, errno.ENFILE)
_GONE = (errno.EAGAIN, errno.ECONNABORTED)

STOPS = {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT}
"""What gunicorn is stopped with."""


class Worker(ThreadWorker):
    """Waits for clients in one loop, and for the application in threads.

    `waiting`, from the longest to the newest, and the poller belong to the loop; so does a
    connection, but while `handle` has it.
    """

    poller: Any
    tpool: Any

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Refuse another gunicorn, TLS and the PROXY protocol."""
        supported.check(cfg)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.waiting: dict[Connection, None] = {}
        self.queue: dict[Connection, Future[bool]] = {}
        self.held = 0
        self._next_look = 0.0

    def init_signals(self) -> None:
        """Listen for signals; those that came since the fork come now (see gunicorn.conf.py)."""
        super().init_signals()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)

    def set_accept_enabled(self, enabled: bool) -> None:
        """Begin to accept, or stop; before the end, take everybody who is in the queue already.

        Whoever came after that would be reset once this process is gone. So nobody can: a
        connection that is refused has told us nothing, and may be made again elsewhere.
        """
        super().set_accept_enabled(enabled)
        if self.alive:
            return
        for listener in self.sockets:
            queue = select.poll()
            queue.register(listener, select.POLLIN)
            while queue.poll(0):
                self.accept(listener)
            listener.close()

    def accept(self, listener: Any) -> None:
        """Take a new connection; if there are too many, the one that waited longest goes."""
        try:
            sock, client = listener.accept()
        except OSError as error:
            if error.errno in _FULL and self.waiting:
                self._drop(next(iter(self.waiting)))
            elif error.errno not in _GONE:
                raise
            return
        sock.setblocking(False)
        self.nr_conns += 1
        self._wait(Connection(sock, client, listener.getsockname()), REQUEST_SECONDS)
        self._make_room()

    def enqueue_req(self, conn: Connection) -> None:
        """Let a thread answer a request as soon as one is free."""
        conn.queued_at = time.monotonic()
        future = self.tpool.submit(self.handle, conn)
        self.queue[conn] = future
        future.add_done_callback(
            lambda done: self.method_queue.defer(self.finish_request, conn, done)
        )

    def handle(self, conn: Connection) -> bool:
        """Let the application answer; return whether the connection is kept. Runs in a thread.

        A client that closed its half of the connection may still read. So only one whose request
        has waited is taken for gone.
        """
        waited = time.monotonic() - conn.queued_at
        if waited > GONE_SECONDS and conn.peer_is_gone():
            self.log.info("dropped a request: its client is gone")
            return False
        try:
            if waited > QUEUE_SECONDS:
                raise problems.Overloaded
            keep = bool(self.handle_request(conn.request, conn))
        except (Exception, StopIteration) as error:
            keep = False
            conn.sock.pieces.clear()
            self.handle_error(conn.request, conn.sock, conn.client, error)
        conn.unsent += conn.sock.pieces
        conn.sock.pieces.clear()
        try:
            conn.flush()
        except OSError:
            conn.unsent.clear()
            keep = False
        return keep

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Answer what the application was not asked, or could not; nothing sent is logged."""
        if problems.status_of(exc) == HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log.error("a request failed", exc_info=exc)
        else:
            self.log.info("refused a request of %s: %s", addr and addr[0], type(exc).__name__)
        client.sendall(problems.answer(exc))

    def finish_request(self, conn: Connection, fs: Future[bool]) -> None:
        """Go on with a connection whose request has been answered, or was not taken in time."""
        self.queue.pop(conn, None)
        if fs.cancelled():
            self._refuse(conn, problems.Overloaded())
            return
        conn.keep = fs.result()
        self._send(conn)

    def murder_keepalived(self, force: bool = False) -> None:
        """Close what has waited until its deadline, in the queue too; or all that waits."""
        now = time.monotonic()
        if now < self._next_look and not force:
            return
        self._next_look = now + 0.5
        for conn, future in list(self.queue.items()):
            if conn.queued_at + QUEUE_SECONDS <= now:
                future.cancel()  # false if a thread has it; else `finish_request` comes next
        for conn in [each for each in self.waiting if force or each.deadline <= now]:
            if force or conn.is_idle or conn.unsent:
                self._drop(conn)
            else:
                self._refuse(conn, problems.TooSlow())

    def murder_pending(self) -> None:
        """Do nothing: `murder_keepalived` looks after all."""

    def _cap_keepalive(self, deadline: float) -> None:
        """Bring every deadline nearer, as the worker is about to stop."""
        busy = time.monotonic() + STOP_SECONDS
        for conn in self.waiting:
            conn.deadline = min(conn.deadline, deadline if conn.is_idle else busy)

    def _deadline(self, seconds: float) -> float:
        return time.monotonic() + (seconds if self.alive else min(seconds, STOP_SECONDS))

    def _wait(self, conn: Connection, seconds: float, *, to_send: bool = False) -> None:
        conn.deadline = self._deadline(seconds)
        self.waiting[conn] = None
        if to_send:
            self.poller.register(conn.socket, selectors.EVENT_WRITE, partial(self._write, conn))
        else:
            self.poller.register(conn.socket, selectors.EVENT_READ, partial(self._read, conn))

    def _leave(self, conn: Connection) -> None:
        if conn in self.waiting:
            del self.waiting[conn]
            self.poller.unregister(conn.socket)

    def _read(self, conn: Connection, _: Any) -> None:
        if conn not in self.waiting:
            return  # closed by what came before it in the same round
        try:
            data = conn.socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(conn)
        elif not conn.lingering:
            if conn.kept and conn.is_idle:
                conn.kept = False
                conn.deadline = self._deadline(REQUEST_SECONDS)
                self.waiting[conn] = self.waiting.pop(conn)
            conn.received += data
            self._advance(conn)

    def _advance(self, conn: Connection) -> None:
        """Give a request to a thread if it is whole, else wait for the rest of it."""
        try:
            whole = conn.is_whole(self.cfg)
        except Exception as error:
            # Whatever it is: it must not end the loop, which everybody else waits for.
            self._refuse(conn, error)
            return
        with suppress(OSError):  # that it is gone will be found out again
            conn.flush()  # 100 Continue
        if whole:
            self._leave(conn)
            self.enqueue_req(conn)
        elif conn not in self.waiting:
            self._wait(conn, REQUEST_SECONDS)
        self._count(conn)

    def _refuse(self, conn: Connection, error: Exception) -> None:
        self._leave(conn)
        self.handle_error(conn.request, conn.sock, conn.client, error)
        conn.unsent += conn.sock.pieces
        conn.sock.pieces.clear()
        conn.keep = False
        self._send(conn)

    def _write(self, conn: Connection, _: Any) -> None:
        if conn in self.waiting:
            # It keeps its place and its deadline until all is sent.
            self._send(conn)

    def _send(self, conn: Connection) -> None:
        try:
            all_sent = conn.flush()
        except OSError:
            self._drop(conn)
            return
        if all_sent:
            self._leave(conn)
            self._after_answer(conn)
        elif conn not in self.waiting:
            self._wait(conn, SEND_SECONDS, to_send=True)
        self._count(conn)

    def _after_answer(self, conn: Connection) -> None:
        conn.begin()
        if not conn.keep:
            conn.received.clear()
            conn.lingering = True
            try:
                conn.socket.shutdown(socket.SHUT_WR)
            except OSError:
                self._drop(conn)
            else:
                self._wait(conn, LINGER_SECONDS)
        elif conn.received:
            self._advance(conn)
        else:
            conn.kept = True
            seconds = self.cfg.keepalive
            self._wait(conn, seconds if self.alive else min(seconds, STOP_KEEPALIVE_LINGER))

    def _drop(self, conn: Connection) -> None:
        self._leave(conn)
        self.nr_conns -= 1
        self.held -= conn.size
        conn.size = 0
        conn.is_closed = True
        with suppress(OSError):
            conn.socket.close()

    def _count(self, conn: Connection) -> None:
        if not conn.is_closed:
            size = conn.held
            self.held += size - conn.size
            conn.size = size
            self._make_room()

    def _make_room(self) -> None:
        """Close those that have waited longest where there are too many, or they keep too much."""
        while len(self.waiting) > 1 and (
            self.nr_conns >= self.worker_connections or self.held > MAX_HELD_BYTES
        ):
            self._drop(next(iter(self.waiting)))
