"""Looking again where logs may not tell: before a hold is dropped, and long after an intent ended.

Balances are cheap to ask for. An address that holds more than we know of is read from its logs.
"""

import logging
from datetime import timedelta

from ticketing.chain.answers import Block
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains
from ticketing.services.payments import payments, settlement

ADDRESSES_PER_SWEEP = 1000
SWEEP_EVERY = timedelta(minutes=1)

log = logging.getLogger(__name__)


class BalanceSweep:
    """Asks one chain for the balances of payment addresses."""

    def __init__(self, chain: Chain, node: Node) -> None:
        self._chain = chain
        self._node = node

    def before_expiry(self, intent_ids: list[str], cursor: Block) -> None:
        """Make sure that nothing has arrived for intents whose hold is about to be dropped.

        RpcError if that cannot be seen: then no hold is dropped.
        """
        for intent, balance in self._balances(payments.intents_of(intent_ids)):
            if balance > payments.booked_atomic(intent):
                self._read_again(intent, cursor)

    def sweep(self, cursor: Block) -> None:
        """Look at some addresses of long ended intents, those first that were not for longest."""
        cold = payments.cold_intents(
            self._chain.chain_id, cursor.time, cursor.time - SWEEP_EVERY, ADDRESSES_PER_SWEEP
        )
        for intent, balance in self._balances(cold):
            before = intent.swept_balance
            known = payments.booked_atomic(intent) if before is None else int(before)
            if balance > 0 and (balance > known or (before is not None and balance != known)):
                self._read_again(intent, cursor)
                # What arrived in this moment lies above the cursor: it is found by its log.
                payments.watch_again(intent, cursor.time)
            payments.note_sweep(intent, balance, cursor.time)

    def _balances(self, intents: list[PaymentIntent]) -> list[tuple[PaymentIntent, int]]:
        by_token: dict[str, list[PaymentIntent]] = {}
        for intent in intents:
            by_token.setdefault(intent.terms.token_address, []).append(intent)
        found = []
        for token_address, of_token in by_token.items():
            addresses = [intent.terms.address for intent in of_token]
            held = self._node.balances(token_address, addresses)
            found += list(zip(of_token, held, strict=True))
        return found

    def _read_again(self, intent: PaymentIntent, cursor: Block) -> None:
        """Read an intent's logs since it was made, up to the cursor."""
        log.warning("intent %s holds more than its logs told: they are read again", intent.id)
        terms = intent.terms
        first = self._node.first_block_since(intent.created_at - chains.CLOCK_SKEW, cursor)
        for _, transfers in self._node.transfers(
            terms.token_address, [terms.address], first, cursor
        ):
            settlement.record_found(intent, transfers)
