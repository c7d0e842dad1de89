"""Waiting rooms in real processes: killed ones lose no place, and a crowd opens the room."""

import os
import signal
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.support.processes import new_seat, variables_of
from tests.support.remote import eventually
from tools.json_client import Client

pytestmark = pytest.mark.long

PROGRAMS = 120


@pytest.fixture
def variables(database_url):
    """Each program has an address of its own."""
    return variables_of(database_url, TRUSTED_PROXIES="127.0.0.1/32")


@pytest.fixture
def seat(remote):
    """A free ticket type of `remote`."""
    return new_seat(remote)


class Program:
    """Orders one ticket, with the token of the answer before."""

    def __init__(self, stack, remote, seat, number):
        self.client, self.remote, self.seat = Client(stack.url), remote, seat
        self.address = f"198.51.{number // 250}.{number % 250}"
        self.token, self.ordered_in = None, None

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
    programs = [Program(stack, remote, seat, number) for number in range(PROGRAMS)]
    for each in programs:
        assert not each.ask()
    programs.sort(key=lambda each: each.position)
    places = {each: each.position for each in programs}

    waiting, turn = list(programs), 0
    while waiting:
        turn += 1
        if turn in (2, 4, 6):  # one process, and then all of them
            for pid in children(stack.pid("web"))[: 1 if turn == 2 else None]:
                os.kill(pid, signal.SIGKILL)
            eventually(lambda: len(children(stack.pid("web"))) == 2)
            eventually(lambda: remote.send("GET", "/healthz").status == 200)
        for each in list(waiting):
            assert each.position == places[each]
            if each.ask():
                each.ordered_in = turn
                waiting.remove(each)
        time.sleep(0.3)
        assert turn < 400

    # Who came earlier was not later than one round after somebody who came later.
    for index, each in enumerate(programs):
        later = [other.ordered_in for other in programs[index + 1 :]]
        assert each.ordered_in <= min(later, default=turn) + 1
    assert programs[0].ordered_in < programs[-1].ordered_in


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
        threading.Thread(target=Program(stack, remote, seat, number).ask) for number in range(60)
    ]
    for each in crowd:
        each.start()
    time.sleep(4)  # nobody is served meanwhile: this is what the room reacts to
    released.set()
    for each in (holder, *crowd):
        each.join()

    program = Program(stack, remote, seat, 100)
    eventually(lambda: program.ask() or program.token is not None)
    assert room_of(remote, seat)["is_open"]
    eventually(program.ask)
