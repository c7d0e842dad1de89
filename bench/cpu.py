"""What process trees use, from /proc: CPU time and memory."""

import os
import time
from collections import defaultdict
from pathlib import Path

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """Return a process and all that descend from it."""
    children: dict[int, list[int]] = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        pid = int(folder.name)
        fields = _stat(pid)
        if fields:
            children[int(fields[1])].append(pid)
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def parent(pid: int) -> int | None:
    """Return a process's parent, None if there is no such process."""
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def seconds(root: int) -> float:
    """Return the CPU time used so far by a process tree, with those in it that have ended."""
    return sum(_seconds_of(pid) for pid in tree(root))


def pss_bytes(root: int) -> int:
    """Return the proportional set size of a process tree: what is shared counts once in all."""
    return sum(_pss_of(pid) for pid in tree(root))


def _seconds_of(pid: int) -> float:
    fields = _stat(pid)
    try:
        # Its clock, as clock_getcpuclockid(3) makes it: /proc counts in steps of 10 ms, which is
        # much where a slice of the measurement takes half a second.
        own = time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0
    # Of children that have ended, only their parent still knows.
    return own + sum(int(ticks) for ticks in fields[13:15]) / _TICKS_A_SECOND


def _pss_of(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _stat(pid: int) -> list[str]:
    """Return the fields of a process's stat after its name; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
