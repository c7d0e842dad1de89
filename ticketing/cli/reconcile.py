"""`flask --app app reconcile`: the proof of the books."""

import json
import sys
from dataclasses import asdict

import click

from ticketing.cli.base import command as runs
from ticketing.cli.base import json_option
from ticketing.services.access import tenants
from ticketing.services.payments import reconciliation


@click.command("reconcile")
@click.option("--tenant", help="Audit this tenant's books alone (slug or id).")
@json_option
@runs
def command(tenant: str | None, as_json: bool) -> None:
    """Prove that stock and money add up; a line and exit code 1 for what does not.

    It may run at any time, beside the service. Of one rule the first 100 breaches are told.
    """
    tenant_id = None if tenant is None else tenants.find(tenant).id
    breaches = reconciliation.reconcile(tenant_id)
    if as_json:
        told = [asdict(breach) for breach in breaches]
        click.echo(json.dumps({"ok": not breaches, "breaches": told}))
    elif breaches:
        for breach in breaches:
            click.echo(f"{breach.rule}  {' '.join(breach.ids)}  {breach.detail}")
    else:
        intents = reconciliation.count_intents(tenant_id)
        click.echo(f"the books are right: {len(reconciliation.RULES)} rules, {intents} intents")
    if breaches:
        sys.exit(1)
