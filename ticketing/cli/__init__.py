"""The operator's commands: `flask --app app ...`.

A file is a group of commands: it reads arguments, makes a service call, and prints. Commands need
no credential. Changes are written to the audit log as `cli`.

db.py: migrations, backup, and what must be skipped after a restore
tenants.py, members.py: organizers' accounts, and their people
networks.py: blocks networks of attackers
keys.py: API keys; which keys and webhooks still need SECRET_KEY_PREVIOUS
wallet.py: the recovery file of a tenant's addresses; which orders may be collected, as a file
personal_data.py: erases names and email addresses
reconcile.py: exits with 1 if stock or money are not consistent
worker.py: runs the worker
version.py: which release this is
dev.py: pays, refunds and reorganizes on the local chains; only there
base.py: shared by all: errors in one sentence with exit code 1, output as text or JSON
private_file.py: writes files that only their owner can read
"""

from pkgutil import resolve_name

import click
from flask import Flask
from flask.cli import AppGroup

from ticketing import logs
from ticketing.chain.registry import LOCAL_CHAIN_IDS
from ticketing.config import Config
from ticketing.db.connection import open_database
from ticketing.loading import without_collection

_COMMANDS = {
    "db": "db:group",
    "tenants": "tenants:group",
    "keys": "keys:group",
    "networks": "networks:group",
    "members": "members:group",
    "wallet": "wallet:group",
    "personal-data": "personal_data:group",
    "worker": "worker:command",
    "reconcile": "reconcile:command",
    "version": "version:command",
}
_DEV = {"dev": "dev:group"}


class Commands(AppGroup):
    """The commands by name. A process loads only the modules of the one that it runs."""

    def __init__(self, *, has_dev: bool) -> None:
        super().__init__("ticketing")
        self._places = _COMMANDS | _DEV if has_dev else _COMMANDS

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names. `dev` is one of them if a local chain is enabled, and only then."""
        return sorted(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command. None if there is none with this name."""
        place = self._places.get(cmd_name)
        if place is None:
            return None
        with without_collection():
            found: click.Command = resolve_name(f"ticketing.cli.{place}")
            return found


def application(config: Config) -> Flask:
    """Return an application that has the commands, but answers no requests. OSError."""
    app = Flask("ticketing")
    configure(app, config)
    return app


def configure(app: Flask, config: Config) -> None:
    """Let the commands of an application work with `config`. OSError."""
    logs.configure(config.log_level, config.log_format)
    open_database(config.database_url)
    app.extensions["ticketing"] = config
    app.cli = Commands(has_dev=any(each in config.chains for each in LOCAL_CHAIN_IDS))
