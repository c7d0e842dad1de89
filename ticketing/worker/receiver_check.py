"""Ask a chain whether receivers have the same addresses there as everywhere."""

import logging
from datetime import datetime, timedelta

from ticketing import clock
from ticketing.chain.node import Node
from ticketing.chain.registry import Chain
from ticketing.services import chains

AGAIN = timedelta(minutes=1)
"""How often a chain that said no is asked again."""

_NOES = 2
"""So many answers in a row end the sale on a chain that had receivers: one may be an error."""

log = logging.getLogger(__name__)


class ReceiverCheck:
    """Asks one chain until it has proved that receivers work, once in each process."""

    def __init__(self, chain: Chain, node: Node) -> None:
        self._chain = chain
        self._node = node
        self._is_proved = False
        self._noes = 0
        self._asked_at: datetime | None = None

    def run(self) -> None:
        """Ask the chain, if it has not proved it yet, and store the answer. RpcError."""
        if self._is_proved or clock.is_within(AGAIN, self._asked_at):
            return
        self._is_proved = self._node.can_collect()
        self._asked_at = clock.now()
        self._noes = 0 if self._is_proved else self._noes + 1
        chain_id = self._chain.chain_id
        was_proved = bool(chains.states_of(chain_id)[chain_id].has_receivers)
        if self._is_proved or not was_proved or self._noes >= _NOES:
            chains.note_receivers(chain_id, are_available=self._is_proved)
        if not self._is_proved:
            log.warning("chain %s: receivers are not available, so nothing is sold there", chain_id)
