"""Gives each test the marker `quick` or `long` where that follows from what it uses.

A test in a browser is long, and so is an exhaustive one on Postgres: `make test` runs it on SQLite.
A test is quick unless it is long or exhaustive, runs on Postgres, or uses the fixture
`starts_processes`, directly or indirectly. A quick test that starts a process fails.
"""

import subprocess
from collections.abc import Generator
from typing import Any, NoReturn

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Set the markers before pytest evaluates `-m`."""
    for item in items:
        exhaustive = item.get_closest_marker("exhaustive") is not None
        if "chromium" in getattr(item, "fixturenames", ()) or (exhaustive and on_postgres(item)):
            item.add_marker("long")
        if is_quick(item):
            item.add_marker("quick")


def is_quick(item: pytest.Item) -> bool:
    """Return whether a test can run in one process, without Postgres, in short time."""
    return not (
        on_postgres(item)
        or "starts_processes" in getattr(item, "fixturenames", ())
        or item.get_closest_marker("long")
        or item.get_closest_marker("exhaustive")
    )


def on_postgres(item: pytest.Item) -> bool:
    """Return whether this is a test's run on Postgres."""
    callspec = getattr(item, "callspec", None)
    return callspec is not None and "postgres" in map(str, callspec.params.values())


@pytest.fixture(scope="session")
def starts_processes() -> None:
    """Each test and fixture that starts a process uses it."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Prevent quick tests from starting a process."""
    if item.get_closest_marker("quick") is None:
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", _refuse)
        return (yield)


def _refuse(*_: object, **__: object) -> NoReturn:
    pytest.fail("a test that starts a process must use the fixture `starts_processes`")
