"""Migrations in real processes that are killed at any statement, or while others wait."""

import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import SECRET_KEY
from tests.support.factories import run
from tests.support.remote import eventually
from ticketing.db import connection, migrate
from ticketing.db.connection import open_database
from tools.stack import ROOT, Stack, free_port

pytestmark = pytest.mark.long


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request, tmp_path, starts_processes):
    """A database without tables. For SQLite there is not even a file."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/new/ticketing.db"
    return request.getfixturevalue("postgres").create_database(f"empty_{os.getpid()}")


def test_a_migration_killed_anywhere_leaves_nothing_and_can_be_run_again(empty_url):
    done = run(dict(os.environ), "tests.support.killed_migrations", empty_url)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30


def stopped(process):
    return Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def test_of_many_migrations_at_once_the_next_goes_on_where_one_is_killed(empty_url):
    command = [sys.executable, "-m", "tests.support.killed_migrations", empty_url, "20"]
    variables = {"DATABASE_URL": empty_url, "SECRET_KEY": SECRET_KEY, "PORT": str(free_port())}
    stack = Stack(variables)
    with subprocess.Popen(command, cwd=ROOT) as first, ThreadPoolExecutor(4) as pool:
        eventually(lambda: stopped(first))
        waiting = [pool.submit(stack.flask, "db", "upgrade") for _ in range(4)]
        eventually(lambda: is_waited_for(empty_url, len(waiting)))
        assert not any(each.done() for each in waiting)
        first.send_signal(signal.SIGKILL)
        told = sorted(each.result() for each in waiting)
    assert told[0].startswith("applied 0001")
    assert told[1:] == ["nothing to apply\n"] * 3
    open_database(empty_url)
    assert migrate.pending() == []
    connection.database.close()


def is_waited_for(url, waiting):
    """Return whether this many wait for the migration. SQLite cannot say how many."""
    if url.startswith("sqlite"):
        return True
    open_database(url)
    try:
        blocked = connection.database.execute_sql(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        )
        return blocked.fetchone()[0] == waiting
    finally:
        connection.database.close()


def test_a_migration_waits_for_another_one_longer_than_a_request_would(tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_SECONDS", 0.1)
    path = tmp_path / "ticketing.db"
    open_database(f"sqlite:///{path}")
    with sqlite3.connect(path, check_same_thread=False) as other, ThreadPoolExecutor(1) as pool:
        other.execute("PRAGMA journal_mode = wal")
        other.execute("BEGIN IMMEDIATE")
        migrated = pool.submit(migrate.upgrade)
        with pytest.raises(TimeoutError):
            migrated.result(1)
        other.rollback()
        assert migrated.result()[0].startswith("0001")
        pool.submit(connection.database.close).result()
