"""Slow clients must not slow down others."""

import contextlib
import json
import os
import select
import shutil
import socket
import time

import pytest

from bench import cpu
from tests.support.raw_http import (
    GOOD,
    POST,
    RawServer,
    answers,
    is_read,
    many_files,
    read_all,
    read_one,
)
from tests.support.remote import eventually
from ticketing.server.worker import REQUEST_SECONDS

pytestmark = pytest.mark.long

KEPT = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
LONG = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
LONGEST = LONG.replace(b"/openapi.json", b"/static/swagger-ui/swagger-ui-bundle.js")
SLOW = {
    "says nothing": b"",
    "sends a part of the request line": b"GET /hea",
    "sends a part of the headers": b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A",
    "sends a part of the body": POST + b"Content-Length: 60000\r\n\r\n{",
    "sends a part of a chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nff\r\n{",
    "never sends the body that was refused": POST + b"Content-Length: 70000\r\n\r\n{",
    "is answered and says nothing more": KEPT,
    "is answered and does not close": GOOD,
    "does not read": LONG * 40,
}
AT_ONCE = 40
QUICK = {"REQUEST_SECONDS": 2, "SEND_SECONDS": 2}


@pytest.fixture(scope="module")
def start(sqlite_template, tmp_path_factory, starts_processes):
    """Return a function that starts a server with other numbers."""
    with contextlib.ExitStack() as running:

        def start(**numbers):
            folder = tmp_path_factory.mktemp("web")
            shutil.copy(sqlite_template, folder / "ticketing.db")
            url = f"sqlite:///{folder / 'ticketing.db'}"
            return running.enter_context(RawServer(url, folder / "log", numbers))

        yield start


@pytest.fixture(scope="module")
def web(start):
    """The server with its normal numbers."""
    return start()


@pytest.fixture(scope="module")
def quick(start):
    """A server with short time limits."""
    return start(**QUICK)


@pytest.fixture(scope="module")
def frugal(start):
    """A server that buffers less."""
    return start(MAX_HELD_BYTES=2_000_000)


@pytest.fixture
def held():
    """Return a function that closes a connection at the end of the test."""
    with contextlib.ExitStack() as stack:
        yield lambda sock: stack.enter_context(sock)


def assert_nobody_waits(server):
    """Check that twenty others get responses in half of the time limit of a slow client."""
    assert sum(server.seconds_to_answer() for _ in range(20)) < REQUEST_SECONDS / 2


@pytest.mark.parametrize("kind", SLOW)
def test_slow_clients_keep_nobody_waiting_who(kind, web, held):
    buffer = 2048 if kind == "does not read" else 0
    for _ in range(AT_ONCE):
        held(web.connect(SLOW[kind], receive_buffer=buffer))
    assert_nobody_waits(web)


def test_2000_connections_that_say_nothing_keep_nobody_waiting(web, held):
    with many_files():
        silent = [held(web.connect()) for _ in range(2000)]
        assert_nobody_waits(web)
        # Only as many stay open as two processes have room for.
        eventually(lambda: sum(is_hung_up_on(sock) for sock in silent) >= 1000)
    for pid in cpu.tree(web.pid):
        assert len(os.listdir(f"/proc/{pid}/fd")) < 600


def is_hung_up_on(sock):
    """Return whether the server has closed a connection without a response."""
    sock.setblocking(False)
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("kind", list(SLOW)[1:5])
def test_a_request_that_does_not_arrive_whole_in_time_is_told_so(kind, quick, held):
    sock = held(quick.connect(SLOW[kind]))
    # A byte now and then does not extend the limit. Send bytes until there is a response.
    for _ in range(200):
        if select.select([sock], [], [], 0.2)[0]:
            break
        sock.sendall(b"a")
    (answer,) = answers(read_all(sock))
    answer.problem(408, "request_timeout")
    assert answer.headers["connection"] == "close"


def test_who_says_nothing_is_hung_up_on_without_a_word(quick, held):
    silent, answered = held(quick.connect()), held(quick.connect(KEPT))
    assert read_one(answered).status == 200
    assert read_all(silent) == read_all(answered) == b""


def test_who_reads_next_to_nothing_is_hung_up_on(quick, held):
    sock = held(quick.connect(LONG * 40, receive_buffer=2048))
    size = len(read_one(held(quick.connect(LONG))).body)
    received = 0
    with contextlib.suppress(ConnectionError):
        for _ in range(80):
            time.sleep(0.05)  # a little now and then does not extend the limit
            received += len(sock.recv(256))
        received += len(read_all(sock))
    assert received < 40 * size


def test_who_reads_slowly_gets_everything(web, held):
    sock = held(web.connect(LONG * 10, receive_buffer=4096))
    received = b""
    while len(answers(received)) < 10:
        for _ in range(40):
            received += sock.recv(16384)
        time.sleep(0.001)
    bodies = {answer.body for answer in answers(received)}
    assert len(bodies) == 1 and json.loads(bodies.pop())["openapi"]


@pytest.mark.parametrize("kind", ["length", "chunks"])
def test_who_sends_a_byte_at_a_time_is_served(kind, web, held):
    body = b'{"api_key": "x"}'
    if kind == "length":
        request = POST + b"Content-Length: 16\r\n\r\n" + body
    else:
        chunks = b"".join(b"1;a=b\r\n%c\r\n" % byte for byte in body)
        request = POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nX-A: b\r\n\r\n"
    sock = held(web.connect())
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(2):
        for byte in request:
            sock.sendall(bytes([byte]))
        read_one(sock).problem(401, "invalid_credentials")


def test_what_slow_clients_leave_in_memory_is_bounded(frugal, held):
    whole = POST + b"Content-Length: 60000\r\n\r\n" + b"{" * 59_999
    before = cpu.pss_bytes(frugal.pid)
    socks = [held(frugal.connect(whole)) for _ in range(200)]
    # 12 MB were sent, and two processes buffer 2 MB each.
    eventually(lambda: sum(is_hung_up_on(sock) for sock in socks) >= 120)
    assert cpu.pss_bytes(frugal.pid) - before < 12_000_000
    assert_nobody_waits(frugal)


def test_200_of_the_largest_bodies_at_once_leave_no_more_memory_the_tenth_time(web, held):
    body = b'{"api_key":"' + b"x" * (64 * 1024 - 14) + b'"}'
    request = POST + b"Content-Length: %d\r\n\r\n" % len(body) + body
    sizes = []
    for _ in range(10):
        socks = [web.connect(request[:-1]) for _ in range(200)]
        for sock in socks:
            sock.sendall(request[-1:])
        for sock in socks:
            read_one(sock).problem(422, "invalid_request")
            sock.close()
        sizes.append(cpu.pss_bytes(web.pid))
    assert sizes[-1] - sizes[2] < 10_000_000, sizes


def test_it_stops_in_order_whoever_is_slow(start, held):
    # Only what a stop allows itself ends it before the patience of this test does.
    web = start(REQUEST_SECONDS=3600, SEND_SECONDS=3600)
    kept, part = held(web.connect(KEPT)), held(web.connect(SLOW["sends a part of the headers"]))
    held(web.connect())
    assert read_one(kept).status == 200
    eventually(lambda: is_read([part]))
    # Some of them are being answered when it is to stop. More of them would fill its memory, and
    # the connection that has waited longest would be closed.
    for _ in range(AT_ONCE // 4):
        held(web.connect(LONGEST * 40, receive_buffer=2048))
    web.terminate()
    eventually(lambda: "Handling signal: term" in web.log_path.read_text())
    part.sendall(b": b\r\n\r\n")
    answer = read_one(part)
    assert (answer.status, answer.headers["connection"]) == (200, "close")
    assert web.wait() == 0
    assert "Traceback" not in web.log_path.read_text()
