"""A gunicorn worker with threads that never wait for a client.

gunicorn's own threaded worker reads and writes in one of its few threads. So eight clients that
send a byte per minute, or do not read, stop the service. Here, one loop receives the request and
sends the response. A thread handles the request in between. Deadlines and maximum numbers limit
each client. Above a maximum, the connection that has waited longest is closed.
"""

import errno
import select
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any

from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, ThreadWorker

from ticketing.bodies import ACCEPT_BODY
from ticketing.response_times import WAITED
from ticketing.server import problems, supported
from ticketing.server.connection import Connection
from ticketing.server.request_queue import RequestQueue
from ticketing.server.shares import Share

REQUEST_SECONDS = 20.0
"""The time limit for receiving a request, head and body together."""
UPLOAD_SECONDS = 120.0
"""The time limit for receiving the body of an upload."""
UPLOADS_AT_ONCE = 2
"""How many bodies of uploads a process receives at the same time. Others get 503.

Of one organizer it receives one: slow uploads of one must not keep the others from uploading.
"""
UPLOAD_SLOW_AFTER_SECONDS = 20.0
UPLOAD_LEAST_BYTES = 16 * 1024
"""After so long, an upload must have come with at least so many bytes a second."""
SEND_SECONDS = 60.0
"""The time limit for sending a response, and for each MiB of a file."""
LINGER_SECONDS = 2.0
"""How long a connection stays half open while the client is still sending (RFC 9112, 9.6)."""
QUEUE_SECONDS = 10.0
"""How long a request may wait for a thread. After that it gets 503 and is not executed."""
GONE_SECONDS = 1.0
"""After this wait, check whether the client has disconnected. If so, drop the request."""
STOP_SECONDS = 10.0
"""The time limit for open requests and responses after a signal to stop."""
SHARE_SECONDS = 0.05
"""How often a process compares its number of connections with those of others."""
UNEVEN = 3
"""How many connections more than another a process keeps."""
YIELD_SECONDS = 0.002
"""How long a new connection is left to a process that has fewer."""
MAX_HELD_BYTES = 32 * 1024 * 1024
"""The memory limit for buffered requests and responses of all clients of a worker."""

_READ_BYTES = 64 * 1024
_FULL = (errno.EMFILE, errno.ENFILE)
_GONE = (errno.EAGAIN, errno.ECONNABORTED)


class Worker(ThreadWorker):
    """Handles sockets in one loop, and runs the application in threads.

    Only the loop uses `waiting`, ordered from the longest wait to the newest, and the poller. Only
    the loop uses a connection, except while `handle` runs.
    """

    poller: Any
    tpool: Any
    comes_first: Callable[[str], bool] = staticmethod(lambda path: False)
    """Whether a request of a path comes first in `RequestQueue`. gunicorn.conf.py sets it."""

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Exit for TLS or the PROXY protocol."""
        supported.check(cfg)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.waiting: dict[Connection, None] = {}
        self.queue = RequestQueue()
        self.uploads: set[Connection] = set()
        self.held = 0
        self._next_look = 0.0
        self.share = Share(self.age)
        self._next_share = 0.0
        self._yields_until: float | None = None
        self._accepts_next = False
        # One buffer for all reads: the loop works on when requests have used up the memory.
        self._buffer = memoryview(bytearray(_READ_BYTES))

    def load_wsgi(self) -> None:
        """Load the application. It learns how long a request waited, and of heads of uploads."""
        super().load_wsgi()
        application = self.wsgi

        def wsgi(environ: dict[str, Any], start_response: Any) -> Any:
            outbox = environ["gunicorn.socket"]
            environ[WAITED] = outbox.waited
            if outbox.is_head:
                environ[ACCEPT_BODY] = outbox.accept_body
            return application(environ, start_response)

        self.wsgi = wsgi

    def set_accept_enabled(self, enabled: bool) -> None:
        """Start or stop accepting. Before it stops, accept all connections in the queue.

        Connections in the queue are reset when this process exits. So it closes the queue: a
        client whose connection is refused has sent nothing, and can connect elsewhere.
        """
        self._end_yield()
        super().set_accept_enabled(enabled)
        if self.alive:
            return
        self.share.leave()
        for listener in self.sockets:
            queue = select.poll()
            queue.register(listener, select.POLLIN)
            while queue.poll(0):
                self.accept(listener)
            listener.close()

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Wait for events, and handle them. While it yields, do not wait for longer than that."""
        now = time.monotonic()
        if self.alive and now >= self._next_share:
            self._next_share = now + SHARE_SECONDS
            self.share.write(self.nr_conns)
            # gunicorn ends a connection with its response if as many as these are kept. So clients
            # of a process with too many connect again, after another one was replaced.
            has_too_many = self.share.is_larger(self.nr_conns - UNEVEN)
            self.max_keepalived = 0 if has_too_many else self.worker_connections
        if self._yields_until is not None:
            timeout = min(timeout, max(0.0, self._yields_until - now))
        super().wait_for_and_dispatch_events(timeout)
        if self._yields_until is not None and time.monotonic() >= self._yields_until:
            self._end_yield()
            self._accepts_next = True

    def _yield(self) -> None:
        """Leave new connections to others for a moment. What is left then, it accepts."""
        for listener in self.sockets:
            self.poller.unregister(listener)
        self._yields_until = time.monotonic() + YIELD_SECONDS

    def _end_yield(self) -> None:
        if self._yields_until is None:
            return
        self._yields_until = None
        for listener in self.sockets:
            self.poller.register(listener, selectors.EVENT_READ, self.accept)

    def accept(self, listener: Any) -> None:
        """Accept a connection. If there are too many, close the one that waited longest.

        If another process has fewer, it is left to that one first.
        """
        if self._yields_until is not None:
            return  # an event of the same round has begun to yield
        if self.alive and not self._accepts_next and self.share.is_larger(self.nr_conns):
            self._yield()
            return
        self._accepts_next = False
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
        self.share.write(self.nr_conns)
        self._wait(Connection(sock, client, listener.getsockname()), REQUEST_SECONDS)
        self._make_room()

    def enqueue_req(self, conn: Connection) -> None:
        """Queue a request for the next free thread."""
        conn.queued_at = time.monotonic()
        self.queue.add(conn, first=self.comes_first(conn.request.path))
        self.tpool.submit(self._take_turn)

    def _take_turn(self) -> None:
        """Handle the request whose turn it is. Runs in a thread."""
        conn = self.queue.take()
        if conn is None:
            return  # the request waited too long, and the loop has refused it
        keep = False
        try:
            keep = self.handle(conn)
        finally:
            self.method_queue.defer(self._finish, conn, keep)

    def handle(self, conn: Connection) -> bool:
        """Run the application. Return whether to keep the connection. Runs in a thread.

        A client that closed its half of the connection may still read the response. So only
        clients whose request had to wait are considered disconnected.
        """
        waited = time.monotonic() - conn.queued_at
        if waited > GONE_SECONDS and conn.peer_is_gone():
            self.log.info("dropped a request: the client has disconnected")
            return False
        try:
            if waited > QUEUE_SECONDS:
                raise problems.Overloaded
            conn.sock.waited = waited
            keep = bool(self.handle_request(conn.request, conn))
        except (Exception, StopIteration) as error:
            keep = False
            conn.sock.pieces.clear()
            self.handle_error(conn.request, conn.sock, conn.client, error)
        if conn.sock.accepts_body:
            return keep
        conn.unsent += conn.sock.pieces
        conn.sock.pieces.clear()
        try:
            conn.flush()
        except OSError:
            conn.unsent.clear()
            keep = False
        return keep

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Send an error response. The log does not contain what the client sent."""
        if problems.status_of(exc) == HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log.error("a request failed", exc_info=exc)
        else:
            self.log.info("rejected a request of %s: %s", addr and addr[0], type(exc).__name__)
        client.sendall(problems.answer(exc))

    def _finish(self, conn: Connection, keep: bool) -> None:
        conn.keep = keep
        if conn.sock.accepts_body:
            self._begin_upload(conn)
        else:
            self._send(conn)

    def _begin_upload(self, conn: Connection) -> None:
        """Read the body of an upload into a file, if not too many others are being read."""
        same = any(each.sock.uploader == conn.sock.uploader for each in self.uploads)
        if same or len(self.uploads) >= UPLOADS_AT_ONCE:
            self._refuse(conn, problems.TooManyUploads())
            return
        try:
            conn.begin_file()
        except OSError as error:
            self._refuse(conn, error)
            return
        self.uploads.add(conn)
        self._wait(conn, UPLOAD_SECONDS)
        self._advance(conn)

    def murder_keepalived(self, force: bool = False) -> None:
        """Close connections after their deadline, also queued ones. `force`: close all."""
        now = time.monotonic()
        if now < self._next_look and not force:
            return
        self._next_look = now + 0.5
        for conn in self.queue.take_late(now - QUEUE_SECONDS):
            self._refuse(conn, problems.Overloaded())
        for conn in [each for each in self.uploads if each in self.waiting and not each.unsent]:
            if conn.is_slower_than(UPLOAD_LEAST_BYTES, UPLOAD_SLOW_AFTER_SECONDS, now):
                self._refuse(conn, problems.TooSlow())
        for conn in [each for each in self.waiting if force or each.deadline <= now]:
            if force or conn.is_idle or conn.unsent:
                self._drop(conn)
            else:
                self._refuse(conn, problems.TooSlow())

    def murder_pending(self) -> None:
        """Do nothing: `murder_keepalived` closes all connections."""

    def _cap_keepalive(self, deadline: float) -> None:
        """Shorten every deadline before the worker stops."""
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
            return  # an earlier event of the same round has closed it
        try:
            size = conn.socket.recv_into(self._buffer)
        except BlockingIOError:
            return
        except OSError:
            size = 0
        if not size:
            self._drop(conn)
        elif not conn.lingering:
            if conn.kept and conn.is_idle:
                conn.kept = False
                conn.deadline = self._deadline(REQUEST_SECONDS)
                self.waiting[conn] = self.waiting.pop(conn)
            conn.received += self._buffer[:size]
            self._advance(conn)

    def _advance(self, conn: Connection) -> None:
        """Queue a request for a thread if it is complete, else wait for the rest."""
        try:
            whole = conn.is_whole(self.cfg)
        except Exception as error:
            # No error of one connection may end the loop, which serves all connections.
            self._refuse(conn, error)
            return
        with suppress(OSError):  # a later read or write will report it again
            conn.flush()  # 100 Continue
        if whole:
            self._leave(conn)
            self.enqueue_req(conn)
        elif conn not in self.waiting:
            self._wait(conn, REQUEST_SECONDS)
        self._count(conn)

    def _refuse(self, conn: Connection, error: Exception) -> None:
        self._leave(conn)
        conn.sock.pieces.clear()
        self.handle_error(conn.request, conn.sock, conn.client, error)
        conn.unsent += conn.sock.pieces
        conn.sock.pieces.clear()
        conn.keep = False
        self._send(conn)

    def _write(self, conn: Connection, _: Any) -> None:
        if conn in self.waiting:
            # The connection keeps its position and its deadline until all is sent.
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
            self._wait(conn, SEND_SECONDS * (1 + conn.file_bytes / 2**20), to_send=True)
        self._count(conn)

    def _after_answer(self, conn: Connection) -> None:
        self.uploads.discard(conn)
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
        self.uploads.discard(conn)
        conn.forget_file()
        conn.unsent.clear()
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
        """Close the connections that waited longest if there are too many, or too much memory."""
        while len(self.waiting) > 1 and (
            self.nr_conns >= self.worker_connections or self.held > MAX_HELD_BYTES
        ):
            self._drop(next(iter(self.waiting)))
