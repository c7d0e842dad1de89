"""Measure how costs grow with the database: `python -m bench.growth`.

It compares an empty database with a generated one (bench.generate), on SQLite and on Postgres.
Requests run in this process, in turn on both. The table has the CPU time, with that of the
database, and the elapsed time. `--full URL` uses an existing generated database.
"""

import argparse
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from bench import growth_cases as cases
from bench.generate import Scale, fill
from bench.growth_sides import Cost, Side, measure
from bench.table import aligned, verdict
from ticketing.services.payments import reconciliation
from tools.postgres import Postgres

TINY = Scale(tenants=2, events=20, intents=200)
MOST = 1.3
MOST_AUDIT_MS, MOST_READY_MS = 1000, 5
Line = list[str]


def main() -> None:
    """Measure on one kind of database or on both, and print a table for each."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgres"))
    parser.add_argument("--full", help="the URL of a database filled by bench.generate")
    parser.add_argument("--rounds", type=int, default=25)
    arguments = parser.parse_args()
    wanted = arguments.database or arguments.full or ""
    for kind in ("sqlite", "postgres"):
        if not wanted or wanted.startswith(kind):
            with ExitStack() as running:
                name, empty_url, full_url = _databases(kind, running)
                print(f"\n{name}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
                _run(empty_url, arguments.full or full_url, not arguments.full, arguments.rounds)


def _databases(kind: str, running: ExitStack) -> tuple[str, str, str]:
    if kind == "sqlite":
        folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
        name = f"SQLite {sqlite3.sqlite_version}"
        return name, f"sqlite:///{folder}/empty.db", f"sqlite:///{folder}/full.db"
    server = running.enter_context(Postgres())
    empty, full = (server.create_database(f"growth_{each}") for each in ("empty", "full"))
    return f"Postgres {server.version}", empty, full


def _run(empty_url: str, full_url: str, is_new: bool, rounds: int) -> None:
    empty = Side(empty_url, lambda: fill(TINY))
    started = time.monotonic()
    full = Side(full_url, (lambda: fill(Scale())) if is_new else None)
    if is_new:
        print(f"generated in {time.monotonic() - started:.0f} s\n")
    heads = (
        "of the empty database, and of the full",
        "us",
        "us",
        "ratio",
        "wall",
        "bound",
        "holds",
    )
    _show(heads, _compared(empty, full, rounds))
    heads = ("a list's first page, and its 1,000th", "us", "us", "ratio", "wall", "bound", "holds")
    _show(heads, _paged(full, rounds))
    _show(("on the full database, at best", "ms", "CPU ms", "bound", "holds"), _timed(full))


def _show(heads: Sequence[str], lines: Iterator[Line]) -> None:
    print(aligned(heads, list(lines)), end="\n\n", flush=True)


def _compared(empty: Side, full: Side, rounds: int) -> Iterator[Line]:
    """Point reads, a preflight, the door: their cost must not grow with the database."""
    for name in (*cases.READS, *cases.WRITES):
        sides = [(side, cases.request(side, name)) for side in (empty, full)]
        yield _ratio(name, measure(sides, rounds))
    for (name, on_empty), (_, on_full) in zip(cases.looks(empty), cases.looks(full), strict=True):
        costs = measure([(empty, on_empty), (full, on_full)], 3, 2)
        counts = ", ".join(_count(side, ask) for side, ask in ((empty, on_empty), (full, on_full)))
        yield _ratio(f"{name} ({counts} rows)", costs, bound=None)


def _count(side: Side, ask: Callable[[], Any]) -> str:
    side.use()
    found = ask()
    return f"{found if isinstance(found, int) else len(found):,}"


def _paged(full: Side, rounds: int) -> Iterator[Line]:
    """Lists: every page must have the same cost."""
    for path in cases.LISTS:
        found = cases.pages(full, path)
        costs = measure([(full, found.first), (full, found.far)], rounds)
        name = path.removeprefix("/v1/").replace("{", "").replace("}", "")
        yield _ratio(f"{name} (page {found.number} of {found.limit})", costs)


def _timed(full: Side) -> Iterator[Line]:
    full.use()
    for name, of, times, bound in (
        ("audit of the tenant big", full.tenant_id, 5, MOST_AUDIT_MS),
        ("audit of all", None, 1, None),
    ):
        (cost,) = measure([(full, partial(_audit, of))], times, 1)
        yield _once(f"{name}, {reconciliation.count_intents(of):,} intents", cost, bound)
    (cost,) = measure([(full, cases.request(full, "/readyz"))], 50, 1)
    yield _once("/readyz", cost, MOST_READY_MS)


def _audit(tenant_id: str | None) -> None:
    breaches = reconciliation.reconcile(tenant_id)
    if breaches:
        raise SystemExit(f"the generated database is inconsistent: {breaches[0]}")


def _ratio(name: str, costs: Sequence[Cost], bound: float | None = MOST) -> Line:
    before, after = costs
    ratio = after.cpu_ms / before.cpu_ms
    holds = None if bound is None else ratio <= bound
    return [
        name,
        f"{before.cpu_ms * 1000:,.0f}",
        f"{after.cpu_ms * 1000:,.0f}",
        f"{ratio:.2f}",
        f"{after.wall_ms / before.wall_ms:.2f}",
        _bound(bound),
        verdict(holds),
    ]


def _once(name: str, cost: Cost, bound: float | None) -> Line:
    holds = None if bound is None else cost.best_wall_ms <= bound
    times = [f"{cost.best_wall_ms:,.1f}", f"{cost.cpu_ms:,.1f}"]
    return [name, *times, _bound(bound), verdict(holds)]


def _bound(bound: float | None) -> str:
    return "-" if bound is None else f"{bound:g}"


if __name__ == "__main__":
    main()
