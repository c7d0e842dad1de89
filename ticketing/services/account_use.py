"""Whether an account is used for anything but orders, as far as the enabled chains show it."""

import logging
import time
from collections.abc import Mapping
from threading import Thread

from ticketing.chain import xpub as xpubs
from ticketing.chain.errors import RpcError
from ticketing.chain.node import connect
from ticketing.chain.registry import Chain
from ticketing.services import node_places

FIRST_ADDRESSES = 5
"""Wallets show the addresses of an account from 0/0 on: one that is in use has used these."""

LOOK_SECONDS = 5.0
"""How long all chains together may take to answer."""

log = logging.getLogger(__name__)


def used_on(xpub: str, enabled: Mapping[int, Chain]) -> dict[int, bool | None]:
    """Return for each enabled chain whether the first addresses of an account are in use there.

    None: the chain could not be seen in time. ChainUnavailable while too many requests wait for
    nodes.
    """
    with node_places.place(xpub):
        return _ask_side_by_side(xpub, enabled)


def _ask_side_by_side(xpub: str, enabled: Mapping[int, Chain]) -> dict[int, bool | None]:
    """Ask each chain in a thread, which touches no database."""
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
