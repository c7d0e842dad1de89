"""Requests that wait for a thread: not for ever, and not for a client that is gone."""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from tests.support.factories import new_xpub
from tests.support.raw_http import GOOD, RawServer, answers, read_all
from tests.support.remote import RemoteOrganizer, eventually
from ticketing.server import supported
from tools import ToolMissing
from tools.nginx import Nginx
from tools.stack import ROOT, free_port

pytestmark = pytest.mark.usefixtures("starts_processes")

THREADS = 4
QUEUE, GONE = 2.0, 0.1


@pytest.fixture(scope="module")
def web(sqlite_template, tmp_path_factory):
    """A server of one process that loses patience soon. Its database can be locked."""
    folder = tmp_path_factory.mktemp("web")
    path = folder / "ticketing.db"
    shutil.copy(sqlite_template, path)
    numbers = {"QUEUE_SECONDS": QUEUE, "GONE_SECONDS": GONE}
    with RawServer(f"sqlite:///{path}", folder / "log", numbers, WEB_CONCURRENCY="1") as server:
        server.database = path
        yield server


@pytest.fixture(scope="module")
def acme(web):
    return RemoteOrganizer(web, "acme", new_xpub())


def write(acme, title):
    """The bytes of a request that makes an event, for which a thread waits for the database."""
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


@contextmanager
def all_threads_busy(web, acme, name):
    """Keep every thread waiting for the database, until the block ends."""
    assert len(titles(acme)) >= 0  # the key's use is noted before the lock
    lock = sqlite3.connect(web.database, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    busy = [web.connect(write(acme, f"{name} {n}")) for n in range(THREADS)]
    try:
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
            (answer,) = answers(read_all(late))  # while every thread is still busy
        answer.problem(503, "overloaded")
        assert int(answer.headers["retry-after"]) > 0
        assert answer.headers["connection"] == "close"
    assert "too late" not in titles(acme)
    assert web.one(GOOD).status == 200


@pytest.fixture(scope="module")
def nginx(web):
    """None where nginx cannot be had: the summary of the run says so."""
    try:
        running = Nginx(web.port)
    except ToolMissing:
        yield None
        return
    with running:
        yield running


@pytest.fixture(params=["direct", "behind nginx"])
def entry(request, web, nginx):
    """Clients come by themselves, or through a proxy, which hangs up when they do."""
    behind = request.param == "behind nginx" and nginx is not None
    web.entry = nginx.port if behind else web.port
    yield request.param
    web.entry = web.port


def test_a_request_whose_client_is_gone_is_dropped_before_it_is_carried_out(web, acme, entry):
    said = web.log_path.read_text().count("the client has disconnected")
    with all_threads_busy(web, acme, f"occupied {entry}"):
        stays = web.connect(write(acme, f"stays {entry}"))
        gone = [web.connect(write(acme, f"is gone {entry}")) for _ in range(2)]
        time.sleep(QUEUE / 4)  # so that nginx has passed them on
        # With a linger time of 0 a reset is sent.
        gone[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0" + b"\0" * 4)
        for sock in gone:
            sock.close()
        last = web.connect(write(acme, f"last {entry}"))
        time.sleep(QUEUE / 4)
    for sock in (stays, last):
        (answer,) = answers(read_all(sock))
        assert answer.status == 201
        sock.close()
    if web.entry == web.port:
        eventually(
            lambda: web.log_path.read_text().count("the client has disconnected") == said + 2
        )
    assert f"is gone {entry}" not in titles(acme)


def test_many_who_wait_are_all_answered(web, acme):
    with all_threads_busy(web, acme, "crowd"):
        crowd = [web.connect(GOOD) for _ in range(100)]
        for sock in crowd:
            (answer,) = answers(read_all(sock))
            answer.problem(503, "overloaded")
            sock.close()
    assert web.one(GOOD).status == 200


def start(before, *arguments):
    """Start gunicorn, with some code run before it; return what it says at its end."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{before}\nfrom gunicorn.app.wsgiapp import run\nrun()",
            *arguments,
        ],
        cwd=ROOT,
        env={**os.environ, "SECRET_KEY": "x" * 32, "PORT": str(free_port())},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode != 0
    return done.stderr


@pytest.mark.parametrize("mode", ["--proxy-protocol", "--proxy-protocol=v1"])
def test_the_proxy_protocol_is_refused(mode):
    assert "--proxy-protocol is not supported" in start("", "app:create_app()", mode)


def test_another_gunicorn_is_refused():
    said = start("import gunicorn; gunicorn.__version__ = '99.1'", "app:create_app()")
    assert f"install gunicorn {supported.SUPPORTED}; this is 99.1" in said


def test_the_worker_was_written_for_the_gunicorn_that_is_pinned():
    assert f"gunicorn=={supported.SUPPORTED} " in ROOT.joinpath("requirements.txt").read_text()
