"""`flask --app app reconcile`: check that stock and money are consistent."""

import json
import sys
from dataclasses import asdict

import click

from ticketing.cli.base import command as runs
from ticketing.cli.base import json_option
from ticketing.services.access import tenants
from ticketing.services.payments import reconciliation


@click.command("reconcile")
@click.option("--tenant", help="Check only this tenant (slug or id).")
@json_option
@runs
def command(tenant: str | None, as_json: bool) -> None:
    """Check that stock and money are consistent. Print a line per breach, and exit with code 1.

    The service may be running. For each rule, the first 100 breaches are printed.
    """
    tenant_id = None if tenant is None else tenants.find(tenant).id
    breaches = reconciliation.reconcile(tenant_id)
    if as_json:
        rows = [asdict(breach) for breach in breaches]
        click.echo(json.dumps({"ok": not breaches, "breaches": rows}))
    elif breaches:
        for breach in breaches:
            click.echo(f"{breach.rule}  {' '.join(breach.ids)}  {breach.detail}")
    else:
        intents = reconciliation.count_intents(tenant_id)
        click.echo(f"the books are right: {len(reconciliation.RULES)} rules, {intents} intents")
    if breaches:
        sys.exit(1)
