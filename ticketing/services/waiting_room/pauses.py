"""After how many seconds somebody who waits asks again: the sooner it is their turn, the sooner.

Example: 20,000 wait, and 600 are called a minute. Who has 60 before them waits 6 seconds, and asks
after 3. Who has 3,000 before them waits 5 minutes, and asks after 33 seconds: then 20,000 people
make 600 requests a second.
"""

from ticketing.services.waiting_room.places import SECOND

LEAST, MOST, MOST_OF_CROWD = 3, 30, 90
"""Seconds. The last is for very many people, and less than their patience."""

REQUESTS_A_SECOND = 600
"""How many requests of people who wait there should be, at most."""

PARTS = 6
"""So often somebody asks until it is their turn."""

_SPREAD = 10


def pause(wait_seconds: int | None, waiting: int) -> int:
    """Return the pause of somebody whose turn is in `wait_seconds`. None: it is not known when."""
    most = _most(waiting)
    return most if wait_seconds is None else min(max(wait_seconds // PARTS, LEAST), most)


def pause_before_sale(starts_in: int, position: int, waiting: int) -> int:
    """Return the pause of somebody who waits for the start of the sale.

    Not all come in the second of the start: who has the first lots comes first.
    """
    spread = min(max(_SPREAD, waiting // REQUESTS_A_SECOND), MOST_OF_CROWD)
    after_start = starts_in + spread * (position % SECOND) // SECOND
    return min(max(after_start, LEAST), _most(waiting))


def _most(waiting: int) -> int:
    return min(max(MOST, waiting // REQUESTS_A_SECOND), MOST_OF_CROWD)
