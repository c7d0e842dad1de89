"""A copy of the SQLite database, made while the service goes on."""

import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ticketing.db.connection import database, is_sqlite, snapshot

PAGES = 1024
"""How many are copied between two words on the progress: 4 MiB."""

Progress = Callable[[int, int], None]
"""Called with the pages that are copied, and with how many there are."""


class BackupFailed(Exception):
    """There is no backup; the message says why in one sentence."""


def backup(target: Path, progress: Progress) -> None:
    """Copy the database, as it is at this moment, to a new file that its owner alone can read.

    Readers and writers go on meanwhile. The file is there only once it is whole, checked and on
    the disk; one that is there already is never touched. BackupFailed.
    """
    if not is_sqlite():
        raise BackupFailed("this is for SQLite; back Postgres up with pg_dump (docs/operations.md)")
    try:
        _backup(target, progress)
    except FileExistsError:
        raise BackupFailed(f"{target} is there already, and is left as it is") from None
    except OSError as error:
        raise BackupFailed(f"{target} cannot be written: {error.strerror}") from None
    except sqlite3.Error as error:
        raise BackupFailed(f"the copy could not be made: {error}") from None


def _backup(target: Path, progress: Progress) -> None:
    if os.path.lexists(target):
        raise FileExistsError
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        copy = Path(folder) / "copy"
        copy.touch(mode=0o600)
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            _copy_to(connection, progress)
            # One file, that needs no log beside it. Whoever opens it as a service sets it back.
            connection.execute("PRAGMA journal_mode = delete")
            faults = connection.execute("PRAGMA integrity_check(1)").fetchall()
        if faults != [("ok",)]:
            raise BackupFailed(f"the copy is damaged, and so may the database be: {faults[0][0]}")
        _sync(copy)
        # Unlike a rename it fails where somebody else made such a file meanwhile.
        os.link(copy, target)
    _sync(target.parent)


def _copy_to(connection: sqlite3.Connection, progress: Progress) -> None:
    """Copy in steps, all of them from one snapshot: what is written meanwhile starts none anew."""
    with snapshot():
        # A snapshot is of the moment of its first read.
        database.execute_sql("SELECT count(*) FROM schema_migrations").fetchall()
        database.connection().backup(
            connection,
            pages=PAGES,
            progress=lambda _, left, total: progress(total - left, total),
        )


def _sync(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
