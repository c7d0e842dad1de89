"""Compare balances of payment addresses, and search the logs of those that differ."""

import logging
from collections.abc import Iterable, Sequence
from itertools import islice

from ticketing.chain.answers import Block
from ticketing.chain.endpoint import Call
from ticketing.chain.node import Node
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains
from ticketing.services.payments import booking, collections, watched_orders
from ticketing.services.payments.collections import Held

log = logging.getLogger(__name__)


def balances(
    node: Node, intents: Iterable[PaymentIntent], at: Block
) -> list[tuple[PaymentIntent, int]]:
    """Return the balance of each intent's address after a block, in atomic units. RpcError."""
    pairs = []
    for token_address, of_token in _by_token(intents).items():
        addresses = [intent.terms.address for intent in of_token]
        amounts = node.balances_at(at, token_address, addresses)
        pairs += list(zip(of_token, amounts, strict=True))
    return pairs


def balance_calls(node: Node, intents: Iterable[PaymentIntent], at: Block) -> list[Call]:
    """Return the calls of `balances`, as far as they are known."""
    calls: list[Call] = []
    for token_address, of_token in _by_token(intents).items():
        addresses = [intent.terms.address for intent in of_token]
        calls += node.balance_calls(token_address, addresses, at=hex(at.number))
    return calls


def _by_token(intents: Iterable[PaymentIntent]) -> dict[str, list[PaymentIntent]]:
    by_token: dict[str, list[PaymentIntent]] = {}
    for intent in intents:
        by_token.setdefault(intent.terms.token_address, []).append(intent)
    return by_token


def compare(
    node: Node, chain_id: int, intents: Sequence[PaymentIntent], at: Block
) -> list[PaymentIntent]:
    """Compare the balances of ended intents' addresses with the books. RpcError.

    Return those with an unexplained balance. Their logs must be searched. A search also begins for
    each receiver that may have been paid and collected in the newest gap: see end_explained.
    """
    pairs = balances(node, intents, at)
    held = collections.held([intent for intent, _ in pairs])
    checks = [(intent, balance, held[intent.id]) for intent, balance in pairs]
    explained = [check for check in checks if watched_orders.is_explained(*check)]
    _search_skipped(
        node, chain_id, [intent for intent, _, its_held in explained if its_held.is_exact]
    )
    watched_orders.note_balances(explained, at)
    explained_ids = {intent.id for intent, _, _ in explained}
    to_search = [check for check in checks if check[0].id not in explained_ids]
    for intent, balance, its_held in to_search:
        begin(intent, balance, its_held, at)
        # A payment that arrived just now is above the cursor. The worker finds it by its log.
        watched_orders.watch_again(intent, at.time)
    return [intent for intent, _, _ in to_search]


def end_explained(
    node: Node, chain_id: int, intents: Sequence[PaymentIntent], at: Block
) -> list[PaymentIntent]:
    """End searches of the newest gap that have nothing to find, as the balance shows. RpcError.

    Return all others. One that began because of a balance always goes on: the owner may have taken
    the money since. So does that of a receiver that has code: a payment and its collection may both
    be missing, and the balance is right without them. A recorded collection proves nothing: the
    same receiver may have been collected once more.

    Example: in the gap, 25 were paid to an order's receiver, and a stranger collected them. Before
    and after, it holds 0. But to collect made its code.
    """
    last_skipped = chains.read_from(chain_id) - 1
    of_gap = [intent for intent in intents if intent.search_to == last_skipped]
    pairs = balances(node, of_gap, at)
    held = collections.held([intent for intent, _ in pairs])
    explained = [
        intent
        for intent, balance in pairs
        if watched_orders.is_explained(intent, balance, held[intent.id])
    ]
    exact = [intent for intent in explained if held[intent.id].is_exact]
    ended = {intent.id for intent in explained} - _with_code(node, exact)
    watched_orders.end_searches(ended, at)
    return [intent for intent in intents if intent.id not in ended]


def _search_skipped(node: Node, chain_id: int, receivers: Sequence[PaymentIntent]) -> None:
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
    for intent in unasked:
        if intent.id in with_code:
            watched_orders.search_skipped(intent, read_from)


def _with_code(node: Node, receivers: Sequence[PaymentIntent]) -> set[str]:
    """Return the ids of intents whose receivers have code. RpcError."""
    of_address = {each.terms.address: each.id for each in receivers}
    return {of_address[each] for each in node.with_code(list(of_address))} if of_address else set()


def begin(intent: PaymentIntent, balance: int, held: Held, at: Block) -> None:
    """Store that an intent's logs up to a block must be searched."""
    if intent.search_to is None:
        than = "more" if balance > held.atomic else "less"
        log.warning("intent %s holds %s than its logs showed: reading them again", intent.id, than)
    watched_orders.note_unexplained(intent, balance, held, at)


def go_on(node: Node, intent: PaymentIntent, most_ranges: int | None = None) -> int:
    """Search some ranges of an intent's logs, record what they show, and store the progress.

    Of a receiver, what it sent is read, too: collections. By sender, because its owner may be a
    busy address, and all its transfers would be read for each order.

    `most_ranges` None: search to the end. Return how many ranges were read. RpcError.
    """
    terms, to = intent.terms, node.block(intent.search_to or 0)
    if intent.checked_block is None:
        first = node.first_block_since(intent.created_at - chains.CLOCK_SKEW, to)
    else:
        first = intent.checked_block + 1
    if first > to.number:
        booking.book_search(intent, [], to.number)
        return 0
    count = 0
    senders = [terms.address] if collections.receivers_among([intent]) else []
    ranges = node.old_transfers(terms.token_address, [terms.address], first, to, senders=senders)
    for chunk in islice(ranges, most_ranges):
        if chunk.left_out:
            # The node will not change that. Later the balance shows what is missing.
            log.error("intent %s: no logs of block %s", intent.id, chunk.last.number)
        booking.book_search(intent, chunk.transfers, chunk.last.number)
        count += 1
    return count
