"""Start the service's processes as an operator does: migrations, web server, worker."""

import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import urllib3

from tools import START_SECONDS, Running

ROOT = Path(__file__).parent.parent
STOP_SECONDS = 30

_numbers = itertools.count(os.getpid() * 499)


class StackFailed(Exception):
    """A process did not start, or has stopped. The message is one sentence."""


class Stack(Running):
    """The web server and the worker with one configuration. A context manager.

    `variables` (DATABASE_URL, SECRET_KEY, ...) override the environment. The processes write their
    output to `log`, or to the output of this process.
    """

    def __init__(self, variables: Mapping[str, str], *, log: Path | None = None) -> None:
        self.port = int(variables["PORT"])
        self.url = f"http://127.0.0.1:{self.port}"
        self.environ = {**os.environ, "FLASK_SKIP_DOTENV": "1", **variables}
        self._output = log.open("ab") if log else None
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def flask(self, *arguments: str, stdin: str | None = None) -> str:
        """Run `flask --app app ...` and return its output. StackFailed if it fails."""
        done = subprocess.run(
            [sys.executable, "-m", "flask", "--app", "app", *arguments],
            cwd=ROOT,
            env=self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise StackFailed(done.stderr.strip() or f"'flask {arguments[0]}' failed")
        return done.stdout

    def start_web(self) -> None:
        """Start gunicorn as in the Procfile, but on 127.0.0.1. Wait until it is ready."""
        bind = f"127.0.0.1:{self.port}"
        self._start("web", [sys.executable, "-m", "gunicorn", "--bind", bind, "app:create_app()"])
        http = urllib3.PoolManager(retries=False, timeout=2)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self.check()
            try:
                if http.request("GET", f"{self.url}/readyz").status == 200:
                    return
            except urllib3.exceptions.HTTPError:
                pass
            time.sleep(0.05)
        raise StackFailed(f"the web server does not respond at {self.url}")

    def start_worker(self, name: str = "worker") -> None:
        """Start a worker as in the Procfile. Each worker needs its own name."""
        self._start(name, [sys.executable, "-m", "flask", "--app", "app", "worker"])

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
        self._processes[name] = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,
        )


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free, and was not returned a short time before.

    The kernel gives programs that do not choose a port those from 32768, so none of them can take
    this one before it is used. Each process begins at another port.
    """
    while True:
        port = 11_000 + next(_numbers) % 21_000  # browsers refuse 10080
        if is_free(port):
            return port


def is_free(port: int) -> bool:
    """Return whether a server can listen on this port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
