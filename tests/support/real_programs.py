"""Lists at the end which real programs took part, and fails at the start if one is missing.

Processes of pytest-xdist share one Postgres server, which their controller starts.
"""

import os
import sqlite3
import subprocess
from collections import Counter

import pytest

from tools import ToolMissing, anvil, chromium, postgres
from tools.daemons import Daemon, Nginx, PgBouncer

_taking_part: Counter[str] = Counter()
_ORIGIN = pytest.StashKey[str]()
"""Where Postgres comes from."""


def pytest_configure(config: pytest.Config) -> None:
    """Fail at once with one sentence if a real program is missing."""
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    if config.option.markexpr == "quick":
        return
    try:
        anvil.binary()
        _, config.stash[_ORIGIN] = postgres.find_binaries()
        if getattr(config.option, "numprocesses", None) and "TEST_DATABASE_URL" not in os.environ:
            server = postgres.Postgres()
            config.add_cleanup(server.stop)
            os.environ["TEST_DATABASE_URL"] = server.url
    except ToolMissing as missing:
        pytest.exit(f"a part is missing: {missing}", returncode=1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    callspec = getattr(item, "callspec", None)
    kind = callspec.params.get("database_url") if callspec else None
    if kind is not None:
        item.user_properties.append(("part", kind))
    if "node" in getattr(item, "fixturenames", ()):
        item.user_properties.append(("part", "anvil"))
    if "pooler" in getattr(item, "fixturenames", ()):
        item.user_properties.append(("part", "pgbouncer"))
    if "nginx" in getattr(item, "fixturenames", ()):
        item.user_properties.append(("part", "nginx"))
    if "chromium" in getattr(item, "fixturenames", ()):
        item.user_properties.append(("part", "chromium"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed:
        _taking_part.update(value for name, value in report.user_properties if name == "part")
    elif report.skipped and ("part", "chromium") in report.user_properties:
        _taking_part["no chromium"] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _taking_part.keys() - {"sqlite"}:
        return
    versions = {
        "sqlite": f"SQLite {sqlite3.sqlite_version}",
        "postgres": f"PostgreSQL from {terminalreporter.config.stash[_ORIGIN]}",
        "anvil": _anvil_version(),
    }
    if _taking_part["pgbouncer"]:
        versions["pgbouncer"] = _version_of("PgBouncer", PgBouncer)
    if _taking_part["nginx"]:
        versions["nginx"] = _version_of("nginx", Nginx)
    if _taking_part["chromium"]:
        versions["chromium"] = f"Chromium {chromium.version(chromium.binary())}"
    if _taking_part["no chromium"]:
        versions["no chromium"] = _without_chromium()
    told = [f"{versions[part]}: {_taking_part[part]} tests" for part in versions]
    terminalreporter.write_line("real parts: " + "; ".join(told))


def _version_of(name: str, daemon: type[Daemon]) -> str:
    try:
        return f"{name} {daemon.version()}"
    except ToolMissing as missing:
        return f"WITHOUT {name} ({missing})"


def _without_chromium() -> str:
    try:
        chromium.environ(chromium.binary())
    except ToolMissing as missing:
        return f"WITHOUT Chromium ({missing}), skipped"
    return "WITHOUT Chromium (it came too late), skipped"


def _anvil_version() -> str:
    said = subprocess.run([anvil.binary(), "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0].replace(" Version:", "").strip()
