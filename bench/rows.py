"""A row of the result: a case on a server, and its measurements so far."""

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from bench import cpu
from bench.cases import Bound
from bench.load import Load


@dataclass
class Row:
    """One case on one server. `run` loads it for some seconds.

    `slices` has the CPU microseconds per response of the server and of its database in each slice.
    """

    case: str
    answered_by: str
    expected: str
    run: Callable[[float], Load]
    server_pid: int | None = None
    database_pid: int | None = None
    bound: Bound | None = None
    load: Load = field(default_factory=Load)
    slices: list[tuple[float, float]] = field(default_factory=list)

    def warm_up(self, seconds: float) -> None:
        """Run it, and record only errors."""
        load = self.run(seconds)
        del load.statuses[self.expected]
        self.load.statuses += load.statuses

    def take(self, seconds: float) -> None:
        """Run one slice, and add its measurements."""
        server, database = _used_us(self.server_pid), _used_us(self.database_pid)
        load = self.run(seconds)
        self.load.add(load)
        count = max(1, load.count)
        self.slices.append(
            (
                (_used_us(self.server_pid) - server) / count,
                (_used_us(self.database_pid) - database) / count,
            )
        )

    @property
    def a_second(self) -> float:
        """Responses per second."""
        return self.load.count / self.load.seconds if self.load.seconds else 0.0

    @property
    def errors(self) -> int:
        """The number of wrong responses."""
        return sum(self.load.statuses.values()) - self.load.statuses[self.expected]

    def latency_ms(self, percent: int) -> float:
        """Return the latency percentile, in milliseconds."""
        if self.load.count < 2:
            return math.nan
        return statistics.quantiles(self.load.latencies_us, n=100)[percent - 1] / 1000

    @property
    def server_us(self) -> float:
        """CPU time of the server per response, in microseconds: the median of the slices."""
        return statistics.median(server for server, _ in self.slices)

    @property
    def database_us(self) -> float:
        """CPU time of the database per response, in microseconds: the median of the slices."""
        return statistics.median(database for _, database in self.slices)

    def cpu_us(self) -> float:
        """CPU time per response, of the server and its database, in microseconds.

        The median of the slices: other work on the machine disturbs some of them.
        """
        return statistics.median(map(sum, self.slices))


def ratio(row: Row, to: Row | None) -> float | None:
    """Return the CPU per response relative to `to`. None if they cannot be compared."""
    if to is None or row.server_pid is None or not to.cpu_us():
        return None
    return row.cpu_us() / to.cpu_us()


def holds(row: Row, flask: Row | None) -> bool | None:
    """Return whether a row meets its bound. None without a bound or without Flask's row."""
    if row.bound is None:
        return None
    if row.bound.to_flask is None:
        return row.a_second >= (row.bound.a_second or 0)
    to_flask = ratio(row, flask)
    return None if to_flask is None else to_flask <= row.bound.to_flask


def _used_us(pid: int | None) -> float:
    return cpu.seconds(pid) * 1_000_000 if pid is not None else 0.0
