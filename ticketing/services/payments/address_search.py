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
    found = []
    for token_address, of_token in by_token.items():
        addresses = [intent.terms.address for intent in of_token]
        held = node.balances_at(at, token_address, addresses)
        found += list(zip(of_token, held, strict=True))
    return found


def compare(node: Node, intents: Sequence[PaymentIntent], at: Block) -> list[PaymentIntent]:
    """Compare the balances of ended intents' addresses with the recorded payments. RpcError.

    Return those with an unexplained balance. Their logs must be searched.
    """
    found = balances(node, intents, at)
    booked = payments.booked_atomic([intent for intent, _ in found])
    with_booked = [(*each, booked[each[0].id]) for each in found]
    explained = [each for each in with_booked if watched_orders.is_explained(*each)]
    watched_orders.note_balances(explained, at)
    known = {intent.id for intent, _, _ in explained}
    to_search = [each for each in with_booked if each[0].id not in known]
    for intent, balance, of_intent in to_search:
        begin(intent, balance, of_intent, at)
        # A payment that arrived just now is above the cursor. The worker finds it by its log.
        watched_orders.watch_again(intent, at.time)
    return [intent for intent, _, _ in to_search]


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
    read = 0
    found = node.old_transfers(terms.token_address, [terms.address], first, to)
    for each in islice(found, most_ranges):
        booking.book_search(intent, each.transfers, each.last.number)
        read += 1
    return read
