"""The operator's commands: `flask --app app ...`.

A file is a group of commands: it reads arguments, makes a service call, and prints. Commands need
no credential. Changes are written to the audit log as `cli`.

db.py: migrations, backup, and what must be skipped after a restore
tenants.py, members.py: organizers' accounts, and their people
keys.py: API keys; which keys and webhooks still need SECRET_KEY_PREVIOUS
wallet.py, refunds.py: export addresses with balances, and owed refunds, for the offline tool
    tools/sweep.py; the recovery file of a tenant's addresses
collections.py: `wallet collections`: which orders may be collected, as a file
personal_data.py: erases names and email addresses
reconcile.py: exits with 1 if stock or money are not consistent
worker.py: runs the worker
version.py: which release this is
dev.py: pays, refunds and reorganizes on the local chains; only there
base.py: shared by all: errors in one sentence with exit code 1, output as text or JSON
csv_file.py, private_file.py: CSV files and others that only their owner can read
"""

from flask import Flask

from ticketing.chain.registry import LOCAL_CHAIN_IDS
from ticketing.cli import (
    collections,
    db,
    dev,
    keys,
    members,
    personal_data,
    reconcile,
    refunds,
    tenants,
    version,
    wallet,
    worker,
)
from ticketing.config import Config


def register(app: Flask) -> None:
    """Register the commands of every service."""
    wallet.group.add_command(collections.command)
    groups = (db, tenants, keys, members, wallet, refunds, personal_data)
    alone = (worker.command, reconcile.command, version.command)
    for command in (*(each.group for each in groups), *alone):
        app.cli.add_command(command)


def register_dev(app: Flask, config: Config) -> None:
    """Register `dev` if a local chain is enabled, and only then."""
    app.cli.commands.pop("dev", None)
    if any(chain_id in config.chains for chain_id in LOCAL_CHAIN_IDS):
        app.cli.add_command(dev.group)
