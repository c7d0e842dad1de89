"""Worlds on one database, one after the other; the service's clock and node are theirs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.fake_chain import FakeChain
from tests.support.payments_world import World
from ticketing.chain.node import connect
from ticketing.config import load
from ticketing.db.connection import database, open_database
from tools.anvil import TOKEN_ADDRESS

START = 1_800_000_000
LOCAL, COARSE = 31337, 777


def chain_id_of(decimals: int) -> int:
    """Return the id of a chain whose token has so many decimals."""
    return LOCAL if decimals == 6 else COARSE


def fake_chain(decimals: int) -> FakeChain:
    """Return a new chain in memory."""
    return FakeChain(chain_id_of(decimals), TOKEN_ADDRESS, decimals, START)


class Client:
    """Stands where RpcClient does: the world of the moment answers."""

    world: World

    def __init__(self, urls: Sequence[str], chain_id: int) -> None:
        self.batch = self.world.batch


@contextmanager
def worlds(database_url: str) -> Iterator[Callable[..., World]]:
    """Yield what makes a world of a chain, confirmations, a capacity and a chain's skew."""

    def new_world(chain: Any, *, confirmations: int, capacity: int, skew: int = 0) -> World:
        connect.cache_clear()
        open_database(database_url)
        if database_url.startswith("sqlite"):
            # No power is cut here: a kill of the process does not reach what is written.
            database.execute_sql("PRAGMA synchronous = OFF")
        chain_id = chain_id_of(chain.decimals)
        environ = {
            "SECRET_KEY": "of no use here, but it must be long enough",
            f"RPC_URL_{chain_id}": "http://127.0.0.1:9",
            f"TOKEN_ADDRESS_{chain_id}": TOKEN_ADDRESS,
            f"CONFIRMATIONS_{chain_id}": str(confirmations),
        }
        Client.world = World(load(environ), chain, capacity=capacity, skew=skew)
        Client.world.found()
        return Client.world

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ticketing.chain.node.RpcClient", Client)
        patch.setattr("ticketing.chain.transfers.BLOCKS_PER_RANGE", 4)
        patch.setattr("ticketing.services.payments.watching.COLD_ADDRESSES_PER_SWEEP", 2)
        patch.setattr("ticketing.clock.now", lambda: Client.world.clock())
        try:
            yield new_world
        finally:
            connect.cache_clear()
            database.close()
