"""Ask the enabled chains about an account that an organizer wants as a wallet."""

import logging
import time
from collections.abc import Callable, Mapping
from threading import Thread
from typing import TypeVar

from ticketing.chain import xpub as xpubs
from ticketing.chain.errors import RpcError
from ticketing.chain.node import AccountKind, Node, connect
from ticketing.chain.registry import Chain
from ticketing.services import node_slots

FIRST_ADDRESSES = 5
"""Wallets use the addresses of an account from 0/0 on, so an account in use has used these."""

LOOK_SECONDS = 5.0
"""The time limit for all chains together."""

log = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")


def used_on(xpub: str, enabled: Mapping[int, Chain]) -> dict[int, bool | None]:
    """Return for each enabled chain whether the first addresses of an account are in use.

    None: the chain could not be read in time. ChainUnavailable while too many requests wait for
    nodes.
    """
    addresses = [xpubs.derive_address(xpub, index) for index in range(FIRST_ADDRESSES)]
    with node_slots.slot(xpub):
        return _ask_all(enabled, lambda node, chain: node.is_used(chain.token_address, addresses))


def kinds_on(address: str, enabled: Mapping[int, Chain]) -> dict[int, AccountKind | None]:
    """Return for each enabled chain what is at an address there. None as in `used_on`.

    ChainUnavailable while too many requests wait for nodes.
    """
    with node_slots.slot(address):
        return _ask_all(enabled, lambda node, chain: node.account_kind(address))


def _ask_all(
    enabled: Mapping[int, Chain], question: Callable[[Node, Chain], _Answer]
) -> dict[int, _Answer | None]:
    """Ask each chain in its own thread. The threads do not use the database."""
    found: dict[int, _Answer | None] = dict.fromkeys(enabled)

    def ask(chain: Chain) -> None:
        try:
            found[chain.chain_id] = question(connect(chain), chain)
        except RpcError as error:
            log.warning("chain %s: %s", chain.chain_id, error)

    threads = [Thread(target=ask, args=(chain,), daemon=True) for chain in enabled.values()]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + LOOK_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return dict(found)
