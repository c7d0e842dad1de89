"""Gives each test the marker `quick` or `long` where that follows from what it uses.

`make test` runs tests on SQLite. Each run on Postgres is long. So is an exhaustive test, and a test
in a browser.
A test whose result depends on SQL, locks or the dialect is marked `sql`: unless it is exhaustive,
each part of the tests (`--part`) has it.
A test that is marked `one_database` does not run on Postgres: it does not depend on SQL.
tests/db/test_query_plans.py requests each endpoint there, and tests/api/test_odd_bytes.py writes
and reads each field.
`pytestmark` in a folder's conftest.py marks all tests below it. Of `sql` and `one_database`, the
mark that is nearest to a test decides: its own, its file's, its folder's.
A test is quick unless it is long, or uses the fixture `starts_processes`, directly or indirectly.
A quick test that starts a process fails.
"""

import os
import subprocess
import zlib
from collections.abc import Generator
from typing import Any, NoReturn

import pytest

from tests.support.databases import only_once

LONGEST = (
    "test_every_way_a_payment_can_go",
    "test_nothing_but_what_is_asked_for_is_read",
    "test_the_books_hold_on_a_real_node",
    "test_the_books_hold_on_a_fake_chain_for_long",
    "test_a_day_at_the_door",
    "test_an_organizer_sells_and_spends_without_a_terminal",
    "test_kills_in_a_loop_under_load_lose_nothing",
    "test_every_value_has_one_answer_and_what_is_taken_is_read_back",
    "test_each_change_is_made_once_however_often_the_worker_is_killed",
)
"""They take minutes. If one began last, the other processes would wait for it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--part`."""
    parser.addoption("--part", help="1/8: run an eighth of the tests, and all that are marked sql")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Give a folder the marks of its conftest.py, which pytest has loaded then."""
    report = yield
    if isinstance(collector, pytest.Directory):
        conftest = collector.config.pluginmanager.get_plugin(str(collector.path / "conftest.py"))
        marks = getattr(conftest, "pytestmark", [])
        for mark in marks if isinstance(marks, list) else [marks]:
            collector.add_marker(mark)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on SQLite only if its nearest mark is `one_database`, unless it says where."""
    test = metafunc.definition
    marks = (mark.name for mark in test.iter_markers() if mark.name in ("one_database", "sql"))
    if next(marks, None) != "one_database":
        return
    is_said = any("database_url" in each.args[0] for each in test.iter_markers("parametrize"))
    if "database_url" in metafunc.fixturenames and not is_said:
        test.add_marker(only_once)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Set the markers before pytest evaluates `-m`, and sort the tests that are left."""
    for item in items:
        if is_long(item):
            item.add_marker("long")
        if is_quick(item):
            item.add_marker("quick")
    if part := config.getoption("part"):
        number, parts = map(int, part.split("/"))
        left_out = [item for item in items if not is_in_part(item, number, parts)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if is_in_part(item, number, parts)]
    yield
    items[:] = spread(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def spread(items: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """Return tests so that each process begins with some of the longest ones.

    `--dist worksteal` first gives each process an equal part of them, in their order.
    """
    longest = [item for item in items if item.name.startswith(LONGEST)]
    others = [item for item in items if not item.name.startswith(LONGEST)]
    found: list[pytest.Item] = []
    for process in range(processes):
        found += longest[process::processes]
        end = len(items) * (process + 1) // processes
        number = max(0, end - len(found)) if process < processes - 1 else len(others)
        found += others[:number]
        del others[:number]
    return found


def is_in_part(item: pytest.Item, number: int, parts: int) -> bool:
    """Return whether a test is in part `number` of `parts`, which have numbers from 0.

    Tests that are marked `sql` are in each of them, unless they are exhaustive.
    """
    if item.get_closest_marker("sql") and item.get_closest_marker("exhaustive") is None:
        return True
    return zlib.crc32(item.nodeid.encode()) % parts == number % parts


def is_long(item: pytest.Item) -> bool:
    """Return whether only `make test-long` runs a test."""
    return (
        item.get_closest_marker("exhaustive") is not None
        or "chromium" in getattr(item, "fixturenames", ())
        or on_postgres(item)
    )


def is_quick(item: pytest.Item) -> bool:
    """Return whether a test can run in one process, without Postgres, in short time."""
    starts_processes = "starts_processes" in getattr(item, "fixturenames", ())
    return not starts_processes and item.get_closest_marker("long") is None


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
