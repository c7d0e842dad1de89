"""Measure the worker: RPC calls and CPU to read 1,000 empty blocks.

`python -m bench.watcher` uses a new SQLite database and a real anvil for each number of addresses.
Then it measures how long the worker needs to catch up on a day of blocks, with a fake node.
"""

import logging
import secrets
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from bench.catalog import put_on_sale
from bench.empty_chain import BLOCK_SECONDS, EmptyChain
from ticketing import clock, ids
from ticketing.chain import address
from ticketing.chain.endpoint import Call
from ticketing.chain.node import Node
from ticketing.chain.registry import LOCAL_CHAIN_ID, REGISTRY, Chain
from ticketing.chain.rpc import RpcClient
from ticketing.db import migrate
from ticketing.db.connection import database, open_database, write_transaction
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.services import chains
from ticketing.worker.watcher import Watcher
from tools import anvil

BLOCKS = 1000
ADDRESSES = (10, 1_000, 20_000)
MISSED_BLOCKS = 43_200
MISSED_ADDRESSES = 1_000
MISSED_SECONDS = 60


class CountingRpc(RpcClient):
    """Counts HTTP requests, and their calls by method."""

    def __init__(self, urls: Sequence[str]) -> None:
        super().__init__(urls)
        self.requests = 0
        self.calls: dict[str, int] = {}

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Count the calls, then send them."""
        self.requests += 1
        for method, _ in calls:
            self.calls[method] = self.calls.get(method, 0) + 1
        return super().batch(calls)


def main() -> None:
    """Print a row for each number of watched addresses."""
    logging.disable()
    print(f"reading {BLOCKS} empty blocks in one look, then one look with nothing new")
    print("watched | requests  eth_getLogs  headers  CPU ms | requests  CPU ms")
    for watched in ADDRESSES:
        with tempfile.TemporaryDirectory() as folder, anvil.Anvil() as node:
            anvil.ensure_token(node.rpc)
            chain, watcher = _first_look(folder, node.url)
            _issue(watched)
            node.rpc("anvil_mine", hex(BLOCKS))
            rpc = CountingRpc(chain.rpc_urls)
            watcher._node = Node(rpc)
            busy = _cpu_ms(watcher)
            requests, calls = rpc.requests, dict(rpc.calls)
            idle = _cpu_ms(watcher)
            print(
                f"{watched:7} | {requests:8}  {calls['eth_getLogs']:11}"
                f"  {calls['eth_getBlockByNumber']:7}  {busy:6.1f}"
                f" | {rpc.requests - requests:8}  {idle:6.1f}",
                flush=True,
            )
            database.close()
    catch_up()


def catch_up() -> None:
    """Print the cost of reading the empty blocks of a day in which no worker ran."""
    logging.disable()
    first_time = int(clock.now().timestamp()) - MISSED_BLOCKS * BLOCK_SECONDS
    with tempfile.TemporaryDirectory() as folder, EmptyChain(first_time) as node:
        chain, watcher = _first_look(folder, node.url)
        _issue(MISSED_ADDRESSES)
        node.mine(MISSED_BLOCKS)
        rpc = CountingRpc(chain.rpc_urls)
        watcher._node = Node(rpc)
        start = time.monotonic()
        cpu = _cpu_ms(watcher)
        seconds = time.monotonic() - start
        cursor = chains.cursor(chain.chain_id)
        assert cursor is not None and cursor.number == MISSED_BLOCKS
        database.close()
    print(
        f"\ncatching up on {MISSED_BLOCKS} empty blocks of a fake node; under {MISSED_SECONDS} s?"
    )
    print("watched | requests  seconds  CPU ms  holds")
    print(
        f"{MISSED_ADDRESSES:7} | {rpc.requests:8}  {seconds:7.2f}  {cpu:6.1f}"
        f"  {'yes' if seconds < MISSED_SECONDS else 'NO':>5}"
    )


def _first_look(folder: str, url: str) -> tuple[Chain, Watcher]:
    """Open a new database, and look at the node once."""
    open_database(f"sqlite:///{folder}/bench.db")
    migrate.upgrade()
    chain = REGISTRY[LOCAL_CHAIN_ID].enabled((url,), None, None)
    watcher = Watcher(chain)
    watcher.look()
    return chain, watcher


def _cpu_ms(watcher: Watcher) -> float:
    start = time.process_time()
    watcher.look()
    return (time.process_time() - start) * 1000


def _issue(count: int) -> None:
    now = clock.now()
    tenant = Tenant.create(id=ids.new(ids.TENANT), slug="bench", name="Bench", created_at=now)
    sold = {"price_amount": 1, "chain_id": LOCAL_CHAIN_ID, "held": count}
    ticket_type = put_on_sale(tenant, now, **sold)
    rows = [
        {
            "id": ids.new(ids.INTENT),
            "tenant": tenant.id,
            "event": ticket_type.event_id,
            "ticket_type": ticket_type.id,
            "status": "awaiting_payment",
            "flags": frozenset(),
            "quantity": 1,
            "unit_amount": 1,
            "amount": 1,
            "currency": "USDC",
            "chain_id": LOCAL_CHAIN_ID,
            "address": address.checksum("0x" + secrets.token_hex(20)),
            "token_address": anvil.TOKEN_ADDRESS,
            "token_decimals": 6,
            "required_confirmations": 1,
            "created_at": now,
            "hold_until": now + timedelta(days=1),
            "expires_at": now + timedelta(days=1),
        }
        for _ in range(count)
    ]
    with write_transaction():
        for start in range(0, count, 500):
            PaymentIntent.insert_many(rows[start : start + 500]).execute()


if __name__ == "__main__":
    main()
