"""`python -m bench.million`: a simulated crowd of a million people before four hosts.

It uses the service's own arithmetic (services/waiting_room) with a simulated database and clocks:
eight processes look once a second, each at its own moment, over a network with delays. It prints
what the row of the room, the database and the network carry, and how fair the order is.
"""

import argparse
import heapq
import random
import sys
from collections import Counter
from dataclasses import dataclass, field

from ticketing.models.prepared import KEPT_LENGTH
from ticketing.response_times import Counts
from ticketing.services.waiting_room import admitting, pauses
from ticketing.services.waiting_room.admitting import Seen, State
from ticketing.services.waiting_room.arrivals import Arrivals
from ticketing.services.waiting_room.places import SECOND

HOSTS, PROCESSES_A_HOST = 4, 2
ARRIVE_WITHIN = 600.0
"""Seconds. Half of the people come in the first tenth of them."""
CLOCK_ERROR = 0.2
"""By how many seconds the clock of a host is wrong, at most."""
READ_DELAYS = (0.001, 0.02)
"""Seconds from a process to the database and back."""
ORDERS_A_SECOND = 60
"""What one host can serve: see bench/ONSALE.md."""
GONE = 0.3
"""The share of people who are gone when they are called."""
PAGE_BYTES, REQUEST_BYTES, ROW_BYTES, PAIR_BYTES = 4_500, 600, 200, 24


@dataclass
class Process:
    """What one process of a web server knows."""

    phase: float
    clock_error: float
    state: State
    read_at: float = 0.0
    came: Counter[int] = field(default_factory=Counter)

    def now(self, time: float) -> int:
        """Return the time of the room, as Room.now does."""
        return self.state.at + int((time - self.read_at) * SECOND)


@dataclass
class Simulation:
    """One run. Times are seconds since the room opened."""

    people: int
    seats: int
    seed: int = 1
    clock: float = 0.0
    moves: int = 0
    lost_moves: int = 0
    statements: int = 0
    read_bytes: int = 0
    most_pairs: int = 0
    errors: list[float] = field(default_factory=list)
    """By how many seconds the second in a place differs from that of the arrival."""

    def run(self) -> dict[str, str]:
        """Return what was seen."""
        chance = random.Random(self.seed)
        first = admitting.opened(1_764_000_000 * SECOND, None)
        row, counted = first, Counter[int]()
        clocks = [chance.uniform(-CLOCK_ERROR, CLOCK_ERROR) for _ in range(HOSTS)]
        processes = [Process(chance.random(), error, first) for error in clocks * PROCESSES_A_HOST]
        looks = [(process.phase, index) for index, process in enumerate(processes)]
        heapq.heapify(looks)
        arrivals = sorted(_arrival(chance) for _ in range(self.people))
        came, admitted, polls, most_polls, most_ahead = 0, 0, 0.0, 0.0, 0
        recently: list[int] = []
        while admitted < self.seats - 100 and self.clock < 4 * 3600:
            self.clock, index = heapq.heappop(looks)
            heapq.heappush(looks, (self.clock + 1.0, index))
            process = processes[index]
            while came < len(arrivals) and arrivals[came] <= self.clock:
                self._arrive(chance.choice(processes), arrivals[came], first.at)
                came += 1
            done = self.clock + chance.uniform(*READ_DELAYS)
            counted.update(process.came)
            # Each person is of a network of their own.
            networks = -(-process.came.total() // KEPT_LENGTH)
            self.statements += 2 + networks + len(process.came)
            process.came = Counter()
            since = row.admitted_until // SECOND
            known = Arrivals(sorted(each for each in counted.items() if each[0] >= since))
            pairs = sum(second >= since for second in counted)
            self.most_pairs = max(self.most_pairs, pairs)
            self.statements += 2
            self.read_bytes += ROW_BYTES + PAIR_BYTES * pairs
            if process.state.at != row.at:
                process.state, process.read_at = row, done
            if done - process.read_at >= 1.0:
                coming = int(sum(recently[-4:]) * (1 - GONE))
                load = min(0.99, coming / 4 / (HOSTS * ORDERS_A_SECOND))
                slow = 50 if load > 0.95 else 0
                times = Counts(1000, 50 if load > 0.9 else 0, slow)
                seen = Seen(known, times, coming, 2 * coming, 0, self.seats - admitted)
                wall = first.at + int((done + process.clock_error) * SECOND)
                moved = admitting.moved(process.state, max(process.now(done), wall), seen)
                self.statements += 6
                if process.state.at == row.at:  # the conditional UPDATE changes the row
                    called = known.before(moved.admitted_until) - known.before(row.admitted_until)
                    recently.append(called)
                    admitted += int(called * (1 - GONE))
                    row = moved
                    process.state, process.read_at = row, done
                    self.moves += 1
                else:
                    self.lost_moves += 1
            waiting = known.total - known.before(row.admitted_until)
            most_ahead = max(most_ahead, waiting)
            asking = _requests_a_second(waiting, row)
            polls += asking / len(processes)
            most_polls = max(most_polls, asking)
        return self._report(admitted, came, polls, most_polls, most_ahead)

    def _arrive(self, process: Process, time: float, opened: int) -> None:
        second = process.now(time) // SECOND
        process.came[second] += 1
        self.errors.append(abs(second - (opened + int(time * SECOND)) // SECOND))

    def _report(
        self, admitted: int, came: int, polls: float, most_polls: float, most_waiting: int
    ) -> dict[str, str]:
        seconds = max(self.clock, 1.0)
        late = sorted(self.errors)
        return {
            "people who came": f"{came:,}",
            "people who were served": f"{admitted:,} in {seconds:,.0f} s",
            "most who waited at once": f"{most_waiting:,}",
            "moves of the row": f"{self.moves / seconds:.2f} a second",
            "moves that another process had made": f"{self.lost_moves / seconds:.2f} a second",
            "statements": f"{self.statements / seconds:.0f} a second, of all processes",
            "read from the database": f"{self.read_bytes / seconds / 1024:.0f} KiB a second",
            "seconds of arrivals that are read": f"{self.most_pairs:,} at most",
            "pages of people who wait": f"{polls / seconds:,.0f} a second,"
            f" {most_polls:,.0f} at most",
            "network of these pages": f"{most_polls * (PAGE_BYTES + REQUEST_BYTES) * 8 / 1e6:,.0f}"
            " Mbit a second at most",
            "a place's second is wrong by": f"{late[len(late) // 2]} s in the median,"
            f" {late[len(late) * 999 // 1000]} s for 999 of 1,000, {late[-1]} s at most",
        }


def _requests_a_second(waiting: int, row: State) -> float:
    """Return how often all who wait ask, from the pauses of a twentieth of them each."""
    pace = row.called_per_minute or row.per_minute
    shares = [(part + 0.5) / 20 * waiting for part in range(20)]
    return sum(waiting / 20 / pauses.pause(int(60 * ahead / pace), waiting) for ahead in shares)


def _arrival(chance: random.Random) -> float:
    early = chance.random() < 0.5
    return chance.uniform(0, ARRIVE_WITHIN / 10 if early else ARRIVE_WITHIN)


def main() -> None:
    """Run the simulation, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--seats", type=int, default=50_000)
    chosen = parser.parse_args()
    for name, value in Simulation(chosen.people, chosen.seats).run().items():
        sys.stdout.write(f"{name:38}{value}\n")


if __name__ == "__main__":
    main()
