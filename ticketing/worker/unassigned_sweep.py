"""Read what receivers hold that belong to no order. services/money/unassigned.py says which."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from ticketing import clock
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.models.chains import ChainState
from ticketing.services import chains
from ticketing.services.money import unassigned
from ticketing.services.money.unassigned import Place

EVERY = timedelta(hours=1)
"""How often a pass over all of them begins."""

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
        self._looked_at: datetime | None = None
        self._pages: Iterator[Sequence[Place]] = iter(())
        self._page: Sequence[Place] | None = None
        """The next page to read. A page that could not be read is read again."""

    def run(self) -> None:
        """Read some pages, if a pass is due or was begun. RpcError."""
        chain_id = self._chain.chain_id
        state = chains.states_of(chain_id).get(chain_id)
        if state is None or state.decimals is None:
            return
        if chains.is_awaited(chain_id) and not clock.is_within(AFTER_A_SIGNATURE, self._looked_at):
            self._looked_at = clock.now()
            if page := unassigned.with_money(chain_id):
                self._read(page, state)
        if self._page is None and not clock.is_within(EVERY, self._began_at):
            self._began_at, self._pages = clock.now(), unassigned.places(chain_id)
            self._page = next(self._pages, None)
        for _ in range(PAGES_PER_RUN):
            if self._page is None:
                return
            self._read(self._page, state)
            self._page = next(self._pages, None)

    def _read(self, page: Sequence[Place], state: ChainState) -> None:
        held = self._node.holdings(state.token_address, [place.address for place in page])
        decimals = int(state.decimals or 0)
        unassigned.note(self._chain.chain_id, state.token_address, decimals, page, held)
