"""Measure the cost of rate limits for a public listing: `python -m bench.limits`.

Two servers on one database serve 5,000 clients in turn, one with the default limits and one
without limits. Exits with 1 if a response was not 200.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench import load
from bench.cases import CASES
from bench.rounds import World, databases_of, worlds_of
from bench.rows import Row
from bench.servers import SERVICE, Server
from bench.table import aligned
from ticketing.limits import CallClass

MOST = 1.25
"""The CPU limit of a listing with limits, as a multiple of one without limits."""

_CASE = CASES[0]
_OFF = {f"RATE_LIMIT_{each.upper()}": "0" for each in CallClass}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.limits", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.5, help="time per row and round")
    parser.add_argument("--database", choices=("sqlite", "postgres"), help="default: both")
    arguments = parser.parse_args()
    lines, errors = [["", "CPU us off", "CPU us on", "on to off", "p99 ms off", "p99 ms on"]], 0
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="ticketing-bench-")))
        chosen = list(databases_of(arguments.database, folder, running))
        for world in worlds_of(chosen, folder / "log"):
            rows = [_row(world, each, folder / "log", running) for each in (_OFF, {})]
            for number in range(arguments.rounds + 1):
                for row in rows:
                    row.take(arguments.seconds) if number else row.warm_up(arguments.seconds)
            off, on = rows
            times = on.cpu_us() / off.cpu_us()
            ratio = f"{times:.2f}, at most {MOST}{'' if times <= MOST else ' MISSED'}"
            cpu = [f"{row.cpu_us():.0f}" for row in rows]
            p99 = [f"{row.latency_ms(99):.1f}" for row in rows]
            lines.append([world.database.name, *cpu, ratio, *p99])
            errors += off.errors + on.errors
    print(aligned(lines[0], lines[1:]))
    if errors:
        sys.exit(f"bench: {errors} responses were not {_CASE.status}")


def _row(world: World, limits: Mapping[str, str], log: Path, running: ExitStack) -> Row:
    server = running.enter_context(Server(SERVICE, {**world.variables, **limits}, log))
    run = partial(_run, server, _CASE.request(world.shop).to(server.port))
    name = world.database.name
    return Row(_CASE.name, name, str(_CASE.status), run, server.pid, world.database.pid)


def _run(server: Server, request: bytes, seconds: float) -> load.Load:
    return load.run(server.port, request, seconds=seconds)


if __name__ == "__main__":
    main()
