"""The measured servers: gunicorn as in the Procfile, with a configuration for measurements."""

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools import START_SECONDS, Running
from tools.stack import ROOT, free_port

SERVICE = "app:create_app()"
BARE = "bench.baselines:bare"
FLASK = "bench.baselines:make_flask()"
STOP_SECONDS = 10
_KEPT = ("PATH", "HOME", "TMPDIR", "LANG")


class ServerFailed(Exception):
    """A server did not start, or a command failed. The message is one sentence."""


# All other settings are defaults. One key and one order exceed their default limits here.
_OF_THE_LOAD = {
    "TRUSTED_PROXIES": "127.0.0.1",
    "RATE_LIMIT_ADMIN": "1000000",
    "RATE_LIMIT_ORDER": "1000000",
}


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return a server's environment, without variables of this process that configure it."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    fixed = {"FLASK_SKIP_DOTENV": "1", "WEB_CONCURRENCY": "2", **_OF_THE_LOAD}
    return {**kept, **fixed, **variables}


def flask(variables: Mapping[str, str], *arguments: str) -> str:
    """Run `flask --app app ...`, and return its output. ServerFailed."""
    done = subprocess.run(
        [sys.executable, "-m", "flask", "--app", "app", *arguments],
        cwd=ROOT,
        env=environment(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ServerFailed(done.stderr.strip() or f"'flask {arguments[0]}' failed")
    return done.stdout


class _Process(Running):
    """A process of the project that can have children. A context manager."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], log: Path) -> None:
        with log.open("ab") as output:
            # Its own session: Ctrl-C does not reach it, so that `stop` can stop it.
            self._process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=ROOT,
                env=environment(variables),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.pid = self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Stop it and its children."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()


class Worker(_Process):
    """The worker as in the Procfile. A context manager."""

    def __init__(self, variables: Mapping[str, str], log: Path) -> None:
        super().__init__(["flask", "--app", "app", "worker"], variables, log)


class Server(_Process):
    """gunicorn with one application and the project's settings. A context manager."""

    def __init__(self, app: str, variables: Mapping[str, str], log: Path) -> None:
        """Start it, and wait for its first response. ServerFailed."""
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        start = time.monotonic()
        super().__init__(["gunicorn", app], {**variables, "PORT": str(self.port)}, log)
        while not self._answers():
            if not self.alive or time.monotonic() > start + START_SECONDS:
                self.stop()
                raise ServerFailed(f"{app} did not start: {log.read_text()[-500:]}")
            time.sleep(0.002)
        self.start_seconds = time.monotonic() - start

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_SECONDS)
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return True
