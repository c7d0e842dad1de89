"""Read a chain for one order, while its buyer waits.

It reads a limited number of blocks. The worker reads older ones.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from ticketing.chain.answers import Block, Transfer
from ticketing.chain.errors import NotLinked, RpcError
from ticketing.chain.node import Node, connect
from ticketing.chain.refunded_events import PaidRefund
from ticketing.chain.registry import Chain
from ticketing.errors import ChainUnavailable
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains, counters
from ticketing.services.payments import block_history, payments

RANGES_PER_LOOK = 4
"""How many requests for logs one call may send."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChainView:
    """The chain's data for one order: transfers to its address in the newest blocks, up to `as_of`.

    If the hold may be dropped, those from a receiver are there, too: collections explain a balance.
    `after` is the worker's cursor at that time. `hashes` are the current ones of the blocks with
    its recorded payments. `balance` is the balance of its address in atomic units. It is read if
    the hold may be dropped, and None if nothing could be read. `paid`: see `look_at`.
    """

    after: Block | None
    as_of: Block
    transfers: list[Transfer] = field(default_factory=list)
    hashes: Mapping[int, str] = field(default_factory=dict)
    balance: int | None = None
    paid: list[PaidRefund] = field(default_factory=list)


def look(intent: PaymentIntent, enabled: Mapping[int, Chain], *, to_drop: bool) -> ChainView:
    """Read the newest transfers to one order's address, and check the blocks of recorded ones.

    `to_drop`: the caller will drop the hold. Nothing is read while the chain does not have the last
    block of the worker: only the worker goes back. ChainUnavailable if the chain cannot be read.
    """
    with _reading(intent.terms.chain_id, enabled) as (node, chain):
        return _look(node, chain, intent, to_drop)


def look_at(account: OrderAccount, tx_hash: str, enabled: Mapping[int, Chain]) -> ChainView:
    """Read all transfers of an account's token in one transaction, to any recipient.

    They are of the chain that the worker reads: the node must have its last block. `as_of` is the
    node's newest block. `paid` are the refunds that went through the factory in the transaction.
    ChainUnavailable if the node is on another fork, lags, or cannot be read, or before the worker's
    first look.
    """
    terms = account.terms
    with _reading(terms.chain_id, enabled) as (node, chain):
        after = chains.cursor(chain.chain_id)
        if after is None:
            raise ChainUnavailable("The worker has not read this chain yet.")
        head, transfers, paid = node.payouts.refunds_of(tx_hash, terms.token_address, after)
        return ChainView(after, chains.check_head(chain.chain_id, head), transfers, paid=paid)


def is_outdated(chain_id: int, view: ChainView, cursor: Block | None) -> bool:
    """Return whether the worker has gone back before the view's start, or has just started.

    `cursor` is the worker's last block, of a chain that is locked.
    """
    if view.after == cursor:
        return False
    return view.after is None or not block_history.has(chain_id, view.after)


@contextmanager
def _reading(chain_id: int, enabled: Mapping[int, Chain]) -> Iterator[tuple[Node, Chain]]:
    """Yield a chain and its node. Errors of the node are ChainUnavailable."""
    chain = enabled.get(chain_id)
    if chain is None:
        raise ChainUnavailable("The chain of this intent is no longer enabled.")
    try:
        yield connect(chain), chain
    except RpcError as error:
        log.warning("chain %s: %s", chain.chain_id, error)
        counters.add(counters.RPC_ERRORS, str(chain.chain_id))
        raise ChainUnavailable from None


def _look(node: Node, chain: Chain, intent: PaymentIntent, to_drop: bool) -> ChainView:
    terms, after = intent.terms, chains.cursor(chain.chain_id)
    read_to = head = chains.check_head(chain.chain_id, node.head())
    if after is not None and head.number <= after.number and head != after:
        return ChainView(after, after)
    first = max(0, head.number + 1 - RANGES_PER_LOOK * node.range_width)
    if after is None:
        first = max(first, node.first_block_since(intent.created_at - chains.CLOCK_SKEW, head))
    else:
        # Some nodes return logs near the head late, so the newest blocks are read again. Example:
        # cursor 990, 3 confirmations, head 1000: read 988 to 1000.
        first = max(first, after.number + 1 - chain.confirmations)
    # It cannot be proved that blocks after a gap follow the cursor.
    link = after if after is not None and first <= after.number + 1 else None
    may_drop = to_drop or head.time > intent.expires_at
    senders = [terms.address] if may_drop else []
    transfers: list[Transfer] = []
    ranges = node.transfers(
        terms.token_address, [terms.address], first, head, after=link, senders=senders
    )
    try:
        for chunk in islice(ranges, RANGES_PER_LOOK):
            transfers += chunk.transfers
            read_to = chunk.last
    except NotLinked:
        return ChainView(after, after or head)
    read = {transfer.block.number for transfer in transfers}
    booked = sorted(payments.blocks_of(chain.chain_id, [intent.id], _old(after, chain)) - read)
    hashes = {each.number: each.hash for each in node.blocks(booked) if each is not None}
    hashes |= {transfer.block.number: transfer.block.hash for transfer in transfers}
    if not to_drop and read_to.time <= intent.expires_at:
        return ChainView(after, read_to, transfers, hashes)
    (balance,) = node.balances_at(read_to, terms.token_address, [terms.address])
    return ChainView(after, read_to, transfers, hashes, balance)


def _old(after: Block | None, chain: Chain) -> int:
    """Return the last block that is not asked for again, as for the worker (watcher.py).

    So thousands of payments to one order do not cost thousands of requests.
    """
    return -1 if after is None else block_history.last_old(after.number, chain.confirmations)
