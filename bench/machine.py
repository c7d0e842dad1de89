"""Facts about the machine and the versions of a result."""

import os
import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from bench.databases import Database
from ticketing import clock


def facts(databases: Iterable[Database]) -> list[str]:
    """Return a line each for the date, the machine, and the versions."""
    load = os.getloadavg()[0]
    parts = [
        f"Python {platform.python_version()}",
        *(f"{name} {version(name)}" for name in ("Flask", "gunicorn")),
        *(f"{database.name} {database.version}" for database in databases),
    ]
    return [
        f"{clock.now():%Y-%m-%d %H:%M} UTC, load average before the start {load:.1f}",
        f"{_cpu_model()}, {os.cpu_count()} cores, Linux {platform.release()}",
        ", ".join(parts),
    ]


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
