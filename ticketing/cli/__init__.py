"""The operator's commands: `flask --app app ...`."""

from flask import Flask

from ticketing.chain.registry import LOCAL_CHAIN_ID
from ticketing.cli import (
    db,
    dev,
    keys,
    members,
    personal_data,
    reconcile,
    refunds,
    tenants,
    wallet,
    worker,
)
from ticketing.config import Config


def register(app: Flask) -> None:
    """Register the commands of every service."""
    groups = (db, tenants, keys, members, wallet, refunds, personal_data)
    for command in (*(each.group for each in groups), worker.command, reconcile.command):
        app.cli.add_command(command)


def register_dev(app: Flask, config: Config) -> None:
    """Register `dev` if the local chain is enabled, and only then."""
    app.cli.commands.pop("dev", None)
    if LOCAL_CHAIN_ID in config.chains:
        app.cli.add_command(dev.group)
