"""`flask --app app dev`: the sandbox. It pays, refunds and reorganizes on local chains.

A local node sends from its own unlocked account, so no private key is needed here.
docs/payments.md shows with these commands everything that can happen to a payment.
"""

import click
from flask.cli import AppGroup

from ticketing.chain import abi, units
from ticketing.chain.answers import NOTHING, TRANSFER_TOPIC, parse_word
from ticketing.chain.errors import RpcRefused
from ticketing.chain.local_node import LocalNode
from ticketing.chain.registry import LOCAL_CHAIN_ID, LOCAL_CHAIN_IDS
from ticketing.cli.base import command, config
from ticketing.constants import MAX_SAFE_INTEGER, IntentStatus
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services.payments import refunds

DEEPEST_REORG = 64
_BALANCE_OF = abi.selector("balanceOf(address)")

_OTHER_TOKEN = "0x" + "77" * 20
_OTHER_TOKEN_CODE = (
    "0x"
    "602060245f37"  # memory[0:32] = calldata[36:68], the value
    "60043533"  # topics 2 and 1: calldata[4:36], the recipient; the caller
    f"7f{TRANSFER_TOPIC[2:]}"  # topic 0
    "60205fa3"  # LOG3 of memory[0:32]
    "60015f5260205ff3"  # return true
)
"""A token in 55 bytes. It reports every transfer as done, but has no balances."""

_AMOUNT = click.IntRange(1, MAX_SAFE_INTEGER)

group = AppGroup("dev", help="Try on the local chains what can happen to a payment.")


@group.command("pay")
@click.argument("intent_id")
@click.option("--amount", type=_AMOUNT, help="Micro-units. Default: the amount due.")
@click.option("--late", is_flag=True, help="First move the chain's clock past the deadline.")
@click.option("--twice", is_flag=True, help="Pay two times, in two transactions.")
@click.option("--wrong-token", is_flag=True, help="Pay with another token.")
@command
def pay(intent_id: str, amount: int | None, late: bool, twice: bool, wrong_token: bool) -> None:
    """Pay INTENT_ID from the local node's funded account."""
    intent = _find(intent_id)
    amount = amount or _due(intent, late=late)
    terms = intent.terms
    node = _connect(terms.chain_id)
    if late and node.head().time <= intent.expires_at:
        # This is exact. evm_increaseTime counts from a clock that may be behind the newest block.
        node.ask("evm_setNextBlockTimestamp", int(intent.expires_at.timestamp()) + 1)
        node.ask("anvil_mine", "0x1")
    if wrong_token:
        node.ask("anvil_setCode", _OTHER_TOKEN, _OTHER_TOKEN_CODE)
    token = _OTHER_TOKEN if wrong_token else terms.token_address
    atomic = units.to_atomic(amount, terms.decimals)
    sent = [str(node.send(token, terms.address, atomic)) for _ in range(2 if twice else 1)]
    of_what = f"of another token, {_OTHER_TOKEN}," if wrong_token else "micro-units"
    when = f"after {intent.expires_at:%Y-%m-%dT%H:%M:%SZ} " if late else ""
    click.echo(f"paid {amount} {of_what} to {terms.address} {when}{' and '.join(sent)}")
    path = f"/v1/checkout/tenants/{intent.tenant.slug}/intents/{intent_id}/purchase"
    click.echo(f"next: POST {path} with the client_secret, or wait for the worker")


@group.command("refund")
@click.argument("intent_id")
@command
def refund(intent_id: str) -> None:
    """Pay the refund for INTENT_ID, from the funded account.

    It goes to the address that the buyer stated, else to the first payer.
    """
    intent = _find(intent_id)
    owed = refunds.owed_for(intent.home)
    payees = [intent.home.refund_address, *(payer.sender for payer in owed.payers)]
    payee = next(filter(None, payees), None)
    if intent.refund_due == 0 or payee is None:
        raise click.ClickException(f"no refund is due: the intent is {intent.status}")
    terms = intent.terms
    atomic = units.to_atomic(intent.refund_due, terms.decimals)
    sent = _connect(terms.chain_id).send(terms.token_address, payee, atomic)
    click.echo(f"refunded {intent.refund_due} micro-units to {payee} {sent}")
    path = f"/v1/admin/tenants/{intent.tenant.slug}/refunds/{intent_id}/settle"
    click.echo(f"next: POST {path} with that tx_hash, {terms.required_confirmations} deep")


@group.command("reorg")
@click.option(
    "--depth",
    required=True,
    type=click.IntRange(1, DEEPEST_REORG),
    help="How many of the newest blocks to replace.",
)
@click.option(
    "--chain-id",
    default=LOCAL_CHAIN_ID,
    type=click.Choice(LOCAL_CHAIN_IDS),
    help=f"Default: {LOCAL_CHAIN_ID}.",
)
@command
def reorg(depth: int, chain_id: int) -> None:
    """Replace the chain's newest blocks with empty ones. The payments in them disappear."""
    node, token = _connect(chain_id), config().chains[chain_id].token_address
    head = node.head()
    if not _can_go_back_to(node, token, head.number - depth):
        raise click.ClickException(
            f"the node cannot go back {depth} blocks from {head.number}: it was started later,"
            " or the test token was deployed later"
        )
    node.ask("anvil_reorg", depth, [])
    click.echo(f"replaced blocks {head.number - depth + 1} to {head.number} with empty ones")
    click.echo("next: wait for the worker, then GET the intents that were paid in these blocks")


def _find(intent_id: str) -> PaymentIntent:
    """Return an intent on a local chain."""
    intent: PaymentIntent | None = PaymentIntent.get_or_none(PaymentIntent.id == intent_id)
    if intent is None or intent.chain_id not in LOCAL_CHAIN_IDS:
        raise click.ClickException(f"intent {intent_id} on a local chain does not exist")
    return intent


def _due(intent: PaymentIntent, *, late: bool) -> int:
    """Return the amount that a buyer would pay, in micro-units. `late`: after the deadline."""
    due = intent.amount_due
    if late and intent.status == IntentStatus.EXPIRED:
        due = intent.amount  # after the deadline, only one transfer of the full amount counts
    if due == 0:
        raise click.ClickException(
            f"nothing is due: the intent is {intent.status} (use --amount to pay anyway)"
        )
    return due


def _connect(chain_id: int) -> LocalNode:
    chain = config().chains.get(chain_id)
    if chain is None:
        raise click.ClickException(f"chain {chain_id} is not enabled: set RPC_URL_{chain_id}")
    return LocalNode(chain)


def _can_go_back_to(node: LocalNode, token: str, number: int) -> bool:
    """Return whether the node has the state of that block, with tokens in the account."""
    if number < 0:
        return False
    question = {"to": token, "data": _BALANCE_OF + abi.address_word(node.funded()).hex()}
    try:
        balance = node.ask("eth_call", question, hex(number))
    except RpcRefused:
        return False
    return balance != NOTHING and parse_word(balance) > 0
