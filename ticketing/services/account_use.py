"""Ask the enabled chains about an address that an organizer wants as a wallet."""

import logging
import time
from collections.abc import Mapping
from threading import Thread

from ticketing.chain.errors import RpcError
from ticketing.chain.node import AccountKind, connect
from ticketing.chain.registry import Chain
from ticketing.services import node_slots

LOOK_SECONDS = 5.0
"""The time limit for all chains together."""

log = logging.getLogger(__name__)


def kinds_on(address: str, enabled: Mapping[int, Chain]) -> dict[int, AccountKind | None]:
    """Return for each enabled chain what is at an address there.

    None: the chain could not be read in time. ChainUnavailable while too many requests wait for
    nodes.
    """
    found: dict[int, AccountKind | None] = dict.fromkeys(enabled)

    def ask(chain: Chain) -> None:
        try:
            found[chain.chain_id] = connect(chain).account_kind(address)
        except RpcError as error:
            log.warning("chain %s: %s", chain.chain_id, error)

    # Each chain has a thread of its own. None of them uses the database.
    threads = [Thread(target=ask, args=(chain,), daemon=True) for chain in enabled.values()]
    with node_slots.slot(address):
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + LOOK_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
    return dict(found)
