"""How many connections each process has, so that all have about the same number.

All processes wait at one listening socket, and the kernel wakes the last one that began to wait.
With kept connections, one process would get all of them, and the others none: measured in one run
of three. So a process that has more than another leaves a new connection to that one for a moment.
The queue of connections stays common: one process that dies takes none of it along. Example: one of
two processes with 16 connections each is replaced. The other one has 32 then. It ends each with its
next response, `Connection: close`, until both have about 16.
"""

import mmap
import struct
import time

SLOTS = 64
LIVE_SECONDS = 2.0
"""A process that has not written its number for longer is stuck, or gone. It writes each second."""

_SLOT = struct.Struct("dq")
_memory = mmap.mmap(-1, SLOTS * _SLOT.size)
"""Shared by all processes that were forked since this module was loaded."""


class Share:
    """The number of connections of one process. `number` is different for each that lives."""

    def __init__(self, number: int) -> None:
        self._place = number % SLOTS * _SLOT.size

    def write(self, connections: int) -> None:
        """Let the others know how many connections this process has."""
        _SLOT.pack_into(_memory, self._place, time.monotonic(), connections)

    def leave(self) -> None:
        """Stop counting: this process accepts nothing more."""
        _SLOT.pack_into(_memory, self._place, 0.0, 0)

    def is_larger(self, connections: int) -> bool:
        """Return whether another process that lives has fewer connections than this number."""
        since = time.monotonic() - LIVE_SECONDS
        return any(
            seen > since and others < connections
            for place, (seen, others) in enumerate(_SLOT.iter_unpack(_memory))
            if place * _SLOT.size != self._place
        )
