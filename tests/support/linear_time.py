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

STEPS = (*range(16, 48, 2), 64, 128, 256, 512, 1_000, 2_000, 4_000, 8_000, 16_000)
"""The lengths that are tried one after another: exponential work is noticed while it is short."""
ENOUGH = 0.05
"""The seconds after which longer texts are not tried."""
FACTOR = 16
"""How many times shorter a text is with which a slow one is compared."""
CLEARLY_MORE = 100
"""The growth for FACTOR times the length that is not linear: between 16 and 256."""
LEAST = 2e-5
"""Seconds. Less cannot be measured well, and harms nobody."""

Hostile = tuple[str, str, str]
"""The start, the middle that repeats, and the end of a text."""


def grown(text: Hostile, size: int) -> str:
    """Return a hostile text of about this size."""
    start, middle, end = text
    return start + middle * (size // len(middle)) + end


def once(work: Callable[[Any], Any], given: Any) -> float:
    """Return the CPU time of one call."""
    start = time.thread_time()
    work(given)
    return time.thread_time() - start


def seconds(work: Callable[[Any], Any], make: Callable[[int], Any], size: int) -> float:
    """Return the least CPU time of `work`, with a new argument of this size each time."""
    return min(once(work, make(size)) for _ in range(TRIES))


def is_linear(work: Callable[[Any], Any], make: Callable[[int], Any]) -> None:
    """Check that `work` takes at most MOST times as long for the longer text.

    Other programs may slow down all tries of one of the two, so there are three rounds.
    """
    ratios = []
    for _ in range(3):
        long, short = (seconds(work, make, size) for size in (LONG, SHORT))
        ratios.append(long / max(short, LEAST))
        if ratios[-1] < MOST:
            return
    raise AssertionError(f"{LONG // SHORT} times the text takes {ratios} times as long")


def is_slow(work: Callable[[Any], Any], make: Callable[[int], Any]) -> bool:
    """Say whether `work` takes more than linear time. It is quick: it tries many texts.

    The text grows until it takes ENOUGH seconds or has the last length. If that is no more than
    CLEARLY_MORE times LEAST, it is short enough whatever the growth is. Else it is compared with a
    text that is FACTOR times shorter, twice: other programs may slow down a try.
    """
    for size in STEPS:
        taken = once(work, make(size))
        if taken > ENOUGH:
            break
    for _ in range(2):
        if taken < CLEARLY_MORE * LEAST:
            return False
        short = seconds(work, make, size // FACTOR)
        if taken < CLEARLY_MORE * max(short, LEAST):
            return False
        taken = min(taken, once(work, make(size)))
    return True
