"""Worlds on one database, one after another. They replace the service's clock and node."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.fake_chain import FakeChain
from tests.support.property.core import PRICE, SHIRT
from tests.support.property.node import WorldClient
from tests.support.property.world import World
from ticketing.chain.node import connect
from ticketing.config import load
from ticketing.db.connection import database, open_database
from tools.anvil import TOKEN_ADDRESS

START = 1_800_000_000
LOCAL, COARSE = (31337, 31338), (777, 778)
EARLY_MOST = 2 * PRICE + SHIRT
"""Some orders of a world cost more."""


def chain_ids_of(decimals: int) -> tuple[int, int]:
    """Return the ids of two chains with a token of this many decimals."""
    return LOCAL if decimals == 6 else COARSE


def fake_chain(decimals: int, which: int = 0) -> FakeChain:
    """Return a new chain in memory: the first or the second one with such a token."""
    return FakeChain(chain_ids_of(decimals)[which], TOKEN_ADDRESS, decimals, START)


@contextmanager
def worlds(database_url: str) -> Iterator[Callable[..., World]]:
    """Yield a function that creates a world from one or two chains and some numbers.

    `early`: after how many blocks orders up to EARLY_MOST may be confirmed early. 0: never, as on a
    chain outside the registry. `tolerance`: how much may be missing of a payment, in percent, and
    the most in micro-units.
    """

    world: World | None = None

    def new_world(
        *chains: Any,
        confirmations: int,
        capacity: int,
        skew: int = 0,
        early: int = 0,
        tolerance: tuple[int, int] = (0, 0),
    ) -> World:
        nonlocal world
        connect.cache_clear()
        open_database(database_url)
        if database_url.startswith("sqlite"):
            # A kill of the process loses nothing that is written, and no power is cut here.
            database.execute_sql("PRAGMA synchronous = OFF")
        environ = {
            "SECRET_KEY": "of no use here, but it must be long enough",
            "EARLY_MOST": str(EARLY_MOST),
            # What a statement waits for: tests/payments/test_payee_model.py.
            "REFUND_CHANGE_HOURS": "0",
        }
        for chain in chains:
            environ |= {
                f"RPC_URL_{chain.chain_id}": "http://127.0.0.1:9",
                f"TOKEN_ADDRESS_{chain.chain_id}": TOKEN_ADDRESS,
                f"CONFIRMATIONS_{chain.chain_id}": str(confirmations),
            }
            if chain.chain_id in LOCAL:
                environ[f"EARLY_CONFIRMATIONS_{chain.chain_id}"] = str(early)
        world = World(
            load(environ),
            chains,
            capacity=capacity,
            skew=skew,
            tolerance=tolerance,
        )
        WorldClient.pools = world.pools
        world.found()
        return world

    def now() -> datetime:
        assert world is not None
        return world.clock()

    def monotonic() -> float:
        return world.now.timestamp() if world is not None else 0.0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ticketing.chain.node.RpcClient", WorldClient)
        patch.setattr("ticketing.chain.endpoint.time", SimpleNamespace(monotonic=monotonic))
        patch.setattr("ticketing.chain.transfer_logs.BLOCKS_PER_RANGE", 4)
        patch.setattr("ticketing.services.payments.watched_orders.COLD_ADDRESSES_PER_SWEEP", 2)
        patch.setattr("ticketing.clock.now", now)
        try:
            yield new_world
        finally:
            connect.cache_clear()
            database.close()
