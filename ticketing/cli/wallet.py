"""`flask --app app wallet`: what tools.collect needs of a tenant, and the recovery file."""

import io
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from flask.cli import AppGroup

from ticketing import clock
from ticketing.cli import private_file
from ticketing.cli.base import command, config
from ticketing.constants import BlockedReason
from ticketing.models.wallets import Wallet
from ticketing.services import chains
from ticketing.services.access import tenants
from ticketing.services.money import collectable
from ticketing.services.money.collectable import Asked, Order
from ticketing.services.wallets import recovery

KIND = "ticketing-collections"

_WHY = {
    BlockedReason.NOT_FINAL: "what they hold is not final yet",
    BlockedReason.NOT_OVER: "they are live, or ended less than 24 hours ago",
    BlockedReason.OUT_OF_REACH: "the wallet does not name this network: use --all",
}

group = AppGroup("wallet", help="Export collections, and the recovery file.")


@group.command("recovery")
@click.argument("tenant")
@private_file.output_option
@command
def export_recovery(tenant: str, output: Path) -> None:
    """Write the recovery file of TENANT (slug or id): it finds all payments without the database.

    It cannot spend anything, but it reveals all addresses of orders: keep it as secret as a backup.
    It has every address that was ever a wallet.
    """
    text = json.dumps(recovery.file_of(tenants.find(tenant), config().chains), indent=2)
    private_file.write(io.StringIO(f"{text}\n"), output)


@group.command("collections")
@click.argument("tenant")
@click.option("--chain-id", required=True, type=int, help="The network (EIP-155).")
@click.option("--token", help="Default: the token that tickets are paid with there.")
@click.option(
    "--all",
    "with_all",
    is_flag=True,
    help="All orders ever, to look for other tokens or on other networks.",
)
@private_file.output_option
@command
def export_collections(
    tenant: str, chain_id: int, token: str | None, with_all: bool, output: Path
) -> None:
    """Write which orders of TENANT (slug or id) may be collected, as JSON for tools.collect.

    These are orders by the books; no node is asked. Live orders wait, those that ended less than 24
    hours ago, and those that hold nothing final: they are in `blocked`, with the reason. Amounts
    are in atomic units of the token. The file has the salts of the other orders and no secret: it
    shows which addresses belong together, and cannot spend.
    """
    of_tenant = tenants.find(tenant).id
    chain = config().chains.get(chain_id)
    if chain is None:
        raise click.ClickException(f"chain {chain_id} is not enabled: set RPC_URL_{chain_id}")
    asked = Asked(of_tenant, chain_id, token or chain.token_address)
    states = chains.states_of(chain_id)
    cursor = chains.cursor_of(states.get(chain_id))
    if cursor is None:
        raise click.ClickException(f"the worker has not read chain {chain_id} yet")
    if with_all:
        orders = collectable.issued(asked)
    else:
        orders = collectable.holding(asked, cursor, chains.now_on(chain_id, states))
    wallets, blocked = _sorted(collectable.wallets(of_tenant), orders)
    file = {
        "kind": KIND,
        "tenant": tenant,
        "created_at": clock.rfc3339(clock.now()),
        "chain_id": chain_id,
        "token_address": asked.token_address,
        "decimals": states[chain_id].decimals,
        "wallets": wallets,
        "blocked": blocked,
    }
    with tempfile.TemporaryFile("w+", encoding="utf-8") as complete:
        json.dump(file, complete, indent=1)
        complete.write("\n")
        private_file.write(complete, output)
    for reason, why in _WHY.items():
        if amounts := [each["atomic_amount"] for each in blocked if each["reason"] == reason]:
            count, units = len(amounts), sum(amounts)
            click.echo(f"orders not in it: {count}, with {units} units: {why}", err=True)


def _sorted(
    wallets: dict[str, Wallet], orders: Iterable[Order]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the wallets with the orders that may be collected, and the other orders."""
    of_wallet: dict[str, list[dict[str, Any]]] = {wallet_id: [] for wallet_id in wallets}
    blocked = []
    for order in orders:
        row = {"intent_id": order.intent_id, "atomic_amount": order.held}
        if order.blocked is None:
            row["salt"] = "0x" + order.salt(wallets[order.wallet_id]).hex()
            of_wallet[order.wallet_id].append(row)
        elif order.held > 0:
            blocked.append({**row, "reason": order.blocked})
    rows = [
        {
            "contract_version": wallet.contract_version,
            "owner": wallet.owner,
            "chain_ids": sorted(wallet.chain_ids),
            "least_collected": wallet.least_collected,
            "orders": of_wallet[wallet_id],
        }
        for wallet_id, wallet in wallets.items()
    ]
    return rows, blocked
