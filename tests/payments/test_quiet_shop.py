"""How often a shop asks its nodes while nobody orders, and how soon it wakes up.

Real proxies in front of a node count HTTP requests. The test moves the clock.
"""

import json
import time
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.support.bad_node import BadNode
from tests.support.books import home_of
from tests.support.factories import CHAIN, PRICE
from tests.support.payouts import OWNER, fund, listed, owed, sign, with_address
from tests.support.processes import variables_of
from tests.support.receivers import Chain, gathering
from tests.support.refunds import account
from tests.support.remote import eventually
from tests.support.stopped_clock import StoppedClock
from ticketing import clock
from ticketing.chain import multicall, receivers
from ticketing.chain.errors import RpcError
from ticketing.chain.node import connect
from ticketing.models.collections import Collection
from ticketing.models.order_accounts import OrderAccount
from ticketing.models.payment_intents import IS_HOME, PaymentIntent
from ticketing.models.unassigned_money import SkippedIndexes, UnassignedMoney
from ticketing.models.wallets import Wallet
from ticketing.services.wallets import issuing
from ticketing.worker.chain_tasks import CHAIN_TASKS
from ticketing.worker.watcher import QUIET, Watcher
from tools import anvil

pytestmark = pytest.mark.exhaustive

OTHER_CHAINS = (31338, 90001, 90002)
WAKES_WITHIN = 2.0
POLL_SECONDS = BLOCK_SECONDS = 2
MULTICALL = Path(anvil.__file__).parent / "contracts" / "TestMulticall.json"


class QuietShop:
    """A worker's watchers of several chains, one node behind all of them, and a stopped clock."""

    def __init__(self, app, node, stopped, proxies):
        self.app, self.proxies = app, proxies
        self._node, self.stopped, self.failed = node, stopped, 0
        self._config = app.extensions["ticketing"]
        every = timedelta(seconds=POLL_SECONDS)
        self._watchers = [Watcher(each, every=every) for each in self._config.chains.values()]

    def pass_seconds(self, seconds, tick=BLOCK_SECONDS):
        """Run what the worker's threads run, every `tick`, after a new block."""
        for _ in range(0, seconds, tick):
            self.stopped.forward(seconds=tick)
            self.mine()
            for watcher in self._watchers:
                self._run(watcher.look_if_due)
                self._run(watcher.sweep)
                self._run(watcher.check_refunds)
                for _, task in CHAIN_TASKS:
                    self._run(partial(task, watcher.chain, self._config))

    def _run(self, task):
        try:
            task()
        except RpcError:
            self.failed += 1

    def pass_days(self, days):
        """Let the worker see that days have passed."""
        self.stopped.forward(days=days)
        self.mine()
        self.pass_seconds(60)

    def mine(self):
        self._node.rpc("evm_setNextBlockTimestamp", int(self.stopped.now.timestamp()))
        self._node.rpc("anvil_mine", "0x1")

    def requests_of(self, minutes):
        """Return the number of HTTP requests to each chain in some minutes."""
        before = [each.requests for each in self.proxies]
        self.pass_seconds(60 * minutes)
        return [each.requests - old for each, old in zip(self.proxies, before, strict=True)]


@pytest.fixture
def proxies(node, environ):
    """One node that four chains ask, each through a proxy of its own."""
    with ExitStack() as running:
        made = [running.enter_context(BadNode(node.url)) for _ in (CHAIN, *OTHER_CHAINS)]
        for chain_id, proxy in zip((CHAIN, *OTHER_CHAINS), made, strict=True):
            proxy.answer("eth_chainId", hex(chain_id))
            environ[f"RPC_URL_{chain_id}"] = proxy.url
            environ[f"TOKEN_ADDRESS_{chain_id}"] = anvil.TOKEN_ADDRESS
        node.rpc("anvil_setCode", multicall.ADDRESS, json.loads(MULTICALL.read_text())["runtime"])
        connect.cache_clear()
        yield made


@pytest.fixture
def chain(node):
    """The node, with the factory."""
    return Chain(node)


@pytest.fixture
def stopped(node, monkeypatch):
    head = int(node.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
    return StoppedClock(monkeypatch, clock.now().fromtimestamp(head + 1, clock.now().tzinfo))


@pytest.fixture
def shop(app, node, stopped, proxies):
    """All chains but the first: nothing was ever sold there."""
    return QuietShop(app, node, stopped, proxies)


@pytest.fixture
def venue(proxies, chain, app, node, stopped):
    """An organizer whose orders are paid to receivers. Named before `shop`: it uses the app."""
    return with_address(app, node)


def collect(chain, buyer):
    """Collect an order, as a stranger."""
    intent = PaymentIntent.get_by_id(buyer.intent["id"])
    salt = receivers.order_salt(bytes.fromhex(intent.wallet.secret), intent.address_index)
    chain.collect(intent.wallet.owner, anvil.TOKEN_ADDRESS, [salt])


def collected_at_home():
    """One node is behind all chains: on the others, the same money is a stray."""
    return Collection.select().join(OrderAccount).join(PaymentIntent).where(IS_HOME).count()


def test_four_quiet_chains_get_twelve_requests_a_minute_and_nothing_is_missed(
    venue, shop, chain, node
):
    ada, bob = owed(venue, node, 7, 9)
    fund(node, 20)
    of_list = listed(venue, node)
    shop.pass_days(2)
    # Two sold orders with money, a list that can still be signed, receivers without an order.
    swept = home_of(ada.intent["id"]).swept_at
    assert shop.requests_of(2) == [6, 6, 6, 6]
    assert home_of(ada.intent["id"]).swept_at > swept

    collect(chain, ada)
    sign(node, of_list)
    shop.pass_seconds(2 * QUIET.seconds + POLL_SECONDS)
    assert collected_at_home() == 1
    assert [each.now()["refund_due"] for each in (ada, bob)] == [0, 0]
    assert shop.requests_of(1) == [3, 3, 3, 3]
    assert not shop.failed


def test_the_first_order_wakes_the_worker_at_its_next_look_into_the_database(venue, shop, node):
    ticket = venue.ticket()
    shop.pass_days(2)
    shop.pass_seconds(5)
    asked = shop.proxies[0].requests
    buyer = venue.buyer(ticket)
    assert shop.proxies[0].requests == asked
    shop.pass_seconds(1, tick=1)
    assert shop.proxies[0].requests > asked
    buyer.pay(node)
    shop.pass_seconds(POLL_SECONDS)
    assert buyer.now()["status"] == "confirmed"


def test_an_hour_later_the_same_requests_read_what_belongs_to_no_order(venue, shop, node):
    shop.pass_seconds(60)
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, gathering(account(node, OWNER)), PRICE)
    shop.stopped.forward(hours=1)
    assert shop.requests_of(1) == [3, 3, 3, 3]
    assert {each.chain_id for each in UnassignedMoney.select()} == {CHAIN, *OTHER_CHAINS}


def test_after_a_restore_the_other_pages_of_that_are_read_at_once(venue, shop, node):
    wallet = Wallet.get(Wallet.owner.is_null(False))
    SkippedIndexes.create(wallet=wallet, first=2, next=1500, skipped_at=clock.now())
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, issuing.address_of(wallet, 1499), PRICE)
    shop.pass_seconds(60)
    UnassignedMoney.delete().execute()
    shop.stopped.forward(hours=1)
    shop.pass_seconds(10)
    assert {each.chain_id for each in UnassignedMoney.select()} == {CHAIN, *OTHER_CHAINS}


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(lambda proxy: proxy.max_batch(3), id="batches of three"),
        pytest.param(lambda proxy: proxy.max_batch(1, how="http"), id="no batches"),
        pytest.param(lambda proxy: proxy.prune_state(), id="no state of a block"),
        pytest.param(lambda proxy: proxy.refuse("eth_getLogs"), id="no logs for a while"),
    ],
)
def test_a_node_that_refuses_the_one_request_is_read_as_usual(venue, shop, chain, node, trouble):
    (ada,) = owed(venue, node, 7)
    shop.pass_days(2)
    trouble(shop.proxies[0])
    collect(chain, ada)
    shop.pass_seconds(90)
    shop.proxies[0].well()
    shop.proxies[0].answer("eth_chainId", hex(CHAIN))
    shop.pass_seconds(3 * QUIET.seconds)
    assert collected_at_home() == 1
    intent = PaymentIntent.get_by_id(ada.intent["id"])
    assert shop.stopped.now - intent.home.swept_at < timedelta(seconds=120)


def test_a_late_payment_is_noticed_without_orders_and_so_is_its_removal(venue, shop, node):
    buyer = venue.buyer(venue.ticket())
    shop.stopped.forward(hours=1)
    shop.mine()
    shop.pass_seconds(10)
    assert buyer.now()["status"] == "expired"
    buyer.pay(node)
    shop.pass_seconds(2 * QUIET.seconds)
    assert buyer.now()["amount_received"] == PRICE
    node.rpc("anvil_reorg", QUIET.seconds + 4, [])
    shop.pass_seconds(2 * QUIET.seconds)
    assert buyer.now()["amount_received"] == 0
    assert shop.failed <= 1


class TestOfProcesses:
    """The web server sells, and the worker is another process."""

    @pytest.fixture
    def proxy(self, node):
        with BadNode(node.url) as proxy:
            yield proxy

    @pytest.fixture
    def variables(self, database_url, proxy):
        return variables_of(database_url, proxy.url, POLL_SECONDS="12")

    def test_the_first_order_wakes_the_worker_within_two_seconds(self, proxy, stack, remote):
        ticket = remote.ticket()
        stack.start_worker()
        eventually(lambda: remote.ready()["chains"][0]["block_number"] is not None)
        # Its next look without an order is 20 s later.
        asked = proxy.calls["eth_getBlockByNumber"]
        order = remote.preflight(ticket)
        began = time.monotonic()
        assert order.status == 201, order.json
        eventually(lambda: proxy.calls["eth_getBlockByNumber"] > asked)
        assert time.monotonic() - began < WAKES_WITHIN
