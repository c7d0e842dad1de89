"""Prints what each test file costs: CPU of pytest's processes and of all processes below them.

Use it as a plugin:

    python -m pytest -p tests.support.cpu_by_file -m "not long" -n 3
"""

import json
import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_TICK = os.sysconf("SC_CLK_TCK")
_MOST = 40

_seconds: dict[str, float] = defaultdict(float)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Measure a test with its fixtures."""
    before = _cpu_of_tree()
    try:
        return (yield)
    finally:
        database = " on Postgres" if "postgres" in item.name else ""
        _seconds[item.location[0] + database] += _cpu_of_tree() - before


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Give the figures of a process of pytest-xdist to its controller."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["seconds"] = json.dumps(_seconds)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the figures of a process of pytest-xdist."""
    for name, seconds in json.loads(getattr(node, "workeroutput", {}).get("seconds", "{}")).items():
        _seconds[name] += seconds


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the sum, each folder, and the files that cost most."""
    folders: dict[str, float] = defaultdict(float)
    for name, seconds in _seconds.items():
        folders["/".join(name.split("/")[:2])] += seconds
    terminalreporter.write_line(f"CPU: {sum(_seconds.values()):.0f} s in {len(_seconds)} files")
    for costs in (folders, _seconds):
        for name, seconds in sorted(costs.items(), key=lambda each: -each[1])[:_MOST]:
            terminalreporter.write_line(f"{seconds:7.1f} s  {name}")


def _cpu_of_tree() -> float:
    """Return the CPU seconds of this process and of all below it, also of those that have ended."""
    ticks, pids = 0, [str(os.getpid())]
    while pids:
        process = Path("/proc", pids.pop())
        try:
            fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
            pids += [
                pid for each in process.glob("task/*/children") for pid in each.read_text().split()
            ]
        except OSError:
            continue  # it has just ended
        ticks += sum(map(int, fields[11:15]))
    return ticks / _TICK
