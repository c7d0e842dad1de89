"""A program of a Debian package that listens on a port of this machine, for tests."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from tools import START_SECONDS, Running, debian
from tools.postgres import UNPRIVILEGED_USER, readable
from tools.stack import free_port


class Daemon(Running):
    """A running program with a folder of its own and a free `port` of 127.0.0.1.

    A subclass calls `_start` with the settings. Neither of them runs as root.
    """

    def __init__(self, program: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=f"ticketing-{program.name}-"))
        self._user = UNPRIVILEGED_USER if os.geteuid() == 0 else None
        if self._user:
            program = readable(program.parent, self._folder) / program.name
            shutil.chown(self._folder, self._user)
        self._folder.chmod(0o755)
        self._program = program
        self.port = free_port()

    def stop(self) -> None:
        """Kill it with its children: it has no data."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, settings: str, *options: str | Path) -> None:
        """Start it. Its arguments are `options` and the file with the settings."""
        file = self._folder / "settings"
        file.write_text(settings)
        file.chmod(0o644)
        log = self._folder / "log"
        with log.open("w") as output:
            self._process = subprocess.Popen(
                [self._program, *options, file],
                user=self._user,
                cwd="/",
                env=debian.environ(self._program),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        if not self._listens():
            said = log.read_text()[-500:]
            self.stop()
            raise RuntimeError(f"{self._program.name} did not start: {said}")

    def _listens(self) -> bool:
        """Wait until it accepts connections. False if it ended, or after START_SECONDS."""
        deadline = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return True
            except OSError:
                time.sleep(0.02)
        return False
