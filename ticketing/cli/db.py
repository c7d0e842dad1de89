"""`flask --app app db`: migrations, backups."""

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
from flask.cli import AppGroup
from playhouse.migrations import MigrationError

from ticketing.cli.base import command, config, record_change
from ticketing.db import migrate
from ticketing.db.backup import BackupFailed
from ticketing.db.connection import UNAVAILABLE, database, write_transaction
from ticketing.services import backups
from ticketing.services.door import manifest
from ticketing.services.notifications import reading
from ticketing.services.payments import restored_payouts
from ticketing.services.wallets import changes, issuing

DEFAULT_SKIP, MOST_SKIPPED = 100_000, 1_000_000_000
DEFAULT_KEPT, MOST_KEPT = 14, 10_000
MOST_HOURS, _HOUR_SECONDS, _RETRY_SECONDS = 168, 3600, 300

group = AppGroup("db", help="Migrate and back up the database.")


@group.command("upgrade")
@command
def upgrade() -> None:
    """Apply pending migrations. Several processes may run it at once."""
    try:
        applied = migrate.upgrade()
    except MigrationError as stopped:
        raise click.ClickException(str(stopped)) from None
    click.echo("\n".join(f"applied {name}" for name in applied) or "nothing to apply")


@group.command("downgrade")
@click.confirmation_option(prompt="This reverts the last migration and deletes its data. Continue?")
@command
def downgrade() -> None:
    """Revert the last migration."""
    click.echo("\n".join(f"reverted {name}" for name in migrate.downgrade()) or "nothing to revert")


@group.command("backup")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Make a file with the time in its name in this folder, instead of FILE.",
)
@click.option(
    "--keep",
    type=click.IntRange(1, MOST_KEPT),
    default=DEFAULT_KEPT,
    show_default=True,
    help="With --folder: how many of these files stay.",
)
@click.option(
    "--recipient",
    envvar="BACKUP_RECIPIENT",
    help="Encrypt the file for this public key of age, such as age1... or ssh-ed25519 ...",
)
@click.option(
    "--every",
    type=click.IntRange(1, MOST_HOURS),
    help="With --folder: repeat after so many hours, or 5 minutes if one failed.",
)
@command
def backup(
    file: Path | None, folder: Path | None, keep: int, recipient: str | None, every: int | None
) -> None:
    """Copy the database to FILE, which must not exist. The service may be running.

    Postgres needs pg_dump, and encryption needs age, of your system. Without --recipient, keep FILE
    as secret as the database: it contains email addresses and admission codes.
    """
    if (file is None) == (folder is None) or (every and file):
        raise click.UsageError("name either FILE or --folder")
    url = config().database_url
    # A signal to stop raises, so that an unfinished copy is deleted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    while True:
        progress = _progress_printer()
        try:
            if folder is not None:
                made = backups.make_in(folder, keep, url, progress, recipient)
            elif file is not None:
                made = backups.make(file, url, progress, recipient)
        except (BackupFailed, *UNAVAILABLE) as failed:
            if every is None:
                raise
            click.echo(f"Error: {str(failed).strip()}", err=True)
            pause = _RETRY_SECONDS
        else:
            click.echo(f"{made} has {made.stat().st_size} bytes; keep SECRET_KEY in another place")
            if every is None:
                return
            pause = every * _HOUR_SECONDS
        database.close()
        time.sleep(pause)


@group.command("restored")
@click.option(
    "--skip",
    type=click.IntRange(1, MOST_SKIPPED),
    default=DEFAULT_SKIP,
    show_default=True,
    help="Of each wallet. Must be more than its orders since the backup.",
)
@command
def restored(skip: int) -> None:
    """After a restore, skip addresses in every wallet that were issued since the backup.

    Door devices then read a whole manifest, because they may know newer changes. The feed of
    notifications skips positions, because its readers may know newer ones. Changes of wallets that
    waited are canceled, because they may have been canceled since the backup.

    Run it once after a restore, or after the promotion of a standby that lagged, before the service
    starts. The database does not know these addresses, and would issue them to other orders.
    """
    with write_transaction():
        manifest.start_over()
        reading.jump_ahead()
        restored_payouts.note()
        changes.drop_all()
        skipped = issuing.skip(skip)
        for each in skipped:
            over = {"passed_over": f"{each.first} to {each.next_index - 1}"}
            for tenant_id in each.tenants:
                record_change(tenant_id, "wallet", before={}, after=over)
    for each in skipped:
        click.echo(f"{each.owner}  skipped {each.first} to {each.next_index - 1}")


def _progress_printer() -> Callable[[int, int], None]:
    """Return a function that prints the progress to standard error, at each 10 %."""
    printed = 0

    def print_progress(copied: int, total: int) -> None:
        nonlocal printed
        tenths = 10 * copied // max(total, 1)
        if tenths > printed:
            printed = tenths
            click.echo(f"{10 * tenths}% of {total} pages", err=True)

    return print_progress
