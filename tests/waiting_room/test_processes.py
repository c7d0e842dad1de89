"""Waiting rooms in real processes: killed ones lose no place, and a crowd opens the room."""

import os
import signal
import sqlite3
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

from tests.support.processes import new_seat, new_tenant, variables_of
from tests.support.remote import eventually
from tools import ToolMissing
from tools.json_client import Client
from tools.namespaces import Network
from tools.postgres import Postgres
from tools.stack import Stack

pytestmark = pytest.mark.long

PROGRAMS = 120
LATE_SECONDS = 5
"""How late a process may read the row of a room. It looks each second, on a busy machine later."""


@pytest.fixture
def variables(database_url):
    """Each program has an address of its own."""
    return variables_of(database_url, TRUSTED_PROXIES="127.0.0.1/32")


@pytest.fixture
def seat(remote):
    """A free ticket type of `remote`."""
    return new_seat(remote)


class Program:
    """Orders one ticket, with the token of the answer before. `url`: of the host that it asks."""

    def __init__(self, url, remote, seat, number):
        self.client, self.remote, self.seat = Client(url), remote, seat
        self.address = f"198.51.{number // 250}.{number % 250}"
        self.token = None

    def ask(self):
        headers = {"X-Forwarded-For": self.address}
        if self.token:
            headers["Waiting-Room-Token"] = self.token
        body = {"event_id": self.seat["event_id"], "ticket_id": self.seat["id"]}
        answer = self.client.send("POST", f"{self.remote.checkout}/preflight", body, headers)
        if answer.status == 429:
            self.token = answer.json["token"]
        else:
            assert answer.status in (201, 503), answer.json
        return answer.status == 201

    @property
    def position(self):
        return int(self.token.split("_")[1])


def room_of(remote, seat):
    path = f"{remote.path}/events/{seat['event_id']}/waiting-room"
    return remote.send("GET", path).json


def children(pid):
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_processes_that_are_killed_lose_no_place(stack, remote, seat):
    switched = {"waiting_room": "on"}
    path = f"{remote.path}/events/{seat['event_id']}"
    assert remote.send("PATCH", path, switched).status == 200
    programs = [Program(stack.url, remote, seat, number) for number in range(PROGRAMS)]

    def kill_some(turn):
        if turn in (2, 4, 6):  # one process, and then all of them
            for pid in children(stack.pid("web"))[: 1 if turn == 2 else None]:
                os.kill(pid, signal.SIGKILL)
            eventually(lambda: len(children(stack.pid("web"))) == 2)
            eventually(lambda: remote.send("GET", "/healthz").status == 200)

    assert_all_order_in_turn(programs, kill_some)


def assert_all_order_in_turn(programs, before_turn):
    """Let all come, and ask in turn until each has ordered: who came earlier is never overtaken.

    Those with the last places ask first. If one of them is admitted, all earlier ones must be, when
    they ask some seconds later: until then each process has read the row of the room.
    """
    for each in programs:
        assert not each.ask()
    waiting = sorted(programs, key=lambda each: each.position, reverse=True)
    places = {each: each.position for each in programs}
    admitted, turn = [], 0
    while waiting:
        turn += 1
        before_turn(turn)
        for each in list(waiting):
            assert each.position == places[each]
            asked_at = time.monotonic()
            if each.ask():
                waiting.remove(each)
                admitted.append((time.monotonic(), places[each]))
            else:
                before = [place for at, place in admitted if at < asked_at - LATE_SECONDS]
                assert max(before, default=0) < places[each]
        time.sleep(0.3)  # to ask without a pause would prove no more
        assert turn < 400


@pytest.fixture
def network():
    try:
        with Network() as running:
            yield running
    except ToolMissing as missing:
        pytest.skip(str(missing))


def test_two_hosts_agree_and_one_goes_on_without_the_other(network, tmp_path):
    of_database = network.join()
    with Postgres(own=True, on=of_database) as server, ExitStack() as running:
        variables = variables_of(
            server.create_database("hosts"), TRUSTED_PROXIES=network.address, WEB_CONCURRENCY="1"
        )
        first, second = (
            running.enter_context(Stack(variables, log=tmp_path / name, on=network.join()))
            for name in ("first", "second")
        )
        first.flask("db", "upgrade")
        first.start_web()
        second.start_web()
        remote = new_tenant(first)
        seat = new_seat(remote)
        path = f"{remote.path}/events/{seat['event_id']}"
        assert remote.send("PATCH", path, {"waiting_room": "on"}).status == 200
        programs = [
            Program((first, second)[number % 2].url, remote, seat, number)
            for number in range(PROGRAMS)
        ]

        def lose_a_host(turn):
            if turn == 4:
                first.kill("web")
                for each in programs:
                    each.client = Client(second.url)

        assert_all_order_in_turn(programs, lose_a_host)


def hold_stock(database_url, released):
    """Keep all orders waiting until `released` is set."""
    if database_url.startswith("sqlite:"):
        file = database_url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            released.wait(30)
            connection.execute("ROLLBACK")
    else:
        with psycopg.connect(database_url) as connection:
            connection.execute("LOCK TABLE ticket_types IN EXCLUSIVE MODE")
            released.wait(30)


def test_a_crowd_that_the_service_cannot_serve_opens_the_room(stack, remote, seat):
    assert not room_of(remote, seat)["is_open"]
    released = threading.Event()
    holder = threading.Thread(target=hold_stock, args=(stack.database_url, released))
    holder.start()
    crowd = [
        threading.Thread(target=Program(stack.url, remote, seat, number).ask)
        for number in range(60)
    ]
    for each in crowd:
        each.start()
    time.sleep(4)  # nobody is served meanwhile: this is what the room reacts to
    released.set()
    for each in (holder, *crowd):
        each.join()

    program = Program(stack.url, remote, seat, 100)
    eventually(lambda: program.ask() or program.token is not None)
    assert room_of(remote, seat)["is_open"]
    eventually(program.ask)
