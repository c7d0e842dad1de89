"""Start the service's processes as an operator does: migrations, web server, worker."""

import itertools
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import urllib3

from tools import START_SECONDS, Running
from tools.namespaces import HERE, Host

ROOT = Path(__file__).parent.parent
STOP_SECONDS = 30
SERVICE = "app:create_app()"

_numbers = itertools.count(os.getpid() * 499)


class StackFailed(Exception):
    """A process did not start, or has stopped. The message is one sentence."""


class Stack(Running):
    """The web server and the worker with one configuration. A context manager.

    `variables` (DATABASE_URL, SECRET_KEY, ...) override `environ`, by default this process's. The
    processes write their output to `log`, or to the output of this process. Their source is in
    `root`. They run on host `on`. The web server listens on its address, and on `host`.
    """

    def __init__(
        self,
        variables: Mapping[str, str],
        *,
        log: Path | None = None,
        environ: Mapping[str, str] = os.environ,
        root: Path = ROOT,
        host: str | None = None,
        on: Host = HERE,
    ) -> None:
        self._root, self._on = root, on
        self._hosts = [on.address, *([host] if host else [])]
        self.port = int(variables["PORT"])
        self.url = f"http://{on.address}:{self.port}"
        self.environ = {**environ, "FLASK_SKIP_DOTENV": "1", **variables}
        self._output = log.open("ab") if log else None
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def flask(self, *arguments: str, stdin: str | None = None) -> str:
        """Run `flask --app app ...` and return its output. StackFailed if it fails."""
        done = subprocess.run(
            [sys.executable, "-m", "flask", "--app", "app", *arguments],
            cwd=self._root,
            env=self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise StackFailed(done.stderr.strip() or f"'flask {arguments[0]}' failed")
        return done.stdout

    def create_tenant(self, slug: str, name: str, *wallet: str) -> str:
        """Create a tenant. Return its first key. StackFailed.

        `wallet`: the options of the command that name it, such as `--address` and its value.
        """
        new = ("tenants", "create", slug, "--name", name, *wallet, "--json")
        return str(json.loads(self.flask(*new))["key"])

    def start_web(self, app: str = SERVICE, *, ready: str = "/readyz") -> None:
        """Start gunicorn as in the Procfile, but on few addresses. Wait for a 200 of `ready`."""
        binds = [f"--bind={host}:{self.port}" for host in self._hosts]
        self._start("web", [sys.executable, "-m", "gunicorn", *binds, app])
        self._wait_for_web(ready)

    def _wait_for_web(self, ready: str) -> None:
        http = urllib3.PoolManager(retries=False, timeout=2)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self.check()
            try:
                if http.request("GET", f"{self.url}{ready}").status == 200:
                    return
            except urllib3.exceptions.HTTPError:
                pass
            time.sleep(0.01)
        raise StackFailed(f"the web server does not respond at {self.url}")

    def start_worker(self, name: str = "worker") -> None:
        """Start a worker as in the Procfile. Each worker needs its own name."""
        self._start(name, [sys.executable, "-m", "flask", "--app", "app", "worker"])

    def wait_for_receivers(self, chain_id: int) -> None:
        """Wait until the worker has proved receivers on a chain. StackFailed.

        Before that, orders that cost something are refused there.
        """

        def is_proved(answer: Any) -> bool:
            here = [each for each in answer["data"] if each["chain_id"] == chain_id]
            return any(each["has_receivers"] for each in here)

        self._wait("/v1/chains", is_proved, f"has not proved receivers on chain {chain_id}")

    def wait_for_facilitators(self) -> None:
        """Wait until the worker has asked the x402 facilitators, and all can be used. StackFailed.

        Before that, x402 is off.
        """

        def can_settle(answer: Any) -> bool:
            return not any(each["facilitator_refusal"] for each in answer["chains"])

        self._wait("/readyz", can_settle, "has not found the facilitators of x402")

    def _wait(self, path: str, holds: Callable[[Any], bool], otherwise: str) -> None:
        http = urllib3.PoolManager(retries=False, timeout=START_SECONDS)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self.check()
            if holds(http.request("GET", self.url + path).json()):
                return
            time.sleep(0.05)
        raise StackFailed(f"the worker {otherwise}")

    def pid(self, name: str = "web") -> int:
        """Return the pid of gunicorn's first process, or of a worker."""
        return self._processes[name].pid

    def check(self) -> None:
        """Raise StackFailed if one of the processes has stopped."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise StackFailed(f"the {name} process stopped with status {process.returncode}")

    def kill(self, name: str) -> None:
        """Kill one process and its children as in a crash (SIGKILL)."""
        process = self._processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """Stop every process in order. Each finishes its current work."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._processes.clear()
        if self._output:
            self._output.close()

    def _start(self, name: str, command: list[str]) -> None:
        # Its own session: Ctrl-C does not reach it, so that `stop` can stop it in order.
        self._processes[name] = self._on.start(
            command,
            cwd=self._root,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
        )


def new_stack(running: ExitStack, variables: Mapping[str, str]) -> Stack:
    """Return a stack over an empty database. It ends with `running`. StackFailed.

    `variables` override those chosen here. Nothing is started yet.
    """
    folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="ticketing-")))
    port = str(free_port())
    chosen = {
        "DATABASE_URL": f"sqlite:///{folder}/ticketing.db",
        "SECRET_KEY": secrets.token_urlsafe(48),
        "PORT": port,
        "PUBLIC_URL": f"http://127.0.0.1:{port}",
        "POLL_SECONDS": "0.2",
    }
    stack = running.enter_context(Stack({**chosen, **variables}, log=folder / "log"))
    stack.flask("db", "upgrade")
    return stack


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free, and was not returned a short time before.

    The kernel gives programs that do not choose a port those from 32768, so none of them can take
    this one before it is used. Each process begins at another port.
    """
    while True:
        port = 11_000 + next(_numbers) % 21_000  # browsers refuse 10080
        if is_free(port):
            return port


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Return whether a server can listen on this port of an address of this machine."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True
