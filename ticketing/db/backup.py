"""Copy the SQLite database while the service is running."""

import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ticketing.db.connection import database, is_sqlite, snapshot

PAGES = 1024
"""The number of pages between two calls of `progress`: 4 MiB."""

Progress = Callable[[int, int], None]
"""Called with the number of copied pages and the total."""


class BackupFailed(Exception):
    """The backup failed. The message is one sentence with the reason."""


def backup(target: Path, progress: Progress) -> None:
    """Copy the current state of the database to a new file that only its owner can read.

    Other processes can read and write during the copy. The file appears only when it is complete,
    checked and on the disk. An existing file is never changed. BackupFailed.
    """
    if not is_sqlite():
        raise BackupFailed(
            "this works for SQLite only; use pg_dump for Postgres (docs/operations.md)"
        )
    try:
        _backup(target, progress)
    except FileExistsError:
        raise BackupFailed(f"{target} exists already; it was not changed") from None
    except OSError as error:
        raise BackupFailed(f"cannot write {target}: {error.strerror}") from None
    except sqlite3.Error as error:
        raise BackupFailed(f"cannot copy the database: {error}") from None


def _backup(target: Path, progress: Progress) -> None:
    if os.path.lexists(target):
        raise FileExistsError
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        copy = Path(folder) / "copy"
        copy.touch(mode=0o600)
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            _copy_to(connection, progress)
            # The copy is one file without a WAL. The service sets WAL again when it opens the file.
            connection.execute("PRAGMA journal_mode = delete")
            faults = connection.execute("PRAGMA integrity_check(1)").fetchall()
        if faults != [("ok",)]:
            raise BackupFailed(f"the copy is damaged; check the database too: {faults[0][0]}")
        _sync(copy)
        # Unlike a rename, a link fails if another process created the file in the meantime.
        os.link(copy, target)
    _sync(target.parent)


def _copy_to(connection: sqlite3.Connection, progress: Progress) -> None:
    """Copy in steps from one snapshot, so that concurrent writes do not restart the copy."""
    with snapshot():
        # The first read starts the snapshot.
        database.execute_sql("SELECT count(*) FROM schema_migrations").fetchall()
        database.connection().backup(
            connection,
            pages=PAGES,
            progress=lambda _, left, total: progress(total - left, total),
        )


def _sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
