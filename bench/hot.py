"""Compare orders of one hot ticket type with plain SQL that writes the same, on Postgres.

Each order changes the same row, so orders wait for each other: for the round trips and for the
commit of the one before. Plain SQL shows how many a second the database could do.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bench import cpu, report
from bench.cases import HOT
from bench.harness import World, row_of, say
from tools.stack import ROOT

MOST = 3.0
"""The bound: plain SQL may write so many times the orders of the service."""

PROCESSES, CONNECTIONS = 2, 4
"""As many processes as the service has here, and connections in each of them."""


@dataclass(frozen=True)
class Slice:
    """Orders a second, and the CPU microseconds of one, of the client and of the database.

    The client of the database is the service, or the processes of plain SQL.
    """

    a_second: float
    client_us: float
    database_us: float


def compare(world: World, rounds: int, seconds: float) -> tuple[str, int]:
    """Measure the service and plain SQL in turn. Return a table and the number of wrong responses.

    It leaves orders behind that no client knows.
    """
    service, plain, errors = [], [], 0
    with ExitStack() as running:
        stack = world.start_web(running)
        for number in range(rounds + 1):
            say(f"hot ticket type: {f'round {number} of {rounds}' if number else 'warming up'}")
            row = row_of(HOT, world, stack)
            row.take(seconds)
            errors += row.errors
            written = _written(world, stack.environ, seconds)
            if number:
                service.append(Slice(row.a_second, row.server_us, row.database_us))
                plain.append(written)
    served, written = _median(service), _median(plain)
    ratio = written.a_second / served.a_second
    lines = [
        [*_cells("the service", served), "1.00", "-", "-"],
        [*_cells("plain SQL", written), f"{ratio:.2f}", *report.ratio_bound(ratio, MOST)],
    ]
    heads = ("hot ticket type", "orders a second", "client us", "database us", "to the service")
    return report.aligned((*heads, "bound", "holds"), lines), errors


def _median(slices: list[Slice]) -> Slice:
    names = ("a_second", "client_us", "database_us")
    return Slice(*(statistics.median(getattr(each, name) for each in slices) for name in names))


def _cells(name: str, of: Slice) -> list[str]:
    return [name, f"{of.a_second:.0f}", f"{of.client_us:.0f}", f"{of.database_us:.0f}"]


def _written(world: World, environ: Mapping[str, str], seconds: float) -> Slice:
    """Let several processes write orders at the same time."""
    assert world.database_pid is not None
    request = HOT.request(world.shop)
    job = {"path": request.path, "body": request.body, "seconds": seconds}
    with ExitStack() as running:
        writers = [running.enter_context(_writer(environ)) for _ in range(PROCESSES)]
        for writer in writers:
            _send(writer, json.dumps({**job, "connections": CONNECTIONS}))
        for writer in writers:
            _receive(writer)  # it is ready
        before = cpu.seconds(world.database_pid)
        for writer in writers:
            _send(writer, "go")
        results = [json.loads(_receive(writer)) for writer in writers]
        used = cpu.seconds(world.database_pid) - before
    orders = sum(each["orders"] for each in results)
    client = sum(each["cpu_seconds"] for each in results)
    a_second = sum(each["orders"] / each["seconds"] for each in results)
    return Slice(a_second, client / orders * 1e6, used / orders * 1e6)


@contextmanager
def _writer(environ: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Start a process that writes orders. Its log is not read."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.plain_sql"],
        cwd=ROOT,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        yield process


def _send(writer: subprocess.Popen[str], line: str) -> None:
    assert writer.stdin is not None
    writer.stdin.write(f"{line}\n")
    writer.stdin.flush()


def _receive(writer: subprocess.Popen[str]) -> str:
    """Return the next line of a writer. RuntimeError if it has failed."""
    assert writer.stdout is not None
    line = writer.stdout.readline()
    if not line:
        raise RuntimeError("bench.plain_sql failed")
    return line
