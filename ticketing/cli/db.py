"""`flask --app app db`: migrations, backups."""

from collections.abc import Callable
from pathlib import Path

import click
from flask.cli import AppGroup

from ticketing.cli.base import command, leave_trail
from ticketing.db import backup as backups
from ticketing.db import migrate
from ticketing.db.connection import write_transaction
from ticketing.services import wallets

DEFAULT_SKIP = 10_000

group = AppGroup("db", help="Bring the database up to date; back it up.")


@group.command("upgrade")
@command
def upgrade() -> None:
    """Apply pending migrations. Safe to run from several processes at once."""
    applied = migrate.upgrade()
    click.echo("\n".join(f"applied {name}" for name in applied) or "nothing to apply")


@group.command("downgrade")
@click.confirmation_option(prompt="This takes the last migration back, with its data. Go on?")
@command
def downgrade() -> None:
    """Take back the last migration."""
    click.echo("\n".join(f"took back {name}" for name in migrate.downgrade()) or "nothing there")


@group.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@command
def backup(file: Path) -> None:
    """Copy the SQLite database to FILE, which must not be there yet, while the service goes on.

    FILE is as secret as the database: it has the buyers' addresses and the admission codes.
    """
    try:
        backups.backup(file, _percentages())
    except backups.BackupFailed as failed:
        raise click.ClickException(str(failed)) from None
    click.echo(f"{file} has {file.stat().st_size} bytes; keep SECRET_KEY too, in another place")


@group.command("restored")
@click.option(
    "--skip",
    type=click.IntRange(1, wallets.INDEXES),
    default=DEFAULT_SKIP,
    show_default=True,
    help="More than any wallet's orders since the backup.",
)
@command
def restored(skip: int) -> None:
    """Pass over the addresses issued since the backup that was restored, in every wallet.

    Run it once after a restore, or after a standby that lagged was promoted, before the service
    starts: the database does not know these addresses and would issue them to other orders.
    """
    with write_transaction():
        skipped = wallets.skip(skip)
        for each in skipped:
            over = {"passed_over": f"0/{each.first} to 0/{each.next_index - 1}"}
            for tenant_id in each.tenants:
                leave_trail(tenant_id, "wallet", before={}, after=over)
    for each in skipped:
        click.echo(f"{each.xpub}  0/{each.first} to 0/{each.next_index - 1} are passed over")


def _percentages() -> Callable[[int, int], None]:
    """Return what tells how far a copy is, to standard error, at each tenth of it."""
    told = 0

    def tell(copied: int, total: int) -> None:
        nonlocal told
        tenths = 10 * copied // max(total, 1)
        if tenths > told:
            told = tenths
            click.echo(f"{10 * tenths}% of {total} pages", err=True)

    return tell
