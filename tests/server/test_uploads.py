"""Uploads: the head is checked first, the body goes to a file, and few are received at once."""

import contextlib
import json
import shutil
import time
from pathlib import Path

import pytest

from tests.support.photos import photo
from tests.support.raw_http import GOOD, RawServer, answers, read_all
from tests.support.remote import PATIENCE_SECONDS, RemoteOrganizer, eventually
from ticketing.constants import MAX_IMAGE_BYTES

PROC = Path("/proc")

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("starts_processes")]


@pytest.fixture(scope="module")
def serve(sqlite_template, tmp_path_factory):
    """Start a server of one process with other numbers."""
    with contextlib.ExitStack() as running:

        def serve(**numbers):
            folder = tmp_path_factory.mktemp("web")
            path = folder / "ticketing.db"
            shutil.copy(sqlite_template, path)
            server = RawServer(f"sqlite:///{path}", folder / "log", numbers, WEB_CONCURRENCY="1")
            return running.enter_context(server)

        yield serve


@pytest.fixture(scope="module")
def server(serve):
    return serve()


@pytest.fixture(scope="module")
def acme(server):
    return new_acme(server)


@pytest.fixture(scope="module")
def others(server, acme):
    return [RemoteOrganizer(server, slug) for slug in ("other", "third")]


def new_acme(server):
    return RemoteOrganizer(server, "acme")


def head(acme, length, path=None, key=None, *more):
    """Return the head of an upload."""
    lines = (
        f"PUT {path or acme.path + '/logo'} HTTP/1.1",
        "Host: x",
        f"X-API-Key: {key or acme.headers['X-API-Key']}",
        "Content-Type: image/png",
        f"Content-Length: {length}",
        *more,
    )
    return "\r\n".join([*lines, "", ""]).encode()


def digest_of(acme):
    return acme.send("GET", f"{acme.path}/logo").json["logo_digest"]


def open_files(server):
    """Return the sizes of the deleted files that processes of the server have open."""
    found = []
    children = (PROC / f"{server.pid}/task/{server.pid}/children").read_text().split()
    for pid in children:
        for link in (PROC / pid / "fd").iterdir():
            with contextlib.suppress(OSError):
                if "(deleted)" in str(link.readlink()) and "wgunicorn" not in str(link.readlink()):
                    found.append(link.stat().st_size)
    return found


def test_a_large_upload_arrives_whole(server, acme):
    content = photo(2000, 1800, "PNG", compress_level=0)
    assert 10_000_000 < len(content) < MAX_IMAGE_BYTES
    answer = server.one(head(acme, len(content)) + content)
    assert answer.status == 200, answer.body
    assert json.loads(answer.body)["logo_digest"] == digest_of(acme)
    assert answer.headers["connection"] == "close"


def test_an_upload_in_chunks_arrives_whole(server, acme):
    content = photo(500, 300, "PNG")
    start = head(acme, 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    pieces = [content[at : at + 1000] for at in range(0, len(content), 1000)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    answer = server.one(start + chunks + b"0\r\n\r\n")
    assert answer.status == 200, answer.body


def test_a_client_that_waits_for_100_gets_it_after_the_check(server, acme):
    content = photo(64, 64, "PNG")
    with server.connect(head(acme, len(content), None, None, "Expect: 100-continue")) as sock:
        assert sock.recv(100).startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
        sock.sendall(content)
        (answer,) = answers(read_all(sock))
    assert answer.status == 200


@pytest.mark.parametrize(
    ("path", "key", "status"),
    [
        (None, "wrong", 401),
        ("/v1/admin/tenants/other/logo", None, 403),
        ("/console/settings/logo", None, 405),
    ],
)
def test_who_may_not_upload_is_answered_before_the_body_is_read(server, acme, path, key, status):
    before = open_files(server)
    with server.connect(head(acme, 1_000_000, path, key, "Expect: 100-continue")) as sock:
        (answer,) = answers(read_all(sock))
    assert answer.status == status
    assert open_files(server) == before


def test_a_body_that_is_too_large_is_answered_before_it_is_read(server, acme):
    with server.connect(head(acme, MAX_IMAGE_BYTES + 1)) as sock:
        (answer,) = answers(read_all(sock))
    assert answer.status == 413


def test_a_chunked_body_that_is_too_large_is_refused(server, acme):
    start = head(acme, 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    with server.connect(start + b"%x\r\n" % (MAX_IMAGE_BYTES + 1)) as sock:
        (answer,) = answers(read_all(sock))
    assert answer.status == 413


def test_two_bodies_at_once_go_to_files_and_a_third_gets_503(server, acme, others):
    part = b"\x89PNG" * 250_000
    with contextlib.ExitStack() as slow:
        for each in (acme, others[0]):
            slow.enter_context(server.connect(head(each, 2_000_000) + part))
        eventually(lambda: sorted(open_files(server))[-2:] == [len(part)] * 2)
        third = server.one(head(others[1], 100) + b"x" * 100)
        assert third.status == 503
        assert third.headers["retry-after"] == "5"
        # Nobody else waits for them.
        assert server.seconds_to_answer() < 2
    eventually(lambda: server.one(head(acme, 100) + b"x" * 100).status == 422)
    eventually(lambda: len(part) not in open_files(server))


def test_of_one_organizer_one_body_is_read_at_a_time(server, acme, others):
    """Slow uploads of one keep nobody else from uploading."""
    part = b"\x89PNG" * 250_000
    with server.connect(head(acme, 2_000_000) + part):
        eventually(lambda: len(part) in open_files(server))
        again = server.one(head(acme, 100) + b"x" * 100)
        assert (again.status, again.headers["retry-after"]) == (503, "5")
        content = photo(1000, 800, "PNG")
        assert server.one(head(others[0], len(content)) + content).status == 200
    eventually(lambda: server.one(head(acme, 100) + b"x" * 100).status == 422)


def test_a_body_that_trickles_in_is_refused_long_before_its_end(serve):
    """The time is for whoever has a slow line, not for a byte a second."""
    server = serve(UPLOAD_SLOW_AFTER_SECONDS=0.5)
    acme = new_acme(server)
    with server.connect(head(acme, 5_000_000) + b"x" * 100) as sock:
        (answer,) = answers(read_all(sock))
    assert answer.status == 408
    content = photo(1000, 800, "PNG")
    assert server.one(head(acme, len(content)) + content).status == 200


def test_a_body_that_does_not_arrive_in_time_is_refused(serve):
    server = serve(UPLOAD_SECONDS=1)
    acme = new_acme(server)
    start = time.monotonic()
    with server.connect(head(acme, 1000) + b"x") as sock:
        (answer,) = answers(read_all(sock))
    assert answer.status == 408
    assert time.monotonic() - start < PATIENCE_SECONDS
    assert server.one(GOOD).status == 200
