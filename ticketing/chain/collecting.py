"""Find out which receivers can be collected together. Nothing is sent.

A collection does all or nothing: one receiver that the issuer of a token has frozen makes it fail
for a hundred. So each is tried as a call, and one that fails is halved until those that fail are
found. If only the gathering receiver is frozen, the receivers can still pay their owner directly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

MOST_ORDERS = 100
"""The most receivers of one transaction: 5.9 million gas. EIP-7825 allows 16.7 million."""


@dataclass(frozen=True)
class Holding:
    """A receiver that holds something.

    `name` is the order's, for messages. `amount` is what it holds, in atomic units.
    """

    name: str
    salt: bytes
    amount: int


Passes = Callable[[Sequence[Holding], bool], bool]
"""Whether a collection of these would succeed; True: with each receiver paying its owner itself."""


@dataclass
class Sorted:
    """Receivers by the way in which they can be collected."""

    gathered: list[Holding] = field(default_factory=list)
    direct: list[Holding] = field(default_factory=list)
    refused: list[Holding] = field(default_factory=list)

    def __add__(self, other: Sorted) -> Sorted:
        return Sorted(
            self.gathered + other.gathered,
            self.direct + other.direct,
            self.refused + other.refused,
        )


def in_batches(holdings: Sequence[Holding]) -> list[Sequence[Holding]]:
    """Return the holdings in batches of MOST_ORDERS."""
    return [holdings[at : at + MOST_ORDERS] for at in range(0, len(holdings), MOST_ORDERS)]


def sort(holdings: Sequence[Holding], passes: Passes) -> Sorted:
    """Return how one or more receivers can be collected.

    Example: of 100, the 64th is frozen. Of each half that fails, both halves are tried: it is found
    in about 21 calls, and the other 99 can be collected together.
    """
    if passes(holdings, False):
        return Sorted(gathered=list(holdings))
    if passes(holdings, True):
        return Sorted(direct=list(holdings))
    if len(holdings) == 1:
        return Sorted(refused=list(holdings))
    middle = len(holdings) // 2
    return sort(holdings[:middle], passes) + sort(holdings[middle:], passes)
