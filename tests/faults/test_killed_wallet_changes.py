"""kill -9 of the worker around a change of a wallet: it is made once, with its mail and entry."""

import random
import time
from contextlib import contextmanager

import pytest

from tests.support.factories import PRICE
from tests.support.remote import eventually
from ticketing import clock
from ticketing.db.connection import database, open_database
from ticketing.models.notifications import Lease
from ticketing.models.wallets import PendingWallet
from tools import anvil

pytestmark = pytest.mark.long

OWNERS = (
    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
)
CHANGES = 4


@contextmanager
def rows(stack):
    open_database(stack.database_url)
    try:
        yield
    finally:
        database.close()


def is_pending(remote):
    return remote.send("GET", f"{remote.path}/wallet").json["pending"] is not None


def test_each_change_is_made_once_however_often_the_worker_is_killed(stack, node, remote):
    intent = remote.preflight(remote.ticket()).json
    stack.start_worker()
    anvil.transfer(node.rpc, intent["token_address"], intent["address"], PRICE)
    eventually(lambda: remote.intent(intent)["status"] == "confirmed")
    stack.kill("worker")

    choose = random.Random(28)
    for number in range(CHANGES):
        body = {"address": OWNERS[number % 2], "chain_ids": [31337]}
        assert remote.send("PUT", f"{remote.path}/wallet", body).json["pending"]
        with rows(stack):
            PendingWallet.update(effective_at=clock.now()).execute()
        attempts = 1
        while is_pending(remote):
            with rows(stack):
                Lease.delete().execute()  # the next worker need not wait for the killed one
            stack.start_worker()
            attempts += 1
            # A worker takes a second or more to start, so each gets more time than the last one.
            moment = time.monotonic() + choose.uniform(0.5, attempts)
            eventually(lambda moment=moment: not is_pending(remote) or time.monotonic() > moment)
            stack.kill("worker")
        wallet = remote.send("GET", f"{remote.path}/wallet").json
        assert wallet["address"] == body["address"]

    feed = remote.send("GET", f"{remote.path}/notifications?type=wallet.changed").json["data"]
    assert [each["data"]["address"] for each in feed] == [*OWNERS] * (CHANGES // 2)
    log = remote.send("GET", f"{remote.path}/audit-log?actor=worker").json["data"]
    assert [each["after"]["address"] for each in log] == [*reversed(OWNERS)] * (CHANGES // 2)
