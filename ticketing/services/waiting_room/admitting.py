"""How a waiting room moves: whom it calls next, and how many. Pure arithmetic.

The number that is called a minute follows the response times of all processes together: it grows
while 99 of 100 responses are quick, and falls when more than one of 100 is slow. Of those who are
called, some are gone. They need no answer, so the service stays quick, and more are called.

Example: 600 are called a minute. Of the last 500 responses, 3 were not quick. So 10 more are
admitted after a second, and 630 are called a minute. If 6 were slow, it would be 420.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ticketing.response_times import Counts
from ticketing.services.waiting_room.arrivals import Arrivals
from ticketing.services.waiting_room.places import SECOND

FIRST_PER_MINUTE, LEAST_PER_MINUTE, MOST_PER_MINUTE = 600, 60, 120_000

GROWTH, CAREFUL_GROWTH, CUT = 1.05, 1.02, 0.7
"""By what the number is multiplied, in each second. Who is called comes some seconds later, so more
would be called than can be served before that shows."""

SLOW_FOR = 4 * SECOND
"""A response that was slow still counts for so long, so the number is cut once in that time."""

EXCUSED = 8 * SECOND
"""For so long after the room opened, nothing is cut."""

SHOWN_UP = 4
"""The number grows fast only if one of four who were called has come. Others come later."""

COUNTED_AFTER = 2 * SECOND
"""After so long, all processes have written how many people came in a second."""

MEMORY = 10
"""How many moves `called` has."""

COMING_MOVES = 5
"""Who was called in the last moves, and did not come yet, may still come."""

LEAST_SHARE = 0.02
"""At least this share of them is expected."""

CLOSES_AFTER = 20 * SECOND
"""The room closes if nobody had to wait for so long."""

HELD_LONGEST = 20 * 60 * SECOND
"""It also closes if unpaid orders hold all that is left for so long."""

_LONGEST_STEP = 5 * SECOND
_MINUTE = 60 * SECOND


@dataclass(frozen=True)
class State:
    """A room, as its row has it: see models/waiting_rooms.py."""

    opened: int
    sale_starts: int | None
    at: int
    admitted_until: int
    per_minute: int = FIRST_PER_MINUTE
    called: tuple[int, ...] = ()
    slowed_at: int = 0
    caught_up_at: int | None = None
    held_since: int | None = None
    turns: int = 1
    used_turns: int = 0

    @property
    def is_draw(self) -> bool:
        """Whether the sale has not started, and places are not drawn yet."""
        return self.sale_starts is not None and self.at < self.sale_starts

    @property
    def called_per_minute(self) -> int:
        """How many were called a minute, in the last moves. 0 if nobody was."""
        return 60 * sum(self.called) // len(self.called) if self.called else 0


@dataclass(frozen=True)
class Seen:
    """What a move depends on, besides the room.

    `times`: of all processes, in the last seconds. `came`: how many of those who were called began
    their turn in the last COMING_MOVES moves, `came_in_memory`: in the last MEMORY moves.
    `ordering`: how many have their turn now. `left`: how many seats can be held. None: unlimited.
    `turns`, `used_turns`: of one network, as a room has them.
    """

    arrivals: Arrivals
    times: Counts
    came: int
    came_in_memory: int
    ordering: int
    left: int | None
    turns: int = 1
    used_turns: int = 0

    @property
    def is_quick(self) -> bool:
        """Whether 99 of 100 responses were quick. One that was not does not count."""
        return self.times.not_quick <= max(1, self.times.responses // 100)

    @property
    def is_slow(self) -> bool:
        """Whether more than one of 100 responses was slow. One alone does not count."""
        return self.times.slow > max(1, self.times.responses // 100)


def opened(now: int, sale_starts: int | None) -> State:
    """Return a room that opens now. Who comes from now on waits.

    Before the start of the sale, all get places in the second before it: so their lots decide.
    """
    first = now if sale_starts is None or sale_starts <= now else sale_starts - SECOND
    # What is slow in the first seconds came before: it is why the room opens.
    calm = now + EXCUSED - SLOW_FOR
    return State(now, sale_starts, now, first // SECOND * SECOND, slowed_at=calm)


def moved(room: State, at: int, seen: Seen) -> State:
    """Return a room at the time `at`, which is later than that of its last move."""
    if room.sale_starts is not None and at < room.sale_starts:
        return replace(room, at=at)
    elapsed = min(at - room.at, _LONGEST_STEP)
    room = _paced(room, at, elapsed, seen)
    number = max(1, room.per_minute * elapsed // _MINUTE)
    if seen.left is not None:
        number = min(number, max(0, seen.left - seen.ordering - _coming(room, seen)))
    before = seen.arrivals.before(room.admitted_until)
    newest = (at - COUNTED_AFTER) // SECOND * SECOND
    next_position = seen.arrivals.position_after(before + number)
    is_caught_up = number > 0 and (next_position is None or next_position > newest)
    if is_caught_up:
        until = max(room.admitted_until, newest)
    else:
        until = max(room.admitted_until, next_position or 0) if number else room.admitted_until
    called = seen.arrivals.before(until) - before
    return replace(
        room,
        at=at,
        admitted_until=until,
        called=(*room.called, called)[-MEMORY:],
        caught_up_at=(room.caught_up_at or at) if is_caught_up else None,
        held_since=(room.held_since or at) if seen.left == 0 else None,
        turns=seen.turns,
        # By the seats that were unsold when the sale began, or when the room opened.
        used_turns=room.used_turns or seen.used_turns,
    )


def may_close(room: State, seen: Seen) -> bool:
    """Return whether nobody had to wait for some time, or nothing was left for a long time."""
    if room.held_since is not None and room.at - room.held_since >= HELD_LONGEST:
        return True
    return (
        room.caught_up_at is not None
        and room.at - room.caught_up_at >= CLOSES_AFTER
        and not seen.is_slow
    )


def _coming(room: State, seen: Seen) -> int:
    """Return how many people who were called a moment ago are expected to come.

    Of those who were called before, a share has come in the last ten moves. As many of the others
    are expected. In the first moves all are.

    Example: 10 were called in each of the last ten moves. In this time 10 came, 5 of them in the
    last five moves. 50 were called before these: the share is a fifth. Of the 45 who were called in
    the last five moves and did not come, 9 are expected. If all ten seats are left, one more person
    is called. If nobody came, one is expected, and nine are called.
    """
    called = sum(room.called[-COMING_MOVES:])
    before = sum(room.called) - called
    share = min(1.0, max(LEAST_SHARE, seen.came_in_memory / before)) if before else 1.0
    return math.ceil(max(0, called - seen.came) * share)


def _paced(room: State, at: int, elapsed: int, seen: Seen) -> State:
    """Return a room with the number of people to call a minute from now on."""
    seconds = elapsed / SECOND
    if seen.is_slow:
        if at - room.slowed_at < SLOW_FOR:
            return room
        return replace(room, per_minute=_within(room.per_minute * CUT), slowed_at=at)
    if not seen.is_quick or room.caught_up_at is not None:
        return room
    have_come = seen.came * SHOWN_UP >= sum(room.called)
    growth = GROWTH if have_come else CAREFUL_GROWTH
    return replace(room, per_minute=_within(room.per_minute * growth**seconds))


def _within(per_minute: float) -> int:
    return min(max(int(per_minute), LEAST_PER_MINUTE), MOST_PER_MINUTE)
