"""The service in processes of its own: the fixtures of every test of real processes.

    def test_something(stack, node, remote, seat): ...

`stack` is the web server, `remote` a tenant of it, `seat` a ticket type that costs nothing. A
module that needs another configuration defines `variables` again. A test that names `node` has
`stack` on that chain.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SECRET_KEY, UNREACHABLE_RPC
from tests.support.factories import new_xpub
from tests.support.remote import RemoteOrganizer, in_process
from tools.stack import Stack, free_port

_numbers = count(1)


class Service(Stack):
    """A stack that knows its database and its log. A context manager, as `Stack` is."""

    def __init__(self, variables: Mapping[str, str], log: Path) -> None:
        super().__init__(variables, log=log)
        self.database_url = variables["DATABASE_URL"]
        self.log_path = log

    def pid(self, name: str = "web") -> int:
        """The first process of the web server, which starts the others, or a worker's."""
        return self._processes[name].pid

    def terminate(self, name: str = "web") -> Callable[[float], int]:
        """Ask one process to end, as an operator does; return what waits for its status."""
        process = self._processes.pop(name)
        process.terminate()
        return process.wait

    def kill_workers(self) -> None:
        """End everything but the web server."""
        for name in [name for name in self._processes if name != "web"]:
            self.kill(name)


def variables_of(database_url: str, rpc_url: str = UNREACHABLE_RPC, **more: str) -> dict[str, str]:
    """The configuration of a service that listens at a free port; `more` goes before it."""
    return {
        "DATABASE_URL": database_url,
        "SECRET_KEY": SECRET_KEY,
        "PORT": str(free_port()),
        "RPC_URL_31337": rpc_url,
        "POLL_SECONDS": "0.1",
        "WEB_CONCURRENCY": "2",
        **more,
    }


@contextmanager
def service(variables: Mapping[str, str], log: Path) -> Iterator[Service]:
    """Run the web server. In the end nothing may have died, and the books are right."""
    with Service(variables, log) as running:
        running.start_web()
        yield running
        running.check()
        assert audit(running)["ok"] is True
        assert "Traceback" not in log.read_text()
        if "web" in running._processes:
            running.kill("web")  # It would wait for clients that keep their connections.


def audit(stack: Stack) -> Any:
    """What the proof of the books says."""
    return json.loads(in_process(stack, "reconcile", "--json"))


def new_tenant(stack: Stack) -> RemoteOrganizer:
    """A tenant with a wallet, under a name that no other test has."""
    return RemoteOrganizer(stack, f"acme-{next(_numbers)}", new_xpub())


def new_seat(remote: RemoteOrganizer) -> Any:
    """A ticket type that is free of charge: its sale needs no chain. There is no end of it."""
    return remote.ticket(price_amount=0, chain_id=None, capacity=None)


@pytest.fixture
def variables(database_url: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """The configuration of `stack`."""
    if "node" in request.fixturenames:
        return variables_of(database_url, request.getfixturevalue("node").url)
    return variables_of(database_url)


@pytest.fixture
def stack(starts_processes: None, variables: dict[str, str], tmp_path: Path) -> Iterator[Service]:
    """The web server over a migrated database; the worker is not started."""
    with service(variables, tmp_path / "log") as running:
        yield running


@pytest.fixture
def remote(stack: Service) -> RemoteOrganizer:
    """A tenant with a wallet, acting through HTTP."""
    return new_tenant(stack)


@pytest.fixture
def seat(remote: RemoteOrganizer) -> Any:
    """A ticket type of `remote` that costs nothing."""
    return new_seat(remote)
