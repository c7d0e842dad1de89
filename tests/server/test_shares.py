"""New connections go to the process that has fewer, also after one was killed or replaced."""

import http.client
import os
import signal
import threading
from pathlib import Path

import pytest

from tests.support.databases import only_once
from tests.support.remote import eventually

pytestmark = [pytest.mark.long, only_once]


class Clients:
    """Clients with kept connections, which open new ones when theirs end. A context manager."""

    def __init__(self, port, number):
        self.port, self.answers = port, [0] * number
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(number)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, number):
        while not self._done.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            try:
                while not self._done.wait(0.01):
                    connection.request("GET", "/healthz")
                    assert connection.getresponse().read()
                    self.answers[number] += 1
            except (OSError, http.client.HTTPException):
                continue  # its process was killed
            finally:
                connection.close()


def sockets(pid):
    """The number of sockets of a process."""
    links = Path(f"/proc/{pid}/fd").iterdir()
    return sum(link.readlink().name.startswith("socket:") for link in links)


def children(pid):
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture
def spread(stack):
    """Return how many connections each process has."""
    master = stack.pid("web")
    eventually(lambda: len(children(master)) == 2)
    # The first connection, which asked whether the server is ready, ends by itself.
    eventually(lambda: len({sockets(pid) for pid in children(master)}) == 1)
    own = sockets(children(master)[0])

    def spread():
        try:
            return sorted(sockets(pid) - own for pid in children(master))
        except OSError:
            return []  # one has just ended

    spread.master = master
    return spread


def is_even(found, number):
    return len(found) == 2 and sum(found) == number and found[1] - found[0] <= 4


@pytest.mark.parametrize("number", [2, 3, 32])
def test_connections_are_spread_evenly(stack, spread, number):
    with Clients(stack.port, number) as clients:
        eventually(lambda: min(clients.answers) > 20)
        assert is_even(spread(), number), spread()


def test_they_are_even_after_a_process_was_killed_and_after_a_reload(stack, spread):
    with Clients(stack.port, 16) as clients:
        eventually(lambda: is_even(spread(), 16))
        for signalled, to in ((signal.SIGKILL, "one"), (signal.SIGHUP, "all")):
            before = children(spread.master)
            os.kill(before[0] if to == "one" else spread.master, signalled)
            eventually(lambda before=before: before[0] not in children(spread.master))
            answered = [*clients.answers]
            eventually(
                lambda answered=answered: all(
                    new > old + 20 for new, old in zip(clients.answers, answered, strict=True)
                )
            )
        eventually(lambda: is_even(spread(), 16))
