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


def register(app: Flask) -> None:
    """Register the commands. `dev` is registered only if the local chain is enabled."""
    groups = (db, tenants, keys, members, wallet, refunds, personal_data)
    for command in (*(each.group for each in groups), worker.command, reconcile.command):
        app.cli.add_command(command)
    if LOCAL_CHAIN_ID in app.extensions["ticketing"].chains:
        app.cli.add_command(dev.group)
