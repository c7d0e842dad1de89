"""`make bench-onsale`: measure the minute in which a sale begins, and what each step costs.

Exits with 1 if a response has an unexpected status, never because of a time.
"""

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench import machine, table
from bench.databases import Database
from bench.onsale_phases import Phase, Sale, Scale, Step
from bench.onsale_steps import journeys, steps
from bench.results import show
from bench.rounds import BARE_NAME, FLASK_NAME, World, databases_of, rows_of, take, world_of
from tools import anvil
from tools.stack import ROOT

RESULTS = Path(__file__).parent / "ONSALE.md"
WAITING_MS = 500.0
"""The limit of a waiting buyer's poll: the latency that 99 of 100 do not exceed."""

FELT_MS = 100.0
"""How much a crowd may add to the latency of holders, which 99 of 100 do not exceed."""

_WAITING = "poll, waiting"
_BEFORE, _DURING = ", before", ", during"


def main() -> None:
    """Measure, print the result, and write it to a file with --write."""
    arguments = _arguments()
    file = RESULTS if arguments.write else None
    show(partial(_measure, arguments), "The last on-sale minute", file)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.onsale", description=__doc__)
    parser.add_argument("--buyers", type=int, default=3000)
    parser.add_argument("--seconds", type=float, default=60, help="in which they come")
    parser.add_argument("--waiting", type=int, default=3000, help="buyers who wait and poll")
    parser.add_argument("--waiting-seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3, help="of the steps; 0: leave them out")
    parser.add_argument("--slice", type=float, default=0.5, help="seconds of a step in a round")
    parser.add_argument("--database", choices=("sqlite", "postgres"), help="default: both")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.relative_to(ROOT)}")
    return parser.parse_args()


def _measure(arguments: argparse.Namespace, running: ExitStack) -> tuple[str, int]:
    """Measure everything. Return the report and the number of wrong results."""
    folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="ticketing-bench-")))
    log = folder / "log"
    chosen = list(databases_of(arguments.database, folder, running))
    report = machine.facts(chosen)
    sales = [_open(database, log, running) for database in chosen]
    errors = 0
    if arguments.rounds:
        shown, errors = _steps([world for world, _ in sales], arguments, log)
        report += shown
    scale = Scale(arguments.buyers, arguments.seconds, arguments.waiting, arguments.waiting_seconds)
    phases = []
    for world, node in sales:
        with ExitStack() as of_sale:
            phases += Sale(world, node, log, of_sale).phases(scale)
    report += _shown(phases, scale)
    return "\n".join(report), errors + sum(len(phase.wrong) for phase in phases)


def _open(database: Database, log: Path, running: ExitStack) -> tuple[World, anvil.Anvil]:
    node = running.enter_context(anvil.Anvil())
    return world_of(database, node, log), node


def _steps(
    worlds: Sequence[World], arguments: argparse.Namespace, log: Path
) -> tuple[list[str], int]:
    with ExitStack() as running:
        rows = list(rows_of(steps(worlds[0].shop), worlds, log, running))
        take(rows, arguments.rounds, arguments.slice)
    shown = table.of_rows(rows, BARE_NAME, FLASK_NAME)
    lines = ["", "Steps", "", shown, "", journeys(rows)]
    return lines, sum(row.errors for row in rows)


def _shown(phases: Sequence[Phase], scale: Scale) -> list[str]:
    lines = ["", f"The minute: {scale.buyers} buyers come within {scale.seconds:g} s", ""]
    lines += [_sums(phases), "", _latencies(phases)]
    wrong = [
        f"WRONG {each.name}, {each.database}: {what}" for each in phases for what in each.wrong
    ]
    return lines + (["", *wrong] if wrong else [])


def _sums(phases: Sequence[Phase]) -> str:
    lines = []
    for phase in phases:
        of_what = "request" if phase.name == "waiting" else "buyer"
        each = [
            f"{seconds / max(1, phase.count) * 1000:.2f}" for seconds in phase.cpu_seconds.values()
        ]
        cores = sum(phase.cpu_seconds.values()) / phase.seconds
        minute = f"{phase.a_minute:.0f}" if phase.name != "waiting" else "-"
        count = f"{phase.count} {of_what}s"
        lines.append([phase.name, phase.database, count, minute, *each, f"{cores:.2f}"])
    names = [f"{name} ms" for name in phases[0].cpu_seconds]
    heads = ("phase", "answered by", "count", "buyers a minute", *names, "cores")
    return table.aligned(heads, lines, left=2)


def _latencies(phases: Sequence[Phase]) -> str:
    by_name: dict[tuple[str, str], dict[str, Step]] = {}
    for step in (step for phase in phases for step in phase.steps):
        by_name.setdefault((step.phase, step.name), {})[step.database] = step
    lines = []
    for (phase, name), by_database in by_name.items():
        before = by_name.get((phase, name.replace(_DURING, _BEFORE)), {})
        for database, step in by_database.items():
            most = _most_ms(step, before.get(database))
            bound = ["-", "-"]
            if most is not None:
                bound = [f"p99 <= {most:.0f} ms", table.verdict(step.ms(99) <= most)]
            figures = [str(len(step.latencies_us)), f"{step.ms(50):.1f}", f"{step.ms(99):.1f}"]
            wrong = str(sum(step.wrong.values()))
            lines.append([phase, name, database, *figures, *bound, wrong])
    heads = ("phase", "step", "answered by", "count", "p50 ms", "p99 ms", "bound", "holds", "wrong")
    return table.aligned(heads, lines, left=3)


def _most_ms(step: Step, before: Step | None) -> float | None:
    if step.name == _WAITING:
        return WAITING_MS
    if step.name.endswith(_DURING) and before is not None:
        return before.ms(99) + FELT_MS
    return None


if __name__ == "__main__":
    main()
