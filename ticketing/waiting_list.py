"""The waiting list of a ticket type that is sold out: the states of an entry, and its bounds."""

from datetime import timedelta
from enum import StrEnum


class EntryStatus(StrEnum):
    """What became of somebody who wants to wait.

    `unconfirmed`: the address was not confirmed by its mail. `offered`: an order was made for them,
    and is not paid yet. `ordered`: it was paid. `expired`: it was not, or nothing became free.
    """

    UNCONFIRMED = "unconfirmed"
    WAITING = "waiting"
    OFFERED = "offered"
    ORDERED = "ordered"
    EXPIRED = "expired"
    CANCELED = "canceled"


OPEN = (EntryStatus.UNCONFIRMED, EntryStatus.WAITING, EntryStatus.OFFERED)
"""An address has one entry of a ticket type in these states."""

MAX_QUANTITY = 4
"""The most seats of an entry. So at most three seats of a ticket type stay empty for a larger one.

Example: the first who waits wants 4, and 3 are free. They stay free until one more is, or until
somebody who wants 3 or fewer waits behind them. After an hour, everybody can buy them.
"""

DEFAULT_HOURS, MAX_HOURS = 24, 72
"""For how long an offer is held, if the sale goes on for more than twice as long."""

SHORTEST_OFFER = timedelta(minutes=30)
"""If an offer would end sooner, nobody can wait any more."""

DAY_BEGINS, DAY_ENDS = 8, 22
"""Hours at the event: between them, the time of a short offer runs."""

UNCONFIRMED_FOR = timedelta(hours=48)
"""After so long, an entry is deleted whose address was not confirmed."""

MOST_WAITING = 5_000
"""Who wait for one ticket type."""

JOINS_PER_CLIENT = 5
"""Entries a day of one client, over all events."""
