"""Look for money of orders on a chain that they are not paid on: services/payments/stray_search."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from ticketing import clock
from ticketing.chain.answers import Block, Transfer
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import RpcError, RpcLimited, RpcSilent
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.models.payment_intents import PaymentIntent
from ticketing.services import chains
from ticketing.services.payments import stray_looks, stray_search, watched_orders
from ticketing.services.payments.stray_search import Token

log = logging.getLogger(__name__)

EVERY = timedelta(seconds=60)
"""How often the balances of live and recently ended orders are read."""

PAGE = 500
"""How many balances one request reads."""

OLD_EVERY = timedelta(days=1)
"""How often those of orders that ended within a month are read."""

MISSING_EVERY = timedelta(hours=1)
"""How often a look-alike that is not on the chain is asked for again."""


class StrayLook:
    """Reads balances of orders with another home on one chain. Without such orders it asks nothing.

    It reads once a minute, and those of old orders once a day.
    """

    def __init__(self, chain: Chain, node: Node) -> None:
        self._chain = chain
        self._node = node
        self._looked_at: datetime | None = None
        self._old_at: datetime | None = None
        self._present: set[str] = set()
        """Which look-alikes are there. On a local chain, usually none is."""
        self._missing: dict[str, datetime] = {}
        """When a look-alike was not there. It is asked for again after MISSING_EVERY."""

    def calls(self, at: Block) -> list[Call]:
        """Return the calls of `run`, as far as they are known. RpcError."""
        calls: list[Call] = []
        # The old ones are many: they have requests of their own.
        for token, orders in self._due(with_old=False):
            calls += stray_search.calls(self._node, token, orders, at)
        return calls

    def run(self, at: Block) -> None:
        """Look if a look is due, at the balances after a block. RpcError."""
        if clock.is_within(EVERY, self._looked_at):
            return
        chain_id = self._chain.chain_id
        stray_search.reach(chain_id)
        is_old_due = not clock.is_within(OLD_EVERY, self._old_at)
        for token, orders in self._due(with_old=is_old_due):
            try:
                stray_search.look(self._node, token, orders, at)
            except (RpcLimited, RpcSilent):
                raise
            except RpcError as error:
                # If a look-alike cannot be read, the others are read nevertheless.
                if token.address == self._chain.token_address:
                    raise
                log.warning(
                    "chain %s: %s cannot be read: %s", token.chain.chain_id, token.symbol, error
                )
        stray_looks.note_look(chain_id, at)
        if is_old_due:
            self._old_at = clock.now()
        self._looked_at = clock.now()

    def search_collected(self, transfers: Sequence[Transfer], at: Block) -> None:
        """Search for payments that receivers passed on here before a look could see them."""
        state = chains.state(self._chain.chain_id) if transfers else None
        if state is not None:
            for token in stray_search.tokens(self._chain, state)[:1]:
                stray_search.search_collected(token, transfers, at)

    def _due(self, *, with_old: bool) -> Sequence[tuple[Token, Sequence[PaymentIntent]]]:
        """Return the tokens to look for, with the orders whose balances are read now, in pages."""
        states = chains.states()
        state = states.get(self._chain.chain_id)
        is_due = not clock.is_within(EVERY, self._looked_at)
        if state is None or not is_due:
            return ()
        found = []
        for token in stray_search.tokens(self._chain, state):
            orders = watched_orders.elsewhere(
                list(states), state.chain_id, token.address, clock.now(), with_old=with_old
            )
            if orders and not self._is_missing(token.address):
                pages = range(0, len(orders), PAGE)
                found += [(token, orders[start : start + PAGE]) for start in pages]
        return found

    def _is_missing(self, token_address: str) -> bool:
        """Return whether there is no such token. The own one was checked before. RpcError."""
        if token_address == self._chain.token_address:
            return False
        if token_address in self._present:
            return False
        if not clock.is_within(MISSING_EVERY, self._missing.get(token_address)):
            if self._node.is_token(token_address):
                self._present.add(token_address)
                return False
            self._missing[token_address] = clock.now()
        return True
