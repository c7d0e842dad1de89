"""Back up the database while the service is running: SQLite by itself, Postgres with pg_dump."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from ticketing.db.connection import database, is_behind_pgbouncer, is_sqlite, snapshot

PAGES = 1024
"""The number of pages between two calls of `progress`: 4 MiB."""

Progress = Callable[[int, int], None]
"""Called with the number of copied pages and the total. Postgres does not tell them."""

_VARIABLES = {
    "dbname": "PGDATABASE",
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "passfile": "PGPASSFILE",
    "options": "PGOPTIONS",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "channel_binding": "PGCHANNELBINDING",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
    "connect_timeout": "PGCONNECT_TIMEOUT",
}
"""The variables that libpq reads. In the arguments of a program, other users see a password."""


class BackupFailed(Exception):
    """The backup failed. The message is one sentence with the reason."""


def suffix(recipient: str | None) -> str:
    """Return how the name of a backup of this database ends."""
    return f"{'.sqlite' if is_sqlite() else '.dump'}{'' if recipient is None else '.age'}"


def backup(target: Path, url: str, progress: Progress, recipient: str | None = None) -> None:
    """Copy the current state of the database to a new file that only its owner can read.

    Other processes can read and write during the copy. The file appears only when it is complete,
    checked and on the disk. An existing file is never changed. `url` is DATABASE_URL. `recipient`:
    the public key of age for which the file is encrypted. BackupFailed.
    """
    try:
        if os.path.lexists(target):
            raise FileExistsError
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            made = Path(folder) / "copy"
            made.touch(mode=0o600)
            if is_sqlite():
                _copy_sqlite(made, progress)
            else:
                _dump_postgres(made, url)
            if recipient is not None:
                made = _encrypted(made, recipient)
            _sync(made)
            # Unlike a rename, a link fails if another process created the file in the meantime.
            os.link(made, target)
        _sync(target.parent)
    except FileExistsError:
        raise BackupFailed(f"{target} exists already; it was not changed") from None
    except OSError as error:
        raise BackupFailed(f"cannot write {target}: {error.strerror}") from None
    except sqlite3.Error as error:
        raise BackupFailed(f"cannot copy the database: {error}") from None


def _copy_sqlite(copy: Path, progress: Progress) -> None:
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        # In steps from one snapshot, so that concurrent writes do not restart the copy.
        with snapshot():
            # The first read starts the snapshot.
            database.execute_sql("SELECT count(*) FROM schema_migrations").fetchall()
            database.connection().backup(
                connection,
                pages=PAGES,
                progress=lambda _, left, total: progress(total - left, total),
            )
        # The copy is one file without a WAL. The service sets WAL again when it opens the file.
        connection.execute("PRAGMA journal_mode = delete")
        faults = connection.execute("PRAGMA integrity_check(1)").fetchall()
    if faults != [("ok",)]:
        raise BackupFailed(f"the copy is damaged; check the database too: {faults[0][0]}")


def _dump_postgres(dump: Path, url: str) -> None:
    """Dump a Postgres in the format of pg_restore, and check that it can be read."""
    if is_behind_pgbouncer(url):
        raise BackupFailed("not through PgBouncer: set DATABASE_URL to the server's own address")
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError:
        raise BackupFailed("DATABASE_URL is not one of libpq") from None
    unknown = parts.keys() - _VARIABLES.keys()
    if unknown:
        raise BackupFailed(f"DATABASE_URL has {min(unknown)}, which pg_dump would not get")
    known = {_VARIABLES[name]: str(value) for name, value in parts.items()}
    _run(["pg_dump", "--format=custom", f"--file={dump}"], "postgresql-client", known)
    _run(["pg_restore", "--list", str(dump)], "postgresql-client")


def _encrypted(plain: Path, recipient: str) -> Path:
    """Encrypt a file for a public key of age. Return the new file; the plain one is deleted."""
    made = plain.with_name("encrypted")
    _run(["age", "--encrypt", "--recipient", recipient, "--output", str(made), str(plain)], "age")
    made.chmod(0o600)
    plain.unlink()
    return made


def _run(command: Sequence[str], package: str, variables: Mapping[str, str] | None = None) -> None:
    """Run a program of a Debian package. BackupFailed."""
    program = shutil.which(command[0])
    if program is None:
        raise BackupFailed(f"{command[0]} is missing: install {package}")
    done = subprocess.run(
        [program, *command[1:]],
        env={**os.environ, **(variables or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        raise BackupFailed(f"{command[0]}: {last.removeprefix(f'{command[0]}: ')}")


def _sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
