"""`flask --app app reconcile`: check that stock and money are consistent."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from ticketing.cli.base import command as runs
from ticketing.cli.base import config, json_option
from ticketing.services.access import tenants
from ticketing.services.payments import reconciliation
from ticketing.services.payments.address_check import AddressCheck
from ticketing.services.payments.chain_comparison import Comparison
from ticketing.services.payments.reconciliation import Breach
from ticketing.services.payments.rule_scope import BREACHES_PER_RULE

PROGRESS_EVERY = 1000
"""After so many rows, a line on stderr says how far the comparison with the nodes is."""

ADDRESSES_PER_LINE = 100_000
"""The same for addresses, which are checked much faster."""

NOT_PROVED = 3
"""The exit code if no breach was found, but not everything could be compared."""


@click.command("reconcile")
@click.option("--tenant", help="Check only this tenant (slug or id).")
@click.option("--chain", is_flag=True, help="Also compare what was booked with the nodes.")
@json_option
@runs
def command(tenant: str | None, chain: bool, as_json: bool) -> None:
    """Check that stock and money are consistent. Print a line per breach, and exit with code 1.

    The service may be running. For each rule, the first 100 breaches are printed. The address of
    each order is computed again from its wallet: that takes 23 us of CPU.

    With --chain, each payment, refund and collection is compared with a node: the hash of its
    block, and the token, sender, recipient, amount and index of the transfer in its receipt. Each
    difference is printed, with --json the first 100. What no node can tell is counted: then the
    exit code is 3 if there is no breach. The progress is on stderr.
    """
    tenant_id = None if tenant is None else tenants.find(tenant).id
    breaches = [*reconciliation.reconcile(tenant_id), *_wrong_addresses(tenant_id)]
    comparison = Comparison(tenant_id, config().chains) if chain else None
    is_right = not breaches
    if not as_json:
        _print(breaches)
    of_rule: Counter[str] = Counter()
    for found in _differences(comparison):
        is_right = is_right and not found
        if not as_json:
            _print(found)
            continue
        for breach in found:
            of_rule[breach.rule] += 1
            if of_rule[breach.rule] <= BREACHES_PER_RULE:
                breaches.append(breach)
    left_out = comparison.left_out if comparison else []
    if as_json:
        result: dict[str, Any] = {"ok": is_right and not left_out}
        result["breaches"] = [asdict(breach) for breach in breaches]
        if comparison:
            result["compared"] = comparison.compared
            result["not_compared"] = [asdict(each) for each in left_out]
        click.echo(json.dumps(result))
    else:
        for each in left_out:
            click.echo(f"not compared  chain {each.chain_id}: {each.count}: {each.reason}")
        if is_right:
            _conclude(tenant_id, comparison)
    if not is_right:
        sys.exit(1)
    if left_out:
        sys.exit(NOT_PROVED)


def _print(breaches: list[Breach]) -> None:
    for breach in breaches:
        click.echo(f"{breach.rule}  {' '.join(breach.ids)}  {breach.detail}")


def _wrong_addresses(tenant_id: str | None) -> list[Breach]:
    """Return the first orders whose address does not follow from its wallet. Show the progress."""
    check, shown = AddressCheck(tenant_id), 0
    wrong: list[Breach] = []
    for found in check.run():
        wrong += found[: BREACHES_PER_RULE - len(wrong)]
        if check.done >= shown + ADDRESSES_PER_LINE:
            shown = check.done
            click.echo(f"{shown} addresses", err=True)
    return wrong


def _differences(comparison: Comparison | None) -> Iterator[list[Breach]]:
    """Yield the differences from the chains, and show the progress."""
    if comparison is None:
        return
    shown = 0
    for found in comparison.run():
        yield found
        if comparison.done >= shown + PROGRESS_EVERY:
            shown = comparison.done
            click.echo(f"{shown} of {comparison.total} booked transfers", err=True)


def _conclude(tenant_id: str | None, comparison: Comparison | None) -> None:
    rules, intents = len(reconciliation.RULES), reconciliation.count_intents(tenant_id)
    said = f"{rules} rules, {intents} intents"
    if comparison is None:
        click.echo(f"the books are right: {said}")
        return
    compared = f"{comparison.compared} booked transfers are on their chains"
    verdict = "no breach found" if comparison.left_out else "the books are right"
    click.echo(f"{verdict}: {said}, {compared}")
