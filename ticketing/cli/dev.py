"""`flask --app app dev`: paying on the local chain, to try things out. Only for chain 31337."""

import click
from flask.cli import AppGroup

from ticketing.chain import units
from ticketing.chain.registry import LOCAL_CHAIN_ID
from ticketing.chain.rpc import RpcClient
from ticketing.cli.base import command, config
from ticketing.models.payment_intents import PaymentIntent

_BUYER = 1
"""The local node's second account: `make run` gives it tokens."""

_TRANSFER_SELECTOR = "0xa9059cbb"

group = AppGroup("dev", help="Try things out on the local chain.")


@group.command("pay")
@click.argument("intent_id")
@click.option("--amount", type=click.IntRange(1), help="Micro-units; what is due if left out.")
@command
def pay(intent_id: str, amount: int | None) -> None:
    """Pay INTENT_ID from the local node's funded account."""
    intent = PaymentIntent.get_or_none(PaymentIntent.id == intent_id)
    if intent is None or intent.chain_id != LOCAL_CHAIN_ID:
        raise click.ClickException(f"there is no intent {intent_id} on chain {LOCAL_CHAIN_ID}")
    amount = amount or intent.amount_due
    if amount == 0:
        raise click.ClickException(f"nothing is due: the intent is {intent.status}")
    atomic = units.to_atomic(amount, intent.terms.decimals)
    rpc = RpcClient(config().chains[LOCAL_CHAIN_ID].rpc_urls)
    (accounts,) = rpc.batch([("eth_accounts", [])])
    data = f"{_TRANSFER_SELECTOR}{intent.terms.address[2:].rjust(64, '0').lower()}{atomic:064x}"
    transaction = {"from": accounts[_BUYER], "to": intent.terms.token_address, "data": data}
    (tx_hash,) = rpc.batch([("eth_sendTransaction", [transaction])])
    click.echo(f"paid {amount} micro-units to {intent.terms.address} in {tx_hash}")
