"""Calculated: what more hosts carry until Postgres has no CPU left, and what they cost a month."""

import math
from collections.abc import Mapping

from bench import report

DOLLARS_A_CORE, DOLLARS_A_GIGABYTE = 8.0, 2.0
"""An assumption, a month: list price of small cloud hosts, check yours."""
GIGABYTES_A_CORE = 2
CORES_OF_A_HOST = 2
"""Of a web host, with a process for each core."""

BUSY = 0.6
"""How much of its cores a host may use. More, and requests wait for each other."""

POLLS = 20
"""How often a buyer's page asks until the ticket is there."""

_POSTGRES_CORES = (2, 4, 8, 16)


def plan(order: Mapping[str, float], poll: Mapping[str, float], through: str) -> list[list[str]]:
    """Return a line for each size of Postgres, from the CPU in us of each part.

    The parts are `web`, `PgBouncer`, `Postgres`, and of an order `worker`. The worker runs on the
    web hosts, and PgBouncer beside Postgres. A poll costs the worker nothing.
    """
    lines = []
    for what, polls in (("orders alone", 0), (f"orders with {POLLS} polls", POLLS)):
        used = {part: order[part] + polls * poll.get(part, 0.0) for part in order}
        on_hosts, central = used["web"] + used["worker"], used["Postgres"] + used["PgBouncer"]
        for cores in _POSTGRES_CORES:
            rate = BUSY * cores * 1e6 / central
            hosts = math.ceil(rate * on_hosts / (BUSY * CORES_OF_A_HOST * 1e6))
            dollars = hosts * _dollars(CORES_OF_A_HOST) + _dollars(cores)
            single = (f"{rate * used[part] / 1e6:.2f}" for part in ("PgBouncer", "worker"))
            figures = [f"{rate:.0f}", str(hosts), *single]
            lines.append([what, through, str(cores), *figures, f"${dollars:.0f}"])
    return lines


def table(lines: list[list[str]]) -> str:
    """Return the lines of `plan` as a table."""
    heads = ("what", "through", "Postgres's cores", "a second", f"hosts of {CORES_OF_A_HOST} cores")
    return report.aligned((*heads, "PgBouncer's", "worker's", "a month"), lines, left=2)


def assumptions() -> str:
    """Return what the table assumes, in one line."""
    price = f"${DOLLARS_A_CORE:g} a core and ${DOLLARS_A_GIGABYTE:g} a GB a month"
    return (
        f"Assumed: {price} (list price of small cloud hosts, check yours),"
        f" {GIGABYTES_A_CORE} GB a core, {BUSY:.0%} of all cores busy"
    )


def _dollars(cores: int) -> float:
    return cores * (DOLLARS_A_CORE + GIGABYTES_A_CORE * DOLLARS_A_GIGABYTE)
