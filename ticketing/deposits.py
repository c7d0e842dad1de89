"""Deposits: who releases them, and when the service does so itself."""

from datetime import timedelta
from enum import StrEnum


class DepositsRelease(StrEnum):
    """Whether the deposits of who came are released after the event by the service itself."""

    AUTOMATIC = "automatic"
    MANUAL = "manual"


AFTER_END = timedelta(hours=24)
"""How long after the event the first release is."""

EVERY = timedelta(hours=24)
"""How often the release is made again: devices that send their scans late add people."""

FOR = timedelta(days=7)
"""For how long after the first one."""
