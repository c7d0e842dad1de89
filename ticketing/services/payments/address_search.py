"""Compare balances of payment addresses, and search the logs of those that hold more."""

import logging
from collections.abc import Iterable, Sequence
from itertools import islice

from ticketing.chain.answers import Block
from ticketing.chain.node import Node
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains
from ticketing.services.payments import booking, payments, watched_orders

log = logging.getLogger(__name__)


def balances(
    node: Node, intents: Iterable[PaymentIntent], at: Block
) -> list[tuple[PaymentIntent, int]]:
    """Return the balance of each intent's address after a block, in atomic units. RpcError."""
    by_token: dict[str, list[PaymentIntent]] = {}
    for intent in intents:
        by_token.setdefault(intent.terms.token_address, []).append(intent)
    pairs = []
    for token_address, of_token in by_token.items():
        addresses = [intent.terms.address for intent in of_token]
        amounts = node.balances_at(at, token_address, addresses)
        pairs += list(zip(of_token, amounts, strict=True))
    return pairs


def compare(node: Node, intents: Sequence[PaymentIntent], at: Block) -> list[PaymentIntent]:
    """Compare the balances of ended intents' addresses with the recorded payments. RpcError.

    Return those with an unexplained balance. Their logs must be searched.
    """
    pairs = balances(node, intents, at)
    booked = payments.booked_atomic([intent for intent, _ in pairs])
    checks = [(intent, balance, booked[intent.id]) for intent, balance in pairs]
    explained = [check for check in checks if watched_orders.is_explained(*check)]
    watched_orders.note_balances(explained, at)
    explained_ids = {intent.id for intent, _, _ in explained}
    to_search = [check for check in checks if check[0].id not in explained_ids]
    for intent, balance, booked_sum in to_search:
        begin(intent, balance, booked_sum, at)
        # A payment that arrived just now is above the cursor. The worker finds it by its log.
        watched_orders.watch_again(intent, at.time)
    return [intent for intent, _, _ in to_search]


def end_explained(
    node: Node, chain_id: int, intents: Sequence[PaymentIntent], at: Block
) -> list[PaymentIntent]:
    """End searches of the newest gap that have nothing to find, as the balance shows. RpcError.

    Return all others. One that began because of a balance always goes on: the owner may have taken
    the money since.
    """
    last_skipped = chains.read_from(chain_id) - 1
    of_gap = [intent for intent in intents if intent.search_to == last_skipped]
    pairs = balances(node, of_gap, at)
    booked = payments.booked_atomic([intent for intent, _ in pairs])
    explained = {
        intent.id
        for intent, balance in pairs
        if watched_orders.is_explained(intent, balance, booked[intent.id])
    }
    watched_orders.end_searches(explained, at)
    return [intent for intent in intents if intent.id not in explained]


def begin(intent: PaymentIntent, balance: int, booked: int, at: Block) -> None:
    """Store that an intent's logs up to a block must be searched."""
    if intent.search_to is None:
        log.warning("intent %s holds more than its logs showed: reading them again", intent.id)
    watched_orders.note_unexplained(intent, balance, booked, at)


def go_on(node: Node, intent: PaymentIntent, most_ranges: int | None = None) -> int:
    """Search some ranges of an intent's logs, record their payments, and store the progress.

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
    ranges = node.old_transfers(terms.token_address, [terms.address], first, to)
    for chunk in islice(ranges, most_ranges):
        if chunk.left_out:
            # The node will not change that. Later the balance shows what is missing.
            log.error("intent %s: no logs of block %s", intent.id, chunk.last.number)
        booking.book_search(intent, chunk.transfers, chunk.last.number)
        count += 1
    return count
