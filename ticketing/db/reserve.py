"""The reserve: a file beside the SQLite database that keeps room on its disk for housekeeping.

To delete rows needs room, too. So on a full disk, old rows could not be deleted, and the disk would
stay full. While the disk is scarce, the worker keeps a file. It deletes the file when the disk is
nearly full, and then the old rows.
"""

import logging
import os
import shutil
from pathlib import Path

from ticketing.db.connection import database, is_sqlite

RESERVE_BYTES = 16 * 2**20
SCARCE_BYTES = 2**30
"""With more room than this, there is no file."""

log = logging.getLogger(__name__)


def keep() -> None:
    """Create or delete the reserve, as the room on the disk requires. Postgres has none.

    While the disk is nearly full, also empty SQLite's write-ahead log.
    """
    if not is_sqlite():
        return
    path = Path(f"{database.database}-reserve")
    free = shutil.disk_usage(path.parent).free
    if free < RESERVE_BYTES:
        if path.exists():
            path.unlink()
            log.error("the disk of the database is nearly full: %s MiB are left", free // 2**20)
        database.execute_sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    elif 3 * RESERVE_BYTES <= free < SCARCE_BYTES and not path.exists():
        _create(path)


def _create(path: Path) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
    except OSError:
        path.unlink()  # another program has filled the disk in the meantime
    finally:
        os.close(descriptor)
