"""Read what receivers hold that belong to no order. services/money/unassigned.py says which."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from ticketing import clock
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.services import chains
from ticketing.services.money import unassigned
from ticketing.services.money.unassigned import Place

EVERY = timedelta(hours=1)
"""How often a pass over all of them begins."""

PAGES_PER_RUN = 10
"""How many pages one run reads. After a restore there are 200 for each wallet."""


class UnassignedSweep:
    """Reads these balances on one chain, some pages at a time."""

    def __init__(self, chain: Chain, node: Node) -> None:
        self._chain = chain
        self._node = node
        self._began_at: datetime | None = None
        self._pages: Iterator[Sequence[Place]] = iter(())
        self._page: Sequence[Place] | None = None
        """The next page to read. A page that could not be read is read again."""

    def run(self) -> None:
        """Read some pages, if a pass is due or was begun. RpcError."""
        chain_id = self._chain.chain_id
        state = chains.states_of(chain_id).get(chain_id)
        if state is None or state.decimals is None:
            return
        if self._page is None and not clock.is_within(EVERY, self._began_at):
            self._began_at, self._pages = clock.now(), unassigned.places(chain_id)
            self._page = next(self._pages, None)
        for _ in range(PAGES_PER_RUN):
            if self._page is None:
                return
            token = state.token_address
            held = self._node.holdings(token, [place.address for place in self._page])
            unassigned.note(chain_id, token, state.decimals, self._page, held)
            self._page = next(self._pages, None)
