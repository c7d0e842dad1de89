"""What the commands share: errors in one sentence, answers for people or as JSON."""

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
from ticketing.constants import Role
from ticketing.db.connection import UNAVAILABLE
from ticketing.errors import Invalid, TicketingError
from ticketing.services.access import audit_log
from ticketing.services.access.audit_log import Actor

Command = Callable[..., None]

role_option = click.option(
    "--role",
    required=True,
    type=click.Choice([role.value for role in Role]),
    help="What it may do.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def command(function: Command) -> Command:
    """Run a command in the application, and end in one sentence where something is wrong."""

    def run(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except Invalid as error:
            faults = "; ".join(
                f"{field}: {' '.join(messages)}"
                for field, messages in error.extensions["errors"].items()
            )
            raise click.ClickException(faults) from None
        except (TicketingError, RpcError) as error:
            raise click.ClickException(str(error)) from None
        except UnicodeEncodeError:
            raise click.ClickException("what was typed is not valid Unicode") from None
        except (*UNAVAILABLE, ProgrammingError) as error:
            message = str(error).strip().splitlines()[0]
            raise click.ClickException(
                f"the database: {message} (is DATABASE_URL right, and 'db upgrade' done?)"
            ) from None

    return with_appcontext(update_wrapper(run, function))


def config() -> Config:
    """Return the configuration of the running application."""
    loaded: Config = current_app.extensions["ticketing"]
    return loaded


def leave_trail(
    tenant_id: str, subject: str, *, before: dict[str, Any] | None, after: dict[str, Any]
) -> None:
    """Write down what the present command changes, in the transaction of the change."""
    here = click.get_current_context()
    assert here.parent is not None
    by = Actor("cli", f"{here.parent.info_name} {here.info_name}")
    audit_log.record(tenant_id, by, subject, before=before, after=after)


def show(values: dict[str, Any], *, as_json: bool) -> None:
    """Print an answer: a line a value, or one JSON object."""
    if as_json:
        click.echo(json.dumps(values))
        return
    width = max(map(len, values))
    for name, value in values.items():
        click.echo(f"{name:{width}}  {value}")
