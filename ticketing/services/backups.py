"""Backups on a schedule: dated files in a folder, of which the newest are kept."""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from ticketing import clock
from ticketing.db import backup
from ticketing.db.backup import Progress
from ticketing.db.connection import write_transaction
from ticketing.models.last_backup import LastBackup

_NAME = re.compile(r"ticketing-[0-9]{8}T[0-9]{6}Z\.(?:sqlite|dump)(?:\.age)?")

_LEFT_SECONDS = 24 * 3600


def make(target: Path, url: str, progress: Progress, recipient: str | None) -> Path:
    """Back up to a new file, note when it was finished, and return the file. BackupFailed.

    `url` is DATABASE_URL, `recipient` a public key of age.
    """
    backup.backup(target, url, progress, recipient)
    _note(target)
    return target


def make_in(folder: Path, keep: int, url: str, progress: Progress, recipient: str | None) -> Path:
    """Back up to a new file in a folder, then delete all but the newest `keep`. BackupFailed.

    Example of a name: ticketing-20261128T020000Z.sqlite.age. Other files stay. Nothing is deleted
    before the new backup is complete, but what is left of one that was killed a day ago.
    """
    _delete_leftovers(folder)
    at = clock.now().astimezone(UTC)
    target = folder / f"ticketing-{at:%Y%m%dT%H%M%SZ}{backup.suffix(recipient)}"
    backup.backup(target, url, progress, recipient)
    # The names sort by time. The new one stays, even if the clock was in the future once. Rotate
    # before the database is written: it may be read-only, and the disk must not become full.
    others = sorted(each for each in folder.iterdir() if _NAME.fullmatch(each.name))
    others.remove(target)
    for old in others[: len(others) - max(keep, 1) + 1]:
        old.unlink(missing_ok=True)
    _note(target)
    return target


def _note(target: Path) -> None:
    row = {"id": 1, "finished_at": clock.now(), "bytes": target.stat().st_size}
    with write_transaction():
        insert = LastBackup.insert(row)
        insert.on_conflict(conflict_target=[LastBackup.id], update=row).execute()


def _delete_leftovers(folder: Path) -> None:
    """Delete unfinished copies, which are not encrypted. A running backup is younger than a day."""
    for each in folder.glob(".ticketing-*"):
        with suppress(FileNotFoundError):
            if clock.now().timestamp() - each.stat().st_mtime > _LEFT_SECONDS:
                shutil.rmtree(each, ignore_errors=True)


def last() -> datetime | None:
    """Return when the last good backup was finished. None: there was none."""
    row: LastBackup | None = LastBackup.select().where(LastBackup.id == 1).first()
    return None if row is None else row.finished_at
