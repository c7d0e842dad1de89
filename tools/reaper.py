"""Ends the servers of a process that was killed: no node and no Postgres stays behind.

The reaper is a process of its own. It reads lines from a pipe that only this process can write to:
`+123 /tmp/data` for a server with its folder, `-123` when that server has ended. The pipe closes
when this process ends, in whatever way. Then the reaper kills what is left.
"""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PATIENCE_SECONDS = 5.0
"""How long a server may take to end in order: Postgres frees its shared memory."""

_reaper: subprocess.Popen[str] | None = None


def watch(pid: int, folder: Path | None = None) -> None:
    """Kill process `pid`, the first of its group, and remove `folder`, if this process dies."""
    global _reaper
    if _reaper is None:
        _reaper = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        atexit.register(_end, _reaper)
    _write(f"+{pid} {folder or ''}\n")


def forget(pid: int) -> None:
    """Do nothing more about a process that has ended."""
    if _reaper is not None:
        _write(f"-{pid}\n")


def _write(line: str) -> None:
    assert _reaper is not None and _reaper.stdin is not None
    with suppress(BrokenPipeError):
        _reaper.stdin.write(line)
        _reaper.stdin.flush()


def _end(reaper: subprocess.Popen[str]) -> None:
    assert reaper.stdin is not None
    with suppress(BrokenPipeError):
        reaper.stdin.close()
    reaper.wait()


def _reap(lines: list[str]) -> None:
    watched: dict[int, str] = {}
    for line in lines:
        pid, _, folder = line[1:].rstrip("\n").partition(" ")
        if line.startswith("+"):
            watched[int(pid)] = folder
        else:
            watched.pop(int(pid), None)
    _signal(watched, signal.SIGQUIT)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while any(map(_runs, watched)) and time.monotonic() < deadline:
        time.sleep(0.05)
    _signal(watched, signal.SIGKILL)
    for folder in filter(None, watched.values()):
        shutil.rmtree(folder, ignore_errors=True)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.killpg(pid, number)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    _reap(list(sys.stdin))
