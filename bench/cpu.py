"""CPU time and memory of process trees, from /proc."""

import os
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """Return a process and all its descendants."""
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
    """Return the parent of a process. None if the process does not exist."""
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def seconds(root: int) -> float:
    """Return the CPU seconds of a process tree so far, exited processes included."""
    return sum(_seconds_of(pid) for pid in tree(root))


def pss_bytes(root: int) -> int:
    """Return the proportional set size of a process tree: shared memory counts once."""
    return sum(_pss_of(pid) for pid in tree(root))


def sockets(root: int) -> list[int]:
    """Return how many sockets each child of a process has, the fewest first."""
    children = Path(f"/proc/{root}/task/{root}/children")
    return sorted(_sockets_of(int(pid)) for pid in children.read_text().split())


def _sockets_of(pid: int) -> int:
    found = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found += os.readlink(link).startswith("socket:")
    return found


def _seconds_of(pid: int) -> float:
    fields = _stat(pid)
    try:
        # The CPU clock of the process, as in clock_getcpuclockid(3). /proc counts in steps of
        # 10 ms, which is not exact enough for slices of half a second.
        own = time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0
    # Only the parent has the CPU time of children that have exited.
    return own + sum(int(ticks) for ticks in fields[13:15]) / _TICKS_A_SECOND


def _pss_of(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _stat(pid: int) -> list[str]:
    """Return the fields of a process's stat after its name. Empty if it has exited."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
