"""Requests that wait for a thread: not forever, and not for a client that is gone."""

import contextlib
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys

import pytest

from tests.support.nginx import nginx_before
from tests.support.raw_http import GOOD, RawServer, answers, read_all
from tests.support.remote import PATIENCE_SECONDS, RemoteOrganizer, eventually
from ticketing.server.supported import KNOWN
from tools.stack import ROOT, free_port

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("starts_processes")]

THREADS, MANY = 4, 150
CROWD, HOLDER = "/v1/chains", "/t/none"
"""A path that anybody asks for, and one of those who have a ticket (web/precedence.py)."""


def get(path):
    """Return the bytes of a request. After its response the connection ends."""
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()


@pytest.fixture(scope="module")
def serve(sqlite_template, tmp_path_factory):
    """Start a server of one process with other numbers. Its database can be locked."""
    with contextlib.ExitStack() as running:

        def serve(**numbers):
            folder = tmp_path_factory.mktemp("web")
            path = folder / "ticketing.db"
            shutil.copy(sqlite_template, path)
            server = RawServer(f"sqlite:///{path}", folder / "log", numbers, WEB_CONCURRENCY="1")
            server.database = path
            return running.enter_context(server)

        yield serve


@pytest.fixture(scope="module")
def web(serve):
    """A server that loses patience soon."""
    return serve(QUEUE_SECONDS=2.0)


@pytest.fixture(scope="module")
def patient(serve):
    """A server that lets requests wait. Before it runs one, it checks for its client."""
    return serve(QUEUE_SECONDS=PATIENCE_SECONDS, GONE_SECONDS=0.0)


@pytest.fixture(scope="module")
def acme(web):
    return RemoteOrganizer(web, "acme")


def write(acme, title):
    """Return the bytes of a request that creates an event. Its thread waits for the database."""
    body = json.dumps(
        {"title": title, "type": "online", "start_at": "2099-01-01T00:00:00Z", "timezone": "UTC"}
    )
    return (
        f"POST {acme.path}/events HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"X-API-Key: {acme.headers['X-API-Key']}\r\nConnection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


def titles(acme):
    return {
        each["title"] for each in acme.send("GET", f"{acme.path}/events?limit=100").json["data"]
    }


@contextlib.contextmanager
def all_threads_busy(web, acme, name):
    """Keep every thread waiting for the database, until the block ends."""
    assert len(titles(acme)) >= 0  # the key's use is stored before the lock
    lock = sqlite3.connect(web.database, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    others = web.clients()
    busy = [web.connect(write(acme, f"{name} {n}")) for n in range(THREADS)]
    try:
        eventually(lambda: len(web.clients() - others) == THREADS)
        # The server's loop answers this by itself, after it has given each thread its request.
        assert web.one(b"nonsense\r\n\r\n").status == 400
        yield
    finally:
        lock.execute("ROLLBACK")
        lock.close()
    for sock in busy:
        (answer,) = answers(read_all(sock))
        assert answer.status == 201
        sock.close()


def test_a_request_that_waits_too_long_for_a_thread_gets_503_and_is_not_carried_out(web, acme):
    with all_threads_busy(web, acme, "busy"):
        with web.connect(write(acme, "too late")) as late:
            (answer,) = answers(read_all(late))  # while all threads are busy
        answer.problem(503, "overloaded")
        assert int(answer.headers["retry-after"]) > 0
        assert answer.headers["connection"] == "close"
    assert "too late" not in titles(acme)
    assert web.one(GOOD).status == 200


@pytest.fixture(scope="module")
def nginx(patient):
    with nginx_before(patient.port) as running:
        yield running


@pytest.fixture(params=["direct", "behind nginx"])
def entry(request, patient, nginx):
    """Clients connect directly, or through a proxy, which hangs up when they do."""
    behind = request.param == "behind nginx" and nginx is not None
    patient.entry = nginx.port if behind else patient.port
    yield request.param
    patient.entry = patient.port


def test_a_request_whose_client_is_gone_is_dropped_before_it_is_carried_out(patient, entry):
    acme = RemoteOrganizer(patient, entry.replace(" ", "-"))
    said = patient.log_path.read_text().count("the client has disconnected")
    with all_threads_busy(patient, acme, "busy"):
        others = patient.clients()
        stays = patient.connect(write(acme, "stays"))
        gone = [patient.connect(write(acme, "is gone")) for _ in range(2)]
        eventually(lambda: len(patient.clients() - others) == 3)
        # With a linger time of 0 a reset is sent.
        gone[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0" + b"\0" * 4)
        for sock in gone:
            sock.close()
        eventually(lambda: len(patient.clients() - others) == 1)
        last = patient.connect(write(acme, "last"))
        eventually(lambda: len(patient.clients() - others) == 2)
    for sock in (stays, last):
        (answer,) = answers(read_all(sock))
        assert answer.status == 201
        sock.close()
    eventually(
        lambda: patient.log_path.read_text().count("the client has disconnected") == said + 2
    )
    assert titles(acme) == {*(f"busy {n}" for n in range(THREADS)), "stays", "last"}


def test_many_who_wait_are_all_answered(web, acme):
    with all_threads_busy(web, acme, "crowd"):
        crowd = [web.connect(GOOD) for _ in range(100)]
        for sock in crowd:
            (answer,) = answers(read_all(sock))
            answer.problem(503, "overloaded")
            sock.close()
    assert web.one(GOOD).status == 200


@pytest.mark.parametrize(("many", "few"), [(CROWD, HOLDER), (HOLDER, CROWD)])
def test_holders_do_not_wait_behind_a_crowd_and_the_crowd_is_not_forgotten(patient, many, few):
    acme = RemoteOrganizer(patient, f"turns{many.replace('/', '-')}")
    with all_threads_busy(patient, acme, "busy"):
        others = patient.clients()
        waiting = [patient.connect(get(many)) for _ in range(MANY)]
        waiting += [patient.connect(get(few)) for _ in range(2)]
        eventually(lambda: len(patient.clients() - others) == len(waiting))
        # The server's loop answers this by itself, after it has put all others into their lines.
        assert patient.one(b"nonsense\r\n\r\n").status == 400
        before = len(patient.log_path.read_text())
    for sock in waiting:
        assert len(answers(read_all(sock))) == 1
        sock.close()
    handled = re.findall(r"route=(/t/|/v1/chains)", patient.log_path.read_text()[before:])
    assert len(handled) == len(waiting)
    # A thread that took one of the few may be slow to log it: the machine may be busy.
    assert not any(few.startswith(route) for route in handled[MANY // 2 :])


def start(*arguments):
    """Start gunicorn, which must fail. Return its messages."""
    done = subprocess.run(
        [sys.executable, "-m", "gunicorn", *arguments],
        cwd=ROOT,
        env={**os.environ, "SECRET_KEY": "x" * 32, "PORT": str(free_port())},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode != 0
    return done.stderr


@pytest.mark.parametrize("mode", ["--proxy-protocol", "--proxy-protocol=v1"])
def test_the_proxy_protocol_is_refused(mode):
    assert "--proxy-protocol is not supported" in start("app:create_app()", mode)


def test_the_worker_was_written_for_the_gunicorn_that_is_pinned():
    assert f"gunicorn=={KNOWN} " in ROOT.joinpath("requirements.txt").read_text()
