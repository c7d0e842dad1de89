"""Whether an account is used for anything but orders, as far as the enabled chains show it."""

import logging
import time
from collections.abc import Mapping
from threading import Lock, Thread

from ticketing.chain import xpub as xpubs
from ticketing.chain.node import connect
from ticketing.chain.registry import Chain
from ticketing.chain.rpc import RpcError
from ticketing.errors import ChainUnavailable

FIRST_ADDRESSES = 5
"""Wallets show the addresses of an account from 0/0 on: one that is in use has used these."""

LOOK_SECONDS = 5.0
"""How long all chains together may take to answer."""

log = logging.getLogger(__name__)

_one_at_a_time = Lock()


def used_on(xpub: str, enabled: Mapping[int, Chain]) -> dict[int, bool | None]:
    """Tell of each enabled chain whether the first addresses of an account are in use there.

    None: the chain could not be seen in time. One account at a time is looked at in a process, so
    that nodes that hang hold one request's thread: ChainUnavailable for another one meanwhile.
    """
    if not _one_at_a_time.acquire(blocking=False):
        raise ChainUnavailable("Another account is being looked at. Try again in some seconds.")
    try:
        return _ask_side_by_side(xpub, enabled)
    finally:
        _one_at_a_time.release()


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
        used = connect(chain).is_used(chain.chain_id, chain.token_address, addresses)
    except RpcError as error:
        log.warning("chain %s: %s", chain.chain_id, error)
    else:
        found[chain.chain_id] = used
