"""Shared parts of the commands: errors in one sentence, output as text or JSON."""

import json
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import click
from flask import current_app
from flask.cli import with_appcontext
from peewee import ProgrammingError

from ticketing.chain.errors import RpcError
from ticketing.config import Config
from ticketing.db.backup import BackupFailed
from ticketing.db.connection import UNAVAILABLE
from ticketing.errors import Invalid, TicketingError
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor

Command = Callable[..., None]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def command(function: Command) -> Command:
    """Run a command in the application's context. Errors become one sentence and exit code 1."""

    def run(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except Invalid as error:
            faults = "; ".join(
                f"{field}: {' '.join(messages)}"
                for field, messages in error.extensions["errors"].items()
            )
            raise click.ClickException(faults) from None
        except (TicketingError, RpcError, BackupFailed) as error:
            raise click.ClickException(str(error)) from None
        except UnicodeEncodeError:
            raise click.ClickException("the input is not valid Unicode") from None
        except (*UNAVAILABLE, ProgrammingError) as error:
            message = str(error).strip().splitlines()[0]
            raise click.ClickException(
                f"database: {message} (check DATABASE_URL, and run 'db upgrade')"
            ) from None

    return with_appcontext(update_wrapper(run, function))


def config() -> Config:
    """Return the configuration of the running application."""
    loaded: Config = current_app.extensions["ticketing"]
    return loaded


def record_change(
    tenant_id: str, subject: str, *, before: dict[str, Any] | None, after: dict[str, Any]
) -> None:
    """Write the command's change to the audit log. Call it in the transaction of the change."""
    here = click.get_current_context()
    assert here.parent is not None
    by = Actor("cli", f"{here.parent.info_name} {here.info_name}")
    audit_log.record(tenant_id, by, subject, before=before, after=after)


def show(values: dict[str, Any], *, as_json: bool) -> None:
    """Print values, one per line or as one JSON object."""
    if as_json:
        click.echo(json.dumps(values))
        return
    width = max(map(len, values))
    for name, value in values.items():
        click.echo(f"{name:{width}}  {value}")
