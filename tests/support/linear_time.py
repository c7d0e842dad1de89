"""Measures whether reading a hostile text takes linear time.

CPU times are compared with each other, not with a fixed time: text of 16 times the length may take
16 times as long. Quadratic work takes 256 times as long.
"""

import time
from collections.abc import Callable
from typing import Any

SHORT, LONG = 4_000, 64_000
MOST = 4 * LONG // SHORT
"""How many times longer the long text may take: four times the factor of linear work."""
TRIES = 7

Hostile = tuple[str, str, str]
"""The start, the middle that repeats, and the end of a text."""


def grown(text: Hostile, size: int) -> str:
    """Return a hostile text of about this size."""
    start, middle, end = text
    return start + middle * (size // len(middle)) + end


def seconds(work: Callable[[Any], Any], made: Callable[[], Any]) -> float:
    """Return the least CPU time of `work`, with a new argument each time."""
    taken = []
    for _ in range(TRIES):
        given = made()
        start = time.thread_time()
        work(given)
        taken.append(time.thread_time() - start)
    return min(taken)


def is_linear(work: Callable[[Any], Any], make: Callable[[int], Any]) -> None:
    """Check that `work` takes at most MOST times as long for the longer text.

    Other programs may slow down all tries of one of the two, so there are three rounds.
    """
    ratios = []
    for _ in range(3):
        long, short = (seconds(work, lambda size=size: make(size)) for size in (LONG, SHORT))
        # Less than 20 us cannot be measured well, and harms nobody.
        ratios.append(long / max(short, 2e-5))
        if ratios[-1] < MOST:
            return
    raise AssertionError(f"{LONG // SHORT} times the text takes {ratios} times as long")
