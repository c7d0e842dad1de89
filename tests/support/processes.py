"""The service in processes of its own: the fixtures of every test of real processes.

    def test_something(stack, node, remote, seat): ...

`stack` is the web server, `remote` a tenant of it, `seat` a ticket type that costs nothing. A
module that needs another configuration defines `variables` again. A test that names `node` has
`stack` on that chain.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SECRET_KEY, UNREACHABLE_RPC
from tests.support.prefork import Prefork
from tests.support.remote import RemoteOrganizer, in_process
from tools.stack import ROOT, Stack, free_port

OF_PROCESSES = {"cli", "server", "faults/test_processes", "faults/test_stopping"}
"""Folders and files of tests about processes themselves: they start as an operator starts them."""

_numbers = count(1)


class Service(Stack):
    """A stack with its database and its log. A context manager, like `Stack`.

    `prefork` starts its processes. None: each starts Python. `root`: the folder with its source.
    """

    def __init__(
        self,
        variables: Mapping[str, str],
        log: Path,
        prefork: Prefork | None = None,
        root: Path = ROOT,
    ) -> None:
        super().__init__(variables, log=log, root=root)
        self._prefork = prefork
        self.database_url = variables["DATABASE_URL"]
        self.log_path = log

    def terminate(self, name: str = "web") -> Callable[[float], int]:
        """Ask one process to end, as an operator does. Return a function that waits for it."""
        process = self._processes.pop(name)
        process.terminate()
        return process.wait

    def kill_workers(self) -> None:
        """End all processes but the web server."""
        for name in [name for name in self._processes if name != "web"]:
            self.kill(name)

    def _start(self, name: str, command: Sequence[str]) -> None:
        if self._prefork is None:
            super()._start(name, list(command))
        else:
            _python, _m, *arguments = command
            output = self._output.fileno() if self._output else 1
            self._processes[name] = self._prefork.start(arguments, self.environ, output)


def variables_of(database_url: str, rpc_url: str = UNREACHABLE_RPC, **more: str) -> dict[str, str]:
    """Return the configuration of a service on a free port. `more` has priority."""
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
def service(
    variables: Mapping[str, str],
    log: Path,
    prefork: Prefork | None = None,
    root: Path = ROOT,
) -> Iterator[Service]:
    """Run the web server. At the end no process has died, and the books are right.

    `root`: the folder with its source. Whether the books are right, this version decides.
    """
    with Service(variables, log, prefork, root) as running:
        running.start_web()
        yield running
        running.check()
        assert audit(running)["ok"] is True
        assert "Traceback" not in log.read_text()
        if "web" in running._processes:
            running.kill("web")  # otherwise it waits for clients with kept connections


def audit(stack: Stack) -> Any:
    """Return the result of the reconciliation."""
    return json.loads(in_process(stack, "reconcile", "--json"))


def new_tenant(stack: Stack, *, address: str | None = "new") -> RemoteOrganizer:
    """Create a tenant with a unique name. `address`: see RemoteOrganizer."""
    return RemoteOrganizer(stack, f"acme-{next(_numbers)}", address=address)


def new_seat(remote: RemoteOrganizer) -> Any:
    """Create a free ticket type without a limit: its sale needs no chain."""
    return remote.ticket(price_amount=0, chain_id=None, capacity=None)


@pytest.fixture
def variables(database_url: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """The configuration of `stack`."""
    if "node" in request.fixturenames:
        return variables_of(database_url, request.getfixturevalue("node").url)
    return variables_of(database_url)


@pytest.fixture(scope="session")
def forking(starts_processes: None) -> Iterator[Prefork]:
    """The process that has imported the service, for all tests of this process."""
    with Prefork() as prefork:
        yield prefork


@pytest.fixture
def prefork(request: pytest.FixtureRequest, variables: dict[str, str]) -> Prefork | None:
    """What starts the processes of `stack`: see tests/support/prefork.py."""
    is_read_at_start = any(name.startswith("PYTHON") for name in variables)
    folder = request.path.parent.name
    if {folder, f"{folder}/{request.path.stem}"} & OF_PROCESSES or is_read_at_start:
        return None
    forking: Prefork = request.getfixturevalue("forking")
    return forking


@pytest.fixture
def stack(
    starts_processes: None, variables: dict[str, str], tmp_path: Path, prefork: Prefork | None
) -> Iterator[Service]:
    """The web server over a migrated database; the worker is not started."""
    with service(variables, tmp_path / "log", prefork) as running:
        yield running


@pytest.fixture
def remote(stack: Service) -> RemoteOrganizer:
    """A tenant with a wallet, acting through HTTP."""
    return new_tenant(stack)


@pytest.fixture
def seat(remote: RemoteOrganizer) -> Any:
    """A free ticket type of `remote`."""
    return new_seat(remote)
