"""Measure a failover: `python -m bench.failover`. How long sales stop, and what is lost.

Postgres and its standby run under Patroni on this machine, from Debian's packages. While buyers
order, the host of the primary is killed, comes back, and the primary is moved as planned. Then the
host of the standby is killed. With an asynchronous standby, the network to it fails a second before
the primary's host is killed.
"""

import argparse
import os
import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.failover_sale import Proof, Sale, Shop, open_shop, prove
from bench.table import aligned
from tools import ToolMissing, anvil
from tools.patroni import Cluster
from tools.patroni_settings import Timing
from tools.stack import Stack, free_port

DEFAULT = Timing(ttl=30, loop_wait=10, retry_timeout=10)
SHORT = Timing(ttl=20, loop_wait=2, retry_timeout=9)
"""The shortest `ttl` that Patroni documents."""

RUNS = {
    "default": (DEFAULT, True),
    "short": (SHORT, True),
    "asynchronous": (SHORT, False),
}
_BEFORE_SECONDS, _AFTER_SECONDS, _LONGEST_SECONDS = 8.0, 12.0, 150.0
_STALL_SECONDS = 1.0
_HEADS = (
    "event",
    "first failure s",
    "no sale s",
    "longest request s",
    "last waiting buyer s",
    "503",
    "429",
    "409",
    "500",
    "other",
    "worker silent s",
)


@dataclass(frozen=True)
class Stage:
    """What the buyers saw around one event."""

    name: str
    at: float
    sale: Sale

    def cells(self) -> list[str]:
        """Return its line of the table."""
        sold = [each.ended for each in self.sale.attempts if each.outcome == 201]
        attempts = [attempt for attempt in self.sale.attempts if attempt.ended > self.at]
        counts = Counter(attempt.outcome for attempt in attempts)
        failed = [attempt.ended - self.at for attempt in attempts if attempt.outcome != 201]
        served = [
            order.attempts[-1].ended - self.at
            for order in self.sale.orders
            if order.attempts[-1].ended > self.at and len(order.attempts) > 1
        ]
        answers = [counts.pop(status, 0) for status in (201, 503, 429, 409, 500)]
        return [
            self.name,
            f"{min(failed):.1f}" if failed else "-",
            f"{longest_gap([ended for ended in sold if ended < self.sale.until]):.1f}",
            f"{max(each.ended - each.began for each in attempts):.1f}",
            f"{max(served):.1f}" if served else "-",
            *map(str, answers[1:]),
            str(counts.total()),
            f"{longest_gap(self.sale.looked_at):.0f}",
        ]


def longest_gap(times: list[float]) -> float:
    """Return the longest time between two neighbours. 0 if there are fewer than two."""
    return max((later - earlier for earlier, later in pairwise(sorted(times))), default=0.0)


class Run:
    """One cluster with one configuration, the service on it, and what happens to it."""

    def __init__(self, name: str, running: ExitStack) -> None:
        timing, synchronous = RUNS[name]
        self._name, self._synchronous, self._began = name, synchronous, time.monotonic()
        self._say(f"starts: {timing}, {'synchronous' if synchronous else 'asynchronous'}")
        self._cluster = running.enter_context(Cluster(timing, synchronous=synchronous))
        self._node = running.enter_context(anvil.Anvil(block_time=1))
        anvil.ensure_token(self._node.rpc)
        self._log = Path(running.enter_context(tempfile.TemporaryDirectory())) / "log"
        self._stack = running.enter_context(Stack(self._variables(), log=self._log))
        self._stack.flask("db", "upgrade")
        self._stack.start_web()
        self._stack.start_worker()
        self._shop: Shop = open_shop(self._stack)
        self._stages: list[Stage] = []
        self._returns: list[str] = []

    def report(self) -> str:
        """Do everything, and return the tables."""
        self._stage("the primary's host is killed", self._kill_primary)
        self._bring_back()
        if self._synchronous:
            self._stage("the primary moves as planned", self._cluster.switch_over)
            self._say(f"standby again after {self._cluster.wait_for_standby():.0f} s")
            self._stage("the standby's host is killed", self._kill_standby)
            self._bring_back()
        self._stack.check()
        lines = [stage.cells() for stage in self._stages]
        return "\n\n".join(
            [
                f"{self._name}: {RUNS[self._name][0]}, load {os.getloadavg()[0]:.1f}",
                aligned(_HEADS, lines),
                "\n".join([*self._returns, str(self._prove())]),
            ]
        )

    def _stage(self, name: str, event: Callable[[], None]) -> None:
        with Sale(self._shop, self._node) as sale:
            time.sleep(_BEFORE_SECONDS)
            self._say(name)
            at = time.monotonic()
            event()
            self._wait_for_sales(sale, at)
            time.sleep(_AFTER_SECONDS)
        self._stages.append(Stage(name, at, sale))
        self._say(f"{name}: {self._prove()}")

    def _wait_for_sales(self, sale: Sale, at: float) -> None:
        """Wait until orders are accepted after a gap, or go on without one."""
        while time.monotonic() < at + _LONGEST_SECONDS:
            time.sleep(1)
            if any(each.outcome == 201 and each.began > at + 3 for each in sale.attempts):
                self._say("orders are accepted")
                return
        raise SystemExit("no order was accepted: " + self._log.read_text()[-2000:])

    def _kill_primary(self) -> None:
        self._gone = self._cluster.primary
        if not self._synchronous:
            self._cluster.stall_replication()
            time.sleep(_STALL_SECONDS)
        self._cluster.kill(self._gone)

    def _kill_standby(self) -> None:
        self._gone = self._cluster.standby
        self._cluster.kill(self._gone)

    def _bring_back(self) -> None:
        before = len(self._cluster.said(self._gone))
        self._cluster.start(self._gone)
        seconds = self._cluster.wait_for_standby()
        rewound = "running pg_rewind" in self._cluster.said(self._gone)[before:]
        way = "with pg_rewind" if rewound else "by streaming"
        back = f"host {self._gone} is a standby again {seconds:.0f} s after its start, {way}"
        self._returns.append(back)
        self._say(back)

    def _prove(self) -> Proof:
        sales = [stage.sale for stage in self._stages]
        return prove(self._cluster.url, self._stack, self._shop, sales)

    def _variables(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self._cluster.url,
            "SECRET_KEY": secrets.token_urlsafe(48),
            "PORT": str(free_port()),
            "RPC_URL_31337": self._node.url,
            "RATE_LIMIT_ADMIN": "1000000",
            "RATE_LIMIT_CHECKOUT": "1000000",
            "WEB_CONCURRENCY": "2",
        }

    def _say(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:6.1f} s  {self._name}: {text}", flush=True)


def main() -> None:
    """Run the configurations, and print a table for each."""
    parser = argparse.ArgumentParser(prog="python -m bench.failover", description=__doc__)
    parser.add_argument("--only", choices=RUNS, help="one of the three configurations")
    only = parser.parse_args().only
    reports = []
    for name in RUNS:
        if only in (None, name):
            with ExitStack() as running:
                try:
                    reports.append(Run(name, running).report())
                except ToolMissing as missing:
                    raise SystemExit(str(missing)) from None
    print("\n" + "\n\n".join(reports))


if __name__ == "__main__":
    main()
