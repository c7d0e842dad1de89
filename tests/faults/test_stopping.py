"""SIGTERM under load, and processes that are killed or run out of memory."""

import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.conftest import SECRET_KEY, UNREACHABLE_RPC
from tests.support.bad_node import BadNode
from tests.support.factories import PRICE, event_body, new_xpub
from tests.support.faults import (
    UNLIMITED,
    Load,
    family,
    order,
    reading_and_buying,
    runs,
    seconds_until,
    sql,
    web,
)
from tests.support.remote import RemoteOrganizer, eventually
from tools import anvil
from tools.stack import ROOT, Stack, free_port

CLIENTS = 16


@pytest.fixture
def stack(database_url, tmp_path):
    variables = {
        "DATABASE_URL": database_url,
        "SECRET_KEY": SECRET_KEY,
        "PORT": str(free_port()),
        "RPC_URL_31337": UNREACHABLE_RPC,
        "POLL_SECONDS": "0.1",
        "WEB_CONCURRENCY": "2",
        **UNLIMITED,
    }
    with Stack(variables, log=tmp_path / "log") as running:
        running.database_url, running.log_path = database_url, tmp_path / "log"
        running.start_web()
        yield running
        assert json.loads(running.flask("reconcile", "--json"))["ok"] is True
        if "web" in running._processes:
            running.kill("web")  # It would wait for those who keep their connections.


@pytest.fixture
def acme(stack):
    return RemoteOrganizer(stack, "acme", new_xpub())


@pytest.fixture
def seat(acme):
    return acme.ticket(price_amount=0, chain_id=None, capacity=None)


class Buyers:
    """Clients that buy one after another, and count what became of each request.

    A connection that is refused is none: nothing was sent. All else is to be answered.
    """

    def __init__(self, stack, acme, seat, *, keep):
        self.seen, self.done = Counter(), threading.Event()
        self.port, self.keep = stack.port, keep
        self.request = ("POST", f"{acme.checkout}/preflight", json.dumps(order(seat)))
        self.threads = [threading.Thread(target=self.run) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        connection = None
        while not self.done.is_set():
            if connection is None:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
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
def test_sigterm_under_load_loses_no_request(stack, acme, seat, keep):
    buyers = Buyers(stack, acme, seat, keep=keep)
    eventually(lambda: buyers.seen[201] > 3 * CLIENTS)
    master = stack._processes.pop("web")
    asked = time.monotonic()
    master.terminate()
    assert master.wait(20) == 0
    assert time.monotonic() - asked < 5
    eventually(lambda: buyers.seen["refused"] > CLIENTS)
    stack.start_web()
    before = buyers.seen[201]
    eventually(lambda: buyers.seen[201] > before + CLIENTS)
    buyers.stop()
    assert buyers.seen.keys() == {201, "refused"}
    assert acme.read(seat)["held"] == buyers.seen[201]
    assert "Traceback" not in stack.log_path.read_text()


def lock(stack, ticket):
    """Keep a ticket type from being sold until the connection that is returned is closed."""
    if stack.database_url.startswith("sqlite"):
        path = stack.database_url.removeprefix("sqlite:///")
        other = sqlite3.connect(path, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
    else:
        other = psycopg.connect(stack.database_url)
        other.execute("SELECT 1 FROM ticket_types WHERE id = %s FOR UPDATE", [ticket["id"]])
    return other


def test_a_request_in_the_middle_of_its_work_is_finished_after_sigterm(stack, acme, seat):
    other = lock(stack, seat)
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(acme.preflight, seat) for _ in range(2)]
        eventually(lambda: is_waiting(stack, 2))
        master = stack._processes.pop("web")
        master.terminate()
        eventually(lambda: not accepts(stack.port))
        assert not any(each.done() for each in waiting)
        assert master.poll() is None
        other.close()
        assert [each.result().status for each in waiting] == [201, 201]
    assert master.wait(10) == 0


def is_waiting(stack, many):
    """Whether so many requests wait for the lock. SQLite cannot tell."""
    if stack.database_url.startswith("sqlite"):
        time.sleep(0.5)
        return True
    waiting = "SELECT pid FROM pg_locks WHERE NOT granted"
    return len(sql(stack.database_url, waiting)) == many


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except ConnectionRefusedError:
        return False
    return True


def test_a_web_process_that_is_killed_is_replaced_while_the_other_serves_on(stack, acme, seat):
    before = family(web(stack))[1:]
    victim = before[0]
    with Load(stack.url, reading_and_buying(acme, seat), clients=8) as load:
        load.wait_for(40)
        os.kill(victim, signal.SIGKILL)
        load.wait_for(80)
        eventually(lambda: len(family(web(stack))) == 3 and not runs(victim))
        end = time.monotonic()
        load.wait_for(40)
    after = family(web(stack))[1:]
    assert victim not in after and before[1] in after
    counts = load.counts()
    cut = sum(times for outcome, times in counts.items() if isinstance(outcome, str))
    assert counts.keys() - {200, 201} <= {"ProtocolError"}
    assert cut <= 8
    assert load.counts(since=end).keys() == {200, 201}
    # Of a request whose answer was cut off nobody can tell whether it was carried out.
    assert counts[201] <= acme.read(seat)["held"] <= counts[201] + cut


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_web_process_without_memory_refuses_and_serves_again_once_it_has_some(stack, acme, seat):
    events = f"{acme.path}/events"
    for _ in range(40):
        acme.send("POST", events, {**event_body(), "description": "x" * 10_000})

    def ask(client, number):
        if number % 2:
            return client.send("POST", f"{acme.checkout}/preflight", order(seat))
        return client.send("GET", f"{events}?limit=100", headers=acme.headers)

    with Load(stack.url, ask, clients=8) as load:
        load.wait_for(80)
        for pid in family(web(stack))[1:]:
            # Not a byte more than one that does nothing has.
            limit_memory(pid, 2**20)
        eventually(lambda: "MemoryError" in stack.log_path.read_text() and load.counts()[500] > 0)
        for pid in filter(runs, family(web(stack))[1:]):
            limit_memory(pid, "unlimited")
        eventually(lambda: len(family(web(stack))) == 3)
        load.wait_for(16)
        end = time.monotonic()
        load.wait_for(40)
    counts = load.counts()
    assert counts.keys() <= {200, 201, 500, 503, "ProtocolError"}
    assert load.counts(since=end).keys() == {200, 201}
    unknown = counts["ProtocolError"] + counts[500]
    assert counts[201] <= acme.read(seat)["held"] <= counts[201] + unknown


def limit_memory(pid, size):
    subprocess.run(["prlimit", "--pid", str(pid), f"--data={size}:"], check=True)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_sigterm_in_the_middle_of_a_look_lets_the_worker_finish_it(stack, acme, node):
    with BadNode(node.url) as proxy:
        stack.environ["RPC_URL_31337"] = proxy.url
        stack.kill("web")
        stack.start_web()
        ticket = acme.ticket()
        stack.start_worker()
        eventually(lambda: acme.ready()["chains"][0]["block_number"] is not None)
        intent = acme.preflight(ticket).json
        proxy.delay = 0.5
        anvil.transfer(node.rpc, intent["token_address"], intent["address"], PRICE)
        asked = proxy.calls["eth_getLogs"]
        eventually(lambda: proxy.calls["eth_getLogs"] > asked)
        worker = stack._processes.pop("worker")
        worker.terminate()
        assert worker.wait(10) == 0
        assert acme.intent(intent)["status"] == "confirmed"
        assert "Traceback" not in stack.log_path.read_text()


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
            seconds_until(lambda: "the database:" in stack.log_path.read_text())
            worker = stack._processes.pop("worker")
            worker.terminate()
            assert worker.wait(10) == 0
        finally:
            other.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
    assert "Traceback" not in stack.log_path.read_text()


def test_a_process_that_has_just_begun_hears_sigterm_too(tmp_path):
    """Between its fork and the moment at which it listens for signals it is held up here."""
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
        assert master.wait(10) == 0
