"""Starts processes of the service from one process that has imported it already.

To import the service takes most of the time in which a web server or a worker starts. Tests start
hundreds of them. So one process imports it, and forks for each start. A child is a program like any
other: it has its own session, environment, arguments and signal handlers, and it configures the
application by itself.

Tests about processes themselves start Python for each: OF_PROCESSES of processes.py names them.
"""

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from tools.stack import ROOT

_MODULES = (
    "app",
    "flask.cli",
    "gunicorn.app.wsgiapp",
    "gunicorn.arbiter",
    "psycopg",
    "ticketing.server.worker",
)
_LARGEST = 100_000
"""Bytes of a request."""


class Forked:
    """A process that was forked. It has the part of `subprocess.Popen` that `Stack` uses."""

    def __init__(self, messages: int) -> None:
        self.returncode: int | None = None
        self._messages = messages
        self.pid = int(self._line())

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""
        if self.returncode is None and select.select([self._messages], [], [], 0)[0]:
            self._end()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return the exit status. TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._messages], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            self._end()
        assert self.returncode is not None
        return self.returncode

    def terminate(self) -> None:
        """Ask it to end."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)

    def _end(self) -> None:
        self.returncode = int(self._line())
        os.close(self._messages)

    def _line(self) -> bytes:
        """Read a number that the waiting parent of the process writes."""
        found = b""
        while not found.endswith(b"\n"):
            read = os.read(self._messages, 1)
            if not read:
                raise ChildProcessError("the process that forks has ended")
            found += read
        return found


class Prefork:
    """The process that has imported the service. A context manager."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._folder = tempfile.TemporaryDirectory(prefix="prefork-")
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(other.fileno())],
            cwd=ROOT,
            # Figures of requests go to files only if this is set before they are imported.
            env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": self._folder.name},
            stdin=subprocess.DEVNULL,
            pass_fds=[other.fileno()],
            start_new_session=True,
        )
        other.close()

    def __enter__(self) -> "Prefork":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.wait()
        self._folder.cleanup()

    def start(self, arguments: Sequence[str], environ: Mapping[str, str], output: int) -> Forked:
        """Start `python -m` with these arguments. `output`: where it writes to."""
        asked = json.dumps({"arguments": list(arguments), "environ": dict(environ)}).encode()
        read, write = os.pipe()
        socket.send_fds(self._socket, [asked], [output, write])
        os.close(write)
        return Forked(read)


def _serve(requests: socket.socket) -> None:
    """Fork for each request, until the tests have ended."""
    for name in _MODULES:
        importlib.import_module(name)
    gc.freeze()
    while True:
        asked, descriptors, _, _ = socket.recv_fds(requests, _LARGEST, 2)
        _reap()
        if not asked:
            return
        output, messages = descriptors
        if os.fork() == 0:
            requests.close()
            _run_and_wait(json.loads(asked), output, messages)
            return
        for each in descriptors:
            os.close(each)


def _reap() -> None:
    """Let the processes go whose program has ended. Their CPU counts as this one's from then on."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _run_and_wait(asked: Any, output: int, messages: int) -> None:
    """Run a program and report its end. Kill it if the tests end before it, even by a kill."""
    pid = os.fork()
    if pid == 0:
        os.close(messages)
        _become(asked["arguments"], asked["environ"], output)
    os.close(output)
    os.write(messages, b"%d\n" % pid)
    with open(os.pidfd_open(pid)) as program:
        ends = select.poll()
        ends.register(program, select.POLLIN)
        ends.register(messages, select.POLLERR)
        if messages in dict(ends.poll()):
            os.kill(pid, signal.SIGKILL)
            with suppress(ProcessLookupError):  # it had not begun its session
                os.killpg(pid, signal.SIGKILL)
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    os.write(messages, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(arguments: Sequence[str], environ: Mapping[str, str], output: int) -> NoReturn:
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.argv = list(arguments)
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    sys.exit(0)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
