"""A real nginx in front of the service, with the configuration of docs/operations.md."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from tools import Running, debian
from tools.postgres import UNPRIVILEGED_USER, readable
from tools.stack import free_port

START_SECONDS = 10

OPERATIONS = Path(__file__).parent.parent / "docs" / "operations.md"


class Nginx(Running):
    """A running proxy for the server at `port` of this machine. A context manager."""

    def __init__(self, port: int) -> None:
        """Start it on a free port of 127.0.0.1. ToolMissing."""
        program = find()
        self._folder = Path(tempfile.mkdtemp(prefix="ticketing-nginx-"))
        user = UNPRIVILEGED_USER if os.geteuid() == 0 else None
        if user:
            program = readable(program.parent, self._folder) / program.name
            shutil.chown(self._folder, user)
        self._folder.chmod(0o755)
        self.port = free_port()
        settings = self._folder / "nginx.conf"
        settings.write_text(_settings(self._folder, self.port, port))
        settings.chmod(0o644)
        self._log = self._folder / "log"
        with self._log.open("w") as output:
            self._process = subprocess.Popen(
                [program, "-p", self._folder, "-c", settings, "-e", "stderr"],
                user=user,
                cwd="/",
                env=debian.environ(program),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._wait()

    def stop(self) -> None:
        """Stop it at once: it has no data."""
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        said = self._log.read_text()[-500:]
        self.stop()
        raise RuntimeError(f"nginx did not start: {said}")


def find() -> Path:
    """Return this machine's nginx, else that of the Debian package. ToolMissing."""
    return debian.executable("nginx", "nginx")


def version(program: Path) -> str:
    """Return the version of an nginx."""
    said = subprocess.run(
        [program, "-v"], env=debian.environ(program), capture_output=True, text=True, check=True
    )
    return said.stderr.rpartition("/")[2].split()[0]


def _settings(folder: Path, port: int, to: int) -> str:
    """Return the configuration of docs/operations.md, without TLS and for this port."""
    page = OPERATIONS.read_text()
    start = page.index("    limit_conn_zone")
    text = page[start : page.index("\nCaddy", start)]
    servers = text.split("    server {")
    ours = servers[-1].replace(
        "proxy_pass http://127.0.0.1:8000", f"proxy_pass http://127.0.0.1:{to}"
    )
    ours = re.sub(r"        (ssl_certificate|server_name|listen).*\n", "", ours)
    temporary = "\n".join(
        f"{each}_temp_path {folder}/{each};"
        for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"daemon off; pid {folder}/pid; worker_processes 1;\n"
        "events { worker_connections 500; }\n"
        f"http {{ access_log off; {temporary}\n{servers[0]}"
        f"server {{ listen 127.0.0.1:{port};{ours} }}\n"
    )
