"""Read what receivers hold that belong to no order. services/money/unassigned.py says which."""

import threading
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from ticketing import clock
from ticketing.chain.endpoint import Call
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.models.chains import ChainState
from ticketing.services import chains
from ticketing.services.money import unassigned
from ticketing.services.money.unassigned import Place

EVERY = timedelta(hours=1)
"""How often a pass over all of them begins."""

EVERY_NAMED = timedelta(days=1)
"""How often such a pass has the receivers that x402 clients were told."""

AFTER_A_SIGNATURE = timedelta(seconds=10)
"""How often those with money are read while somebody waits for what was signed."""

PAGES_PER_RUN = 10
"""How many pages one run reads. After a restore there are 200 for each wallet."""


class UnassignedSweep:
    """Reads these balances on one chain, some pages at a time."""

    def __init__(self, chain: Chain, node: Node) -> None:
        self._chain = chain
        self._node = node
        self._began_at: datetime | None = None
        self._named_at: datetime | None = None
        self._looked_at: datetime | None = None
        self._pages: Iterator[Sequence[Place]] = iter(())
        self._page: Sequence[Place] | None = None
        """The next page to read. A page that could not be read is read again."""
        self._running = threading.Lock()
        self.has_more = False
        """Whether the last run left pages of its pass."""

    def calls(self) -> list[Call]:
        """Return the calls of `run` for the first page, as far as they are known.

        None while another thread runs it.
        """
        if not self._running.acquire(blocking=False):
            return []
        try:
            state = self._state()
            self._begin_if_due()
            if self._page is None or state is None:
                return []
            addresses = [place.address for place in self._page]
            return self._node.balance_calls(state.token_address, addresses)
        finally:
            self._running.release()

    def run(self, pages: int = PAGES_PER_RUN) -> None:
        """Read some pages, if a pass is due or was begun. Nothing while another thread runs it.

        RpcError.
        """
        if not self._running.acquire(blocking=False):
            return
        try:
            if (state := self._state()) is not None:
                self._run(state, pages)
                self.has_more = self._page is not None
        finally:
            self._running.release()

    def _state(self) -> ChainState | None:
        state = chains.state(self._chain.chain_id)
        return None if state is None or state.decimals is None else state

    def _begin_if_due(self) -> None:
        if self._page is None and not clock.is_within(EVERY, self._began_at):
            self._began_at = clock.now()
            with_named = not clock.is_within(EVERY_NAMED, self._named_at)
            if with_named:
                self._named_at = self._began_at
            self._pages = unassigned.places(self._chain.chain_id, with_named=with_named)
            self._page = next(self._pages, None)

    def _run(self, state: ChainState, pages: int) -> None:
        chain_id = self._chain.chain_id
        if chains.is_awaited(chain_id) and not clock.is_within(AFTER_A_SIGNATURE, self._looked_at):
            self._looked_at = clock.now()
            if page := unassigned.with_money(chain_id):
                self._read(page, state)
        self._begin_if_due()
        for _ in range(pages):
            if self._page is None:
                return
            self._read(self._page, state)
            self._page = next(self._pages, None)

    def _read(self, page: Sequence[Place], state: ChainState) -> None:
        held = self._node.holdings(state.token_address, [place.address for place in page])
        decimals = int(state.decimals or 0)
        unassigned.note(self._chain.chain_id, state.token_address, decimals, page, held)
