"""Find money of orders on chains, and in tokens, that they are not paid in.

On such a chain an order's address is watched by its balance only. A balance without a stray account
opens one, and the logs of the address are searched (address_search.py): they say who sent what.
"""

from __future__ import annotations

from collections.abc import Collection as Group
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peewee import ModelSelect

from ticketing.chain.answers import Block, Transfer
from ticketing.chain.endpoint import Call
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.db.connection import write_transaction
from ticketing.models.chains import ChainState
from ticketing.models.collections import Collection
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.order_networks import OrderNetwork
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.wallets import Wallet
from ticketing.services import chains
from ticketing.services.orders import accounts
from ticketing.services.payments import address_search, settlement, strays


@dataclass(frozen=True)
class Token:
    """A token on a chain in which money may arrive by mistake."""

    chain: Chain
    address: str
    symbol: str | None
    decimals: int

    @property
    def network(self) -> OrderNetwork:
        """The terms of an account in it."""
        return OrderNetwork(
            self.chain.chain_id,
            self.address,
            self.symbol,
            self.decimals,
            self.chain.confirmations,
        )


def tokens(chain: Chain, state: ChainState) -> Sequence[Token]:
    """Return the tokens to look for on a chain: its own one first, then its look-alikes."""
    if state.decimals is None or state.token_address != chain.token_address:
        return ()
    others = [each for each in chain.look_alikes if each.token_address != chain.token_address]
    return [
        Token(chain, chain.token_address, state.symbol, state.decimals),
        *(Token(chain, each.token_address, each.symbol, each.decimals) for each in others),
    ]


def calls(node: Node, token: Token, intents: Sequence[PaymentIntent], at: Block) -> list[Call]:
    """Return the calls of `look`, as far as they are known."""
    addresses = [str(intent.address) for intent in intents]
    known = accounts.at(token.chain.chain_id, token.address, addresses)
    without = [each for each in addresses if each not in known]
    asked = node.balance_calls(token.address, without, at=hex(at.number)) if without else []
    opened = [each for each in known.values() if not each.is_home]
    return [*asked, *address_search.balance_calls(node, opened, at)]


def look(node: Node, token: Token, intents: Sequence[PaymentIntent], at: Block) -> None:
    """Compare the balances of orders that are not paid in this token here. RpcError.

    `at` is the worker's cursor on this chain.
    """
    addresses = [str(intent.address) for intent in intents]
    known = accounts.at(token.chain.chain_id, token.address, addresses)
    without = [intent for intent in intents if intent.address not in known]
    held = node.balances_at(at, token.address, [str(each.address) for each in without])
    for intent, balance in zip(without, held, strict=True):
        if balance:
            _open(intent, token)
    found = accounts.at(token.chain.chain_id, token.address, addresses).values()
    opened = [each for each in found if not each.is_home]
    address_search.compare(node, token.chain.chain_id, opened, at)


def search_collected(token: Token, transfers: Sequence[Transfer], at: Block) -> None:
    """Open the accounts of receivers that passed money on here, and let their logs be searched.

    Anybody may collect at once: then no balance ever shows that the order was paid here.
    """
    orders = _receivers_without({each.sender for each in transfers}, token)
    for intent in orders:
        _open(intent, token)
        is_account = (
            (OrderAccount.intent == intent.id)
            & (OrderAccount.chain_id == token.chain.chain_id)
            & (OrderAccount.token_address == token.address)
        )
        searched = {OrderAccount.search_to: at.number}
        OrderAccount.update(searched).where(is_account, OrderAccount.search_to.is_null()).execute()


def _receivers_without(senders: Group[str], token: Token) -> Sequence[PaymentIntent]:
    """Return the orders whose receivers are among the senders, and have no account here."""
    known = accounts.at(token.chain.chain_id, token.address, senders) if senders else {}
    others = [each for each in senders if each not in known]
    return list(PaymentIntent.select().where(PaymentIntent.address.in_(others))) if others else []


def _open(intent: PaymentIntent, token: Token) -> None:
    """Open the stray account of an order, unless it has an account there meanwhile."""
    with write_transaction():
        settlement.lock_chain(token.chain.chain_id, shared=True)
        (locked,) = settlement.lock_rows([intent.id])
        # Another look may have opened it just now.
        if accounts.named(locked, token.chain.chain_id, token.address) is None:
            wallet: Wallet | None = Wallet.get_or_none(Wallet.id == locked.wallet_id)
            accounts.store(new_account(locked, token.network, token.chain, wallet))
            accounts.note_change(locked)


def new_account(
    intent: PaymentIntent, network: OrderNetwork, chain: Chain, wallet: Wallet | None
) -> OrderAccount:
    """Return an account of an order without money, not stored.

    If the order can be paid there, its terms are those of order time.
    """
    option = intent.network_on(network.chain_id)
    if option is not None and option.token_address != network.token_address:
        option = None
    may_be_early = intent.home.early_confirmations is not None
    return accounts.new(
        intent,
        option or network,
        is_option=option is not None,
        in_reach=option is not None or is_in_reach(wallet, chain.chain_id),
        early_confirmations=chain.early_confirmations if may_be_early else None,
    )


def is_in_reach(wallet: Wallet | None, chain_id: int) -> bool:
    """Return whether the organizer can take what arrives at an address of a wallet on a chain."""
    return _controls(wallet, chain_id, chains.state(chain_id))


def _controls(wallet: Wallet | None, chain_id: int, state: ChainState | None) -> bool:
    if wallet is None or state is None:
        return False
    return wallet.takes(chain_id) and bool(state.has_receivers)


def reach(chain_id: int) -> None:
    """Let accounts owe what their organizers can take now.

    They said that they control their address on this chain, or somebody collected the money.
    """
    found: list[OrderAccount] = _out_of_reach.rows(chain_id=chain_id)
    if not found:
        return
    collected = {
        row.account_id
        for row in Collection.select(Collection.account)
        .where(Collection.account.in_([each.id for each in found]), Collection.canonical)
        .distinct()
    }
    state = chains.state(chain_id)
    for account in found:
        if account.id in collected or _controls(account.order.wallet, chain_id, state):
            _reach(account)


@Prepared
def _out_of_reach(chain_id: Any) -> ModelSelect[OrderAccount]:
    is_out_of_reach = (OrderAccount.chain_id == chain_id) & ~OrderAccount.in_reach
    return (
        OrderAccount.select(OrderAccount, PaymentIntent, Wallet)
        .join(PaymentIntent)
        .join(Wallet)
        .where(is_out_of_reach)
    )


def _reach(account: OrderAccount) -> None:
    with write_transaction():
        settlement.lock_chain(account.chain_id, shared=True)
        (intent,) = settlement.lock_rows([account.intent_id])
        for each in intent.stray_accounts:
            if each.id == account.id:
                strays.write(intent, each, {"in_reach": True})


def search_since_last_look(account: OrderAccount) -> dict[str, int | None]:
    """Return the columns with which the logs of a new home are searched since the last look.

    Money may be on its way there. Empty if a search is running.

    Example: the balance was 0 at block 100, and the buyer chooses the chain at block 120. The
    worker reads the logs of its address from block 120 on, so 101 to 120 are searched.
    """
    state = chains.state(account.chain_id)
    if account.search_to is not None or state is None:
        return {}
    return {"checked_block": state.strays_block, "search_to": state.block_number}
