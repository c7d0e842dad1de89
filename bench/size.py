"""Measure the cost of a start, and the memory of the running service."""

import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bench import cpu, load
from bench.cases import CASES
from bench.servers import SERVICE, Server, ServerFailed, environment
from bench.shop import Shop
from bench.table import aligned, verdict
from tools.stack import ROOT

REQUESTS = 10_000
MANY_REQUESTS = 200_000
IMPORTS = 5
STARTS = 3


def measure(shop: Shop, variables: Mapping[str, str], log: Path, *, many: bool) -> tuple[str, int]:
    """Measure. Return a table and the number of wrong responses."""
    seconds = []
    for _ in range(STARTS):
        with Server(SERVICE, variables, log) as server:
            seconds.append(server.start_seconds)
    start = statistics.median(seconds)
    imported = statistics.median(_import_ms() for _ in range(IMPORTS))
    lines = [
        _line("CPU of python -c 'import app'", imported, 800, "ms", 0),
        _line("gunicorn's start to its first answer", start, 0.8, "s", 2),
    ]
    listing = CASES[0]
    errors = 0
    with Server(SERVICE, variables, log) as server:
        request = listing.request(shop).to(server.port)
        sent = 0
        for requests in (REQUESTS, MANY_REQUESTS)[: 2 if many else 1]:
            done = load.run(server.port, request, requests=requests - sent)
            errors += sum(done.statuses.values()) - done.statuses[str(listing.status)]
            sent = requests
            what = f"PSS after {sent:,} public listings"
            lines.append(_line(what, cpu.pss_bytes(server.pid) / 1_000_000, 95, "MB", 1))
    return aligned(("", "measured", "bound", "holds"), lines), errors


def _import_ms() -> float:
    """Return the CPU time of a Python process that only imports the application."""
    process = subprocess.Popen([sys.executable, "-c", "import app"], cwd=ROOT, env=environment({}))
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise ServerFailed("'import app' failed")
    return (used.ru_utime + used.ru_stime) * 1000


def _line(what: str, measured: float, bound: float, unit: str, places: int) -> list[str]:
    value = f"{measured:.{places}f} {unit}"
    return [what, value, f"<= {bound:g} {unit}", verdict(measured <= bound)]
