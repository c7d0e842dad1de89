"""A real nginx in front of the service, with the configuration of docs/operations.md."""

import re
import subprocess
from pathlib import Path

from tools import debian
from tools.debian_daemon import Daemon

OPERATIONS = Path(__file__).parent.parent / "docs" / "operations.md"


class Nginx(Daemon):
    """A running proxy for the server at `port` of this machine. A context manager."""

    def __init__(self, port: int) -> None:
        """Start it on a free port of 127.0.0.1. ToolMissing."""
        super().__init__(find())
        settings = _settings(self._folder, self.port, port)
        self._start(settings, "-p", self._folder, "-e", "stderr", "-c")

    @property
    def logged(self) -> str:
        """What it has written into its logs."""
        return "".join(file.read_text() for file in self._folder.glob("*.log"))


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
    ours = ours.replace("/var/log/nginx", str(folder))
    ours = re.sub(r"        (ssl_certificate|server_name|listen).*\n", "", ours)
    temporary = "\n".join(
        f"{each}_temp_path {folder}/{each};"
        for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"daemon off; pid {folder}/pid; worker_processes 1;\n"
        "events { worker_connections 500; }\n"
        f"http {{ {temporary}\n{servers[0]}"
        f"server {{ listen 127.0.0.1:{port};{ours} }}\n"
    )
