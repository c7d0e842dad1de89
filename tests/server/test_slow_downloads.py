"""Large files are sent from the disk: a slow client holds no thread, no memory, no transaction."""

import contextlib
import os
import re
import time
from pathlib import Path

import pytest

from bench import cpu
from tests.support.admissions import FREE
from tests.support.many_admissions import many
from tests.support.raw_http import RawServer, read_all
from tests.support.remote import PATIENCE_SECONDS, eventually
from ticketing.server.worker import REQUEST_SECONDS
from ticketing.services.exports.files import MAX_MEMORY_BYTES

pytestmark = pytest.mark.long

ROWS = 10_000
AT_ONCE = 6
"""More than the four threads of the server."""


@pytest.fixture
def event_id(acme):
    """An event whose list of attendees is large."""
    ticket = acme.ticket(capacity=None, **FREE)
    many(acme, ticket, ROWS)
    return ticket["event_id"]


@pytest.fixture
def web(database_url, event_id, tmp_path, starts_processes):
    with RawServer(database_url, tmp_path / "log", {}, WEB_CONCURRENCY="1") as server:
        yield server


def request(acme, event_id, name="attendees"):
    path = f"{acme.path}/events/{event_id}/{name}.csv"
    head = f"GET {path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {acme.admin_key}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode()


def begin(web, sent):
    """Request a file and read the beginning of the response. Again while another is written."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        sock = web.connect(sent, receive_buffer=4096)
        received = sock.recv(1024)
        if received.startswith(b"HTTP/1.1 200 "):
            return sock, received
        assert received.startswith(b"HTTP/1.1 429 "), received
        sock.close()
    raise AssertionError("always 429")


def files_on_disk(web):
    """Return how many files without a name the server has open."""
    found = 0
    for pid in cpu.tree(web.pid):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                link = os.readlink(descriptor)  # gunicorn's own file has another name
                found += bool(re.search(r"/(#\d+|tmp\w+) \(deleted\)$", link))
    return found


def test_slow_clients_of_large_files_hold_nothing_but_a_file(web, acme, event_id):
    sent = request(acme, event_id)
    sock, received = begin(web, sent)
    with sock:
        expected = received + read_all(sock)
    size = int(re.search(rb"Content-Length: (\d+)", expected)[1])
    body = expected.partition(b"\r\n\r\n")[2]
    assert len(body) == size > MAX_MEMORY_BYTES and body.count(b"\r\n") == ROWS + 1
    eventually(lambda: files_on_disk(web) == 0)
    before = cpu.pss_bytes(web.pid)
    with contextlib.ExitStack() as held:
        begun = []
        for _ in range(AT_ONCE):
            sock, received = begin(web, sent)
            begun.append((held.enter_context(sock), received))
        assert files_on_disk(web) == AT_ONCE
        assert cpu.pss_bytes(web.pid) - before < AT_ONCE * size / 2
        assert sum(web.seconds_to_answer() for _ in range(20)) < REQUEST_SECONDS / 2
        sock, received = begun.pop()
        assert (received + read_all(sock)).partition(b"\r\n\r\n")[2] == body
    eventually(lambda: files_on_disk(web) == 0)


def test_a_head_request_and_a_small_file_leave_no_file(web, acme, event_id):
    with web.connect(request(acme, event_id).replace(b"GET", b"HEAD", 1)) as sock:
        head, _, body = read_all(sock).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ") and body == b""
    small = web.one(request(acme, event_id, "orders"))
    assert small.status == 200 and small.body.endswith(
        b"confirmed_at,kept,open,items,discount_amount,voucher_id,forgiven\r\n"
    )
    assert files_on_disk(web) == 0
