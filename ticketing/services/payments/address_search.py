"""Compare balances of payment addresses, and search the logs of those that differ."""

import logging
from collections.abc import Iterable, Sequence
from itertools import islice

from ticketing.chain.answers import Block
from ticketing.chain.endpoint import Call
from ticketing.chain.node import Node
from ticketing.models.order_accounts import OrderAccount
from ticketing.services import chains
from ticketing.services.payments import booking, collections, watched_orders

log = logging.getLogger(__name__)


def balances(
    node: Node, accounts: Iterable[OrderAccount], at: Block
) -> list[tuple[OrderAccount, int]]:
    """Return the balance of each account's address after a block, in atomic units. RpcError."""
    pairs = []
    for token_address, of_token in _by_token(accounts).items():
        addresses = [account.terms.address for account in of_token]
        amounts = node.balances_at(at, token_address, addresses)
        pairs += list(zip(of_token, amounts, strict=True))
    return pairs


def balance_calls(node: Node, accounts: Iterable[OrderAccount], at: Block) -> list[Call]:
    """Return the calls of `balances`, as far as they are known."""
    calls: list[Call] = []
    for token_address, of_token in _by_token(accounts).items():
        addresses = [account.terms.address for account in of_token]
        calls += node.balance_calls(token_address, addresses, at=hex(at.number))
    return calls


def _by_token(accounts: Iterable[OrderAccount]) -> dict[str, list[OrderAccount]]:
    by_token: dict[str, list[OrderAccount]] = {}
    for account in accounts:
        by_token.setdefault(account.terms.token_address, []).append(account)
    return by_token


def compare(
    node: Node, chain_id: int, accounts: Sequence[OrderAccount], at: Block
) -> list[OrderAccount]:
    """Compare the balances of accounts of ended orders with the books. RpcError.

    Return those with an unexplained balance. Their logs must be searched. A search also begins for
    each one that may have been paid and collected in the newest gap: see end_explained.
    """
    pairs = balances(node, accounts, at)
    held = collections.held([account for account, _ in pairs])
    explained = [each for each in pairs if each[1] == held[each[0].id]]
    _search_skipped(node, chain_id, [account for account, _ in explained])
    watched_orders.note_balances(explained, at)
    to_search = [each for each in pairs if each[1] != held[each[0].id]]
    for account, balance in to_search:
        begin(account, balance, held[account.id], at)
        # A payment that arrived just now is above the cursor. The worker finds it by its log.
        watched_orders.watch_again(account.intent_id, at.time)
    return [account for account, _ in to_search]


def end_explained(
    node: Node, chain_id: int, accounts: Sequence[OrderAccount], at: Block
) -> list[OrderAccount]:
    """End searches of the newest gap that have nothing to find, as the balance shows. RpcError.

    Return all others. One that began because of a balance always goes on: somebody may have
    collected the money since. So does that of a receiver that has code: a payment and its
    collection may both be missing, and the balance is right without them. A recorded collection
    proves nothing: the same receiver may have been collected once more.

    Example: in the gap, 25 were paid to an order's receiver, and a stranger collected them. Before
    and after, it holds 0. But to collect made its code.
    """
    last_skipped = chains.read_from(chain_id) - 1
    of_gap = [account for account in accounts if account.search_to == last_skipped]
    pairs = balances(node, of_gap, at)
    held = collections.held([account for account, _ in pairs])
    explained = [account for account, balance in pairs if balance == held[account.id]]
    with_code = _with_code(node, explained)
    ended = [account for account in explained if account.id not in with_code]
    watched_orders.end_searches(ended, at)
    ended_ids = {account.id for account in ended}
    return [account for account in accounts if account.id not in ended_ids]


def _search_skipped(node: Node, chain_id: int, receivers: Sequence[OrderAccount]) -> None:
    """Search the newest gap for ended receivers that were collected, as their code shows. RpcError.

    Each is asked once after the gap. Not those with a recorded collection: these are most orders
    that were ever sold, and a search of each would keep the others waiting.
    """
    read_from = chains.read_from(chain_id)
    unasked = [each for each in receivers if watched_orders.was_skipped(each, read_from)]
    if not unasked:
        return
    recorded = collections.collected_of(unasked)
    with_code = _with_code(node, [each for each in unasked if each.id not in recorded])
    for account in unasked:
        if account.id in with_code:
            watched_orders.search_skipped(account, read_from)


def _with_code(node: Node, receivers: Sequence[OrderAccount]) -> set[int]:
    """Return the ids of accounts whose receivers have code. RpcError."""
    of_address = {each.terms.address: each.id for each in receivers}
    return {of_address[each] for each in node.with_code(list(of_address))} if of_address else set()


def begin(account: OrderAccount, balance: int, held: int, at: Block) -> None:
    """Store that an account's logs up to a block must be searched."""
    if account.search_to is None:
        than = "more" if balance > held else "less"
        log.warning(
            "order %s holds %s than its logs showed: reading them again", account.intent_id, than
        )
    watched_orders.note_unexplained(account, balance, at)


def go_on(node: Node, account: OrderAccount, most_ranges: int | None = None) -> int:
    """Search some ranges of an account's logs, record what they show, and store the progress.

    What the receiver sent is read, too: collections. By sender, because its owner may be a busy
    address, and all its transfers would be read for each order.

    `most_ranges` None: search to the end. Return how many ranges were read. RpcError.
    """
    terms, to = account.terms, node.block(account.search_to or 0)
    if account.checked_block is None:
        first = node.first_block_since(account.order.created_at - chains.CLOCK_SKEW, to)
    else:
        first = account.checked_block + 1
    if first > to.number:
        booking.book_search(account, [], to.number)
        return 0
    count = 0
    address = [terms.address]
    ranges = node.old_transfers(terms.token_address, address, first, to, senders=address)
    for chunk in islice(ranges, most_ranges):
        if chunk.left_out:
            # The node will not change that. Later the balance shows what is missing.
            log.error("order %s: no logs of block %s", account.intent_id, chunk.last.number)
        booking.book_search(account, chunk.transfers, chunk.last.number)
        count += 1
    return count
