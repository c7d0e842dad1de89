"""Check on the enabled chains whether an account is used for anything but orders."""

import logging
import time
from collections.abc import Mapping
from threading import Thread

from ticketing.chain import xpub as xpubs
from ticketing.chain.errors import RpcError
from ticketing.chain.node import connect
from ticketing.chain.registry import Chain
from ticketing.services import node_slots

FIRST_ADDRESSES = 5
"""Wallets use the addresses of an account from 0/0 on, so an account in use has used these."""

LOOK_SECONDS = 5.0
"""The time limit for all chains together."""

log = logging.getLogger(__name__)


def used_on(xpub: str, enabled: Mapping[int, Chain]) -> dict[int, bool | None]:
    """Return for each enabled chain whether the first addresses of an account are in use.

    None: the chain could not be read in time. ChainUnavailable while too many requests wait for
    nodes.
    """
    with node_slots.slot(xpub):
        return _query_in_parallel(xpub, enabled)


def _query_in_parallel(xpub: str, enabled: Mapping[int, Chain]) -> dict[int, bool | None]:
    """Query each chain in its own thread. The threads do not use the database."""
    addresses = [xpubs.derive_address(xpub, index) for index in range(FIRST_ADDRESSES)]
    found: dict[int, bool | None] = dict.fromkeys(enabled)
    threads = [
        Thread(target=_look, args=(chain, addresses, found), daemon=True)
        for chain in enabled.values()
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + LOOK_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return dict(found)


def _look(chain: Chain, addresses: list[str], found: dict[int, bool | None]) -> None:
    try:
        used = connect(chain).is_used(chain.token_address, addresses)
    except RpcError as error:
        log.warning("chain %s: %s", chain.chain_id, error)
    else:
        found[chain.chain_id] = used
