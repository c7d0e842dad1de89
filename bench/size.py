"""Measure the cost of a start, and the memory of the running service."""

import os
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack

from bench import cpu
from bench.cases import CASES
from bench.harness import World, environment, repeat, row_of
from bench.report import aligned, verdict
from tools.stack import ROOT, StackFailed

REQUESTS = 10_000
MANY_REQUESTS = 200_000
IMPORTS = 5
LIBRARIES = "flask, marshmallow, peewee"
STARTS = 3


def measure(world: World, *, many: bool) -> tuple[str, int]:
    """Measure. Return a table and the number of wrong responses."""
    app, libraries = (
        statistics.median(_run_ms(world, code) for _ in range(IMPORTS))
        for code in ("import app; app.create_app()", f"import {LIBRARIES}")
    )
    start = statistics.median(_start_seconds(world) for _ in range(STARTS))
    lines = [
        ["CPU of python -c 'import app; app.create_app()'", f"{app:.0f} ms", "-", "-"],
        _line(f"the same to 'import {LIBRARIES}'", app / libraries, 3, "x", 2),
        _line("gunicorn's start to its first answer", start, 1, "s", 2),
    ]
    errors = sent = 0
    with ExitStack() as running:
        stack = world.start_web(running)
        stack.start_worker()
        listing = row_of(CASES[0], world, stack)
        for requests in (REQUESTS, MANY_REQUESTS)[: 2 if many else 1]:
            errors += sum(repeat(listing, 3600, requests - sent)["wrong"].values())
            sent = requests
            web, worker = (cpu.pss_bytes(pid) / 1e6 for pid in (stack.pid(), stack.pid("worker")))
            what = (
                f"PSS of web ({web:.0f}) and worker ({worker:.0f}) after {sent:,} public listings"
            )
            lines.append(_line(what, web + worker, 150, "MB", 1))
    return aligned(("", "measured", "bound", "holds"), lines), errors


def _start_seconds(world: World) -> float:
    with ExitStack() as running:
        start = time.monotonic()
        world.start_web(running)
        return time.monotonic() - start


def _run_ms(world: World, code: str) -> float:
    """Return the CPU time of a Python process that only runs this code."""
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(command, cwd=ROOT, env={**environment(), **world.variables})
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise StackFailed(f"'{code}' failed")
    return (used.ru_utime + used.ru_stime) * 1000


def _line(what: str, measured: float, bound: float, unit: str, places: int) -> list[str]:
    value = f"{measured:.{places}f} {unit}"
    return [what, value, f"<= {bound:g} {unit}", verdict(measured <= bound)]
