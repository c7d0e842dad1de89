"""Look for money of orders on a chain that they are not paid on: services/payments/stray_search."""

from datetime import datetime, timedelta

from ticketing import clock
from ticketing.chain.answers import Block
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.services import chains
from ticketing.services.payments import stray_looks, stray_search, watched_orders

EVERY = timedelta(seconds=60)
"""How often the balances of live and recently ended orders are read."""

OLD_EVERY = timedelta(days=1)
"""How often those of orders that ended within a month are read."""


class StrayLook:
    """Reads balances of orders with another home on one chain. Without such orders it asks nothing.

    It reads once a minute, and those of old orders once a day.
    """

    def __init__(self, chain: Chain, node: Node) -> None:
        self._chain = chain
        self._node = node
        self._looked_at: datetime | None = None
        self._old_at: datetime | None = None
        self._missing: dict[str, bool] = {}
        """Which look-alikes are not on this chain: on a local one, usually."""

    def run(self, cursor: Block) -> None:
        """Look if a look is due. RpcError."""
        if clock.is_within(EVERY, self._looked_at):
            return
        chain_id = self._chain.chain_id
        states = chains.states()
        state = states.get(chain_id)
        if state is None:
            return
        stray_search.reach(chain_id)
        is_old_due = not clock.is_within(OLD_EVERY, self._old_at)
        for token in stray_search.tokens(self._chain, state):
            orders = watched_orders.elsewhere(
                list(states), chain_id, token.address, clock.now(), with_old=is_old_due
            )
            if orders and not self._is_missing(token.address):
                stray_search.look(self._node, token, orders, cursor)
        stray_looks.note_look(chain_id, cursor)
        self._looked_at = clock.now()
        if is_old_due:
            self._old_at = self._looked_at

    def _is_missing(self, token_address: str) -> bool:
        """Return whether there is no such token. The own one was checked before. RpcError."""
        if token_address == self._chain.token_address:
            return False
        if token_address not in self._missing:
            self._missing[token_address] = not self._node.is_token(token_address)
        return self._missing[token_address]
