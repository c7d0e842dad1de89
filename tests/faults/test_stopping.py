"""SIGTERM under load, killed processes, and processes without memory."""

import contextlib
import http.client
import json
import os
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from tests.conftest import SECRET_KEY
from tests.support.bad_node import BadNode
from tests.support.databases import only_once
from tests.support.factories import PRICE, event_body
from tests.support.faults import (
    Load,
    family,
    order,
    reading_and_buying,
    runs,
)
from tests.support.raw_http import is_read
from tests.support.remote import PATIENCE_SECONDS, eventually
from tools import anvil
from tools.stack import ROOT, free_port

pytestmark = pytest.mark.long

CLIENTS = 16


class Buyers:
    """Clients that buy one after another, and count each outcome.

    A refused connection does not count: nothing was sent. Everything else must get a response.
    """

    def __init__(self, stack, remote, seat, *, keep):
        self.seen, self.done = Counter(), threading.Event()
        self.port, self.keep = stack.port, keep
        self.request = ("POST", f"{remote.checkout}/preflight", json.dumps(order(seat)))
        self.threads = [threading.Thread(target=self.run) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        connection = None
        while not self.done.is_set():
            if connection is None:
                connection = http.client.HTTPConnection(
                    "127.0.0.1", self.port, timeout=PATIENCE_SECONDS
                )
                try:
                    connection.connect()
                except ConnectionRefusedError:
                    connection = None
                    self.seen["refused"] += 1
                    time.sleep(0.01)
                    continue
            try:
                connection.request(*self.request, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                self.seen[answer.status] += 1
            except (OSError, http.client.HTTPException) as error:
                self.seen[f"lost: {type(error).__name__}"] += 1
            if not self.keep or answer.will_close:
                connection.close()
                connection = None
        if connection:
            connection.close()

    def stop(self):
        self.done.set()
        for thread in self.threads:
            thread.join()


@pytest.mark.parametrize(
    ("database_url", "keep"), [("sqlite", True), ("postgres", False)], indirect=["database_url"]
)
def test_sigterm_under_load_loses_no_request(stack, remote, seat, keep):
    buyers = Buyers(stack, remote, seat, keep=keep)
    eventually(lambda: buyers.seen[201] > 3 * CLIENTS)
    assert stack.terminate()(PATIENCE_SECONDS) == 0
    eventually(lambda: buyers.seen["refused"] > CLIENTS)
    stack.start_web()
    before = buyers.seen[201]
    eventually(lambda: buyers.seen[201] > before + CLIENTS)
    buyers.stop()
    assert buyers.seen.keys() == {201, "refused"}
    assert remote.read(seat)["held"] == buyers.seen[201]


def lock(stack, ticket):
    """Lock a ticket type against sales until the returned connection is closed."""
    if stack.database_url.startswith("sqlite"):
        path = stack.database_url.removeprefix("sqlite:///")
        other = sqlite3.connect(path, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
    else:
        other = psycopg.connect(stack.database_url)
        other.execute("SELECT 1 FROM ticket_types WHERE id = %s FOR UPDATE", [ticket["id"]])
    return other


def test_a_request_in_the_middle_of_its_work_is_finished_after_sigterm(stack, remote, seat):
    body = json.dumps(order(seat))
    path, headers = f"{remote.checkout}/preflight", {"Content-Type": "application/json"}
    waiting = [http.client.HTTPConnection("127.0.0.1", stack.port) for _ in range(2)]
    with contextlib.closing(lock(stack, seat)):
        for each in waiting:
            each.request("POST", path, body, headers)
        eventually(lambda: is_read(each.sock for each in waiting))
        wait = stack.terminate()
        eventually(lambda: not accepts(stack.port))
        assert select.select([each.sock for each in waiting], [], [], 0)[0] == []
        with pytest.raises(subprocess.TimeoutExpired):
            wait(0.1)
    for each in waiting:
        assert each.getresponse().status == 201
        each.close()
    assert wait(PATIENCE_SECONDS) == 0


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS).close()
    except (ConnectionRefusedError, ConnectionResetError):
        return False  # reset: the listener closed in the middle
    return True


def test_a_web_process_that_is_killed_is_replaced_while_the_other_serves_on(stack, remote, seat):
    eventually(lambda: len(family(stack.pid())) == 3)
    before = family(stack.pid())[1:]
    victim = before[0]
    with Load(stack.url, reading_and_buying(remote, seat), clients=8) as load:
        load.wait_for(40)
        os.kill(victim, signal.SIGKILL)
        load.wait_for(80)
        eventually(lambda: len(family(stack.pid())) == 3 and not runs(victim))
        end = time.monotonic()
        load.wait_for(40)
    after = family(stack.pid())[1:]
    assert victim not in after and before[1] in after
    counts = load.counts()
    cut = sum(times for outcome, times in counts.items() if isinstance(outcome, str))
    assert counts.keys() - {200, 201} <= {"ProtocolError"}
    assert cut <= 8
    assert load.counts(since=end).keys() == {200, 201}
    # If a response was cut off, nobody knows whether the request was executed.
    assert counts[201] <= remote.read(seat)["held"] <= counts[201] + cut


@only_once
def test_a_web_process_without_memory_refuses_and_serves_again_once_it_has_some(
    stack, remote, seat
):
    events = f"{remote.path}/events"
    for _ in range(40):
        remote.send("POST", events, {**event_body(), "description": "x" * 10_000})

    def ask(client, number):
        if number % 2:
            return client.send("POST", f"{remote.checkout}/preflight", order(seat))
        return client.send("GET", f"{events}?limit=100", headers=remote.headers)

    eventually(lambda: len(family(stack.pid())) == 3)
    with Load(stack.url, ask, clients=8) as load:
        load.wait_for(80)
        # If the loop itself gets no memory, its process ends. Another one follows, and is starved.
        eventually(lambda: starve(family(stack.pid())[1:]) or load.counts()[500] > 0)
        for pid in family(stack.pid())[1:]:
            limit_memory(pid, "unlimited")
        eventually(lambda: len(family(stack.pid())) == 3)
        load.wait_for(16)
        end = time.monotonic()
        load.wait_for(40)
    assert "MemoryError" in stack.log_path.read_text()
    stack.log_path.write_text("")  # tracebacks are expected in it
    counts = load.counts()
    assert counts.keys() <= {200, 201, 500, 503, "ProtocolError"}
    assert load.counts(since=end).keys() == {200, 201}
    unknown = counts["ProtocolError"] + counts[500]
    assert counts[201] <= remote.read(seat)["held"] <= counts[201] + unknown


def starve(pids):
    """Leave the processes not one byte more than they have.

    A process with one thread has not served yet. It is left out: gunicorn stops if one of its
    processes cannot start.
    """
    for pid in pids:
        if runs(pid) and len(list(Path(f"/proc/{pid}/task").glob("*"))) > 1:
            limit_memory(pid, 2**20)


def limit_memory(pid, size):
    # It fails if the process has just ended.
    subprocess.run(["prlimit", "--pid", str(pid), f"--data={size}:"], check=False)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_sigterm_in_the_middle_of_a_look_lets_the_worker_finish_it(stack, remote, node):
    with BadNode(node.url) as proxy:
        stack.environ["RPC_URL_31337"] = proxy.url
        stack.kill("web")
        stack.start_web()
        ticket = remote.ticket()
        stack.start_worker()
        eventually(lambda: remote.ready()["chains"][0]["block_number"] is not None)
        intent = remote.preflight(ticket).json
        proxy.delay = 0.5
        anvil.transfer(node.rpc, intent["token_address"], intent["address"], PRICE)
        asked = proxy.calls["eth_getLogs"]
        eventually(lambda: proxy.calls["eth_getLogs"] > asked)
        assert stack.terminate("worker")(PATIENCE_SECONDS) == 0
        assert remote.intent(intent)["status"] == "confirmed"


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_sigterm_while_the_database_is_away_ends_the_worker_all_the_same(
    stack, postgres, database_url
):
    name = database_url.rsplit("/", 1)[1]
    stack.start_worker()
    with psycopg.connect(postgres.url, autocommit=True) as other:
        other.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
        )
        try:
            eventually(lambda: " database: " in stack.log_path.read_text())
            assert stack.terminate("worker")(PATIENCE_SECONDS) == 0
        finally:
            other.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


def test_a_process_that_has_just_begun_hears_sigterm_too(tmp_path, starts_processes):
    """It pauses between its fork and the moment at which it handles signals."""
    slow = tmp_path / "slow.conf.py"
    project = repr(str(ROOT / "gunicorn.conf.py"))
    slow.write_text(
        f"import time\nexec(open({project}).read())\n"
        "def post_fork(server, worker):\n    server.log.info('forked')\n    time.sleep(1)\n"
    )
    variables = {
        **os.environ,
        "DATABASE_URL": f"sqlite:///{tmp_path}/x.db",
        "SECRET_KEY": SECRET_KEY,
        "PORT": str(free_port()),
    }
    command = [sys.executable, "-m", "gunicorn", "-c", str(slow), "app:create_app()"]
    log = tmp_path / "log"
    with log.open("wb") as output:
        master = subprocess.Popen(command, cwd=ROOT, env=variables, stderr=output)
        eventually(lambda: log.read_text().count("forked") == 2)
        master.terminate()
        assert master.wait(PATIENCE_SECONDS) == 0
