"""Balances and collections through providers that limit what one request may ask for."""

import json
from functools import partial

import pytest

from tests.support import collecting
from tests.support.bad_node import BadNode
from tests.support.collecting import new_secret, recovery_file
from tests.support.provider.responses import GATEWAY_TIMEOUT, HttpFailure
from tests.support.receivers import COIN
from ticketing.chain import multicall
from ticketing.chain.errors import RpcLimited, RpcRefused, RpcSilent
from ticketing.chain.node import Node
from ticketing.chain.receivers import order_salt, receiver_address
from ticketing.chain.rpc import RpcClient
from tools.stack import ROOT

MULTICALL = json.loads((ROOT / "tools" / "contracts" / "TestMulticall.json").read_text())
HOLDERS = [f"0x{number:040x}" for number in range(2**64, 2**64 + 1202)]


@pytest.fixture
def provider(chain):
    """A provider in front of a node with Multicall3."""
    chain.rpc("anvil_setCode", multicall.ADDRESS, MULTICALL["runtime"])
    with BadNode(chain.node.url) as provider:
        yield provider
    chain.rpc("anvil_setCode", multicall.ADDRESS, "0x")


@pytest.fixture
def node(provider):
    return Node(RpcClient([provider.url]))


def pages_for_large_bodies(provider):
    """Answer with the page of a proxy that is not about the size."""
    real = provider.respond

    def respond(questions):
        return GATEWAY_TIMEOUT if len(json.dumps(questions)) > 60_000 else real(questions)

    provider.respond = respond


LIMITS = {
    "bodies": lambda provider: provider.max_body(100_000),
    "call data": lambda provider: provider.max_call_data(64 * 1024),
    "gas": lambda provider: provider.max_gas_of_calls_to(multicall.ADDRESS, 20_000),
    "aggregate3 reverts": lambda provider: provider.max_gas_of_calls_to(multicall.ADDRESS, 0),
    "a page": pages_for_large_bodies,
    "batches of 10": lambda provider: provider.max_batch(10),
}
TOO_MANY = {
    "429": {"how": "http", "status": 429, "message": "Too Many Requests"},
    "an error": {"message": "too many requests in one call", "code": -32005},
    "errors": {"how": "items", "message": "too many requests", "code": 429},
}
"""How a provider says that a batch is too large, as if it were about the rate."""


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("is_coin", [False, True], ids=["token", "coin"])
def test_balances_are_read_whatever_a_provider_limits(chain, token, node, provider, limit, is_coin):
    money = COIN if is_coin else token
    paid = {HOLDERS[place]: place + 1 for place in (0, 499, 500, 1201)}
    before = node.holdings(money, HOLDERS)
    chain.mint(money, *paid.items())
    LIMITS[limit](provider)
    found = Node(RpcClient([provider.url])).holdings(money, HOLDERS)
    assert found == [was + paid.get(each, 0) for each, was in zip(HOLDERS, before, strict=True)]


def test_the_size_that_works_is_kept_and_a_larger_one_tried_again(node, provider, token):
    provider.max_call_data(64 * 1024)
    node.balances(token, HOLDERS)
    provider.requests = 0
    node.balances(token, HOLDERS)
    assert provider.requests == 5  # 250 at once
    provider.well()
    for _ in range(3):
        node.balances(token, HOLDERS)
    provider.requests = 0
    node.balances(token, HOLDERS)
    assert provider.requests == 3  # 500 at once


def test_calls_that_are_asked_ahead_are_those_that_are_asked_then(node, provider, token):
    """Also after the size was halved: the worker puts them into one request with others."""
    provider.max_call_data(64 * 1024)
    assert node.balance_calls(token, HOLDERS) == []
    node.balances(token, HOLDERS)
    calls = node.balance_calls(token, HOLDERS)
    provider.requests = 0
    with node.asked_ahead(calls):
        held = node.balances(token, HOLDERS)
    assert (len(held), provider.requests) == (len(HOLDERS), 1)


def test_what_is_refused_for_one_address_too_is_no_matter_of_size(node, provider, token):
    """As for a block whose state the node does not have: it costs one request more."""
    node.balances(token, HOLDERS)
    provider.prune_state()
    provider.requests = 0
    with pytest.raises(RpcRefused):
        node.balances(token, HOLDERS, at="0x1")
    assert provider.requests == 2
    provider.well()
    provider.requests = 0
    node.balances(token, HOLDERS)
    assert provider.requests == 3


def test_a_node_that_is_silent_is_asked_for_less_next_time(node, provider, token, monkeypatch):
    monkeypatch.setattr("ticketing.chain.endpoint.SILENT_SECONDS", 0.0)
    node.balances(token, HOLDERS)
    provider.http(HttpFailure(200, b"[", {"Content-Length": "9"}))
    with pytest.raises(RpcSilent):
        node.balances(token, HOLDERS)
    provider.well()
    provider.requests = 0
    node.balances(token, HOLDERS)
    assert provider.requests == 5


@pytest.mark.parametrize("how", TOO_MANY)
def test_a_batch_is_halved_before_it_is_waited_for(provider, how):
    provider.max_batch(10, **TOO_MANY[how])
    rpc = RpcClient([provider.url])
    calls = [("eth_getBalance", [each, "latest"]) for each in HOLDERS[:100]]
    assert len(rpc.batch(calls)) == 100
    # Each refusal, and one call alone after it. Then 6 at once.
    assert provider.batches[:8] == [100, 1, 50, 1, 25, 1, 12, 1]
    assert set(provider.batches[8:16]) == {6}
    # After eight that passed, twice as many are tried again: the limit may have been one of rate.
    assert provider.batches[16:19] == [12, 1, 6]


def test_a_rate_that_is_reached_is_no_matter_of_size(provider, monkeypatch):
    monkeypatch.setattr("ticketing.chain.endpoint.FIRST_PAUSE_SECONDS", 0.0)
    rpc = RpcClient([provider.url])
    calls = [("eth_getBalance", [each, "latest"]) for each in HOLDERS[:100]]
    provider.max_rate(0)
    with pytest.raises(RpcLimited):
        rpc.batch(calls)
    assert provider.batches == [100, 1]
    provider.well()
    provider.batches.clear()
    assert len(rpc.batch(calls)) == 100
    assert provider.batches == [100]


class TestTheTool:
    """With nothing but the recovery file, it collects all through each of these providers."""

    @pytest.fixture
    def collects(self, chain, token, provider, tmp_path, capsys):
        owner, secret = chain.owner(), new_secret()
        paid = {1: 5, 700: 7, 1500: 11}
        for index, amount in paid.items():
            chain.mint(token, (receiver_address(owner, order_salt(secret, index)), amount))
        file = recovery_file(tmp_path, (owner, secret, 1))
        run = partial(collecting.run, tmp_path, capsys, provider.url, file, "--token", token)

        def collects():
            code, told = run("--gap", "1000")
            assert (code, chain.held(token, owner)) == (0, 23), told

        return collects

    @pytest.mark.parametrize("limit", LIMITS)
    def test_through_a_provider_that_limits(self, collects, provider, limit):
        LIMITS[limit](provider)
        collects()

    @pytest.mark.parametrize("how", TOO_MANY)
    def test_without_multicall_in_small_batches(self, collects, chain, provider, how, monkeypatch):
        """It does not wait once: the first limit that is taken for a rate would end it."""
        monkeypatch.setattr("tools.collect_sending.ATTEMPTS", 1)
        chain.rpc("anvil_setCode", multicall.ADDRESS, "0x")
        provider.max_batch(10, **TOO_MANY[how])
        collects()

    def test_at_a_rate_that_counts_each_item_of_a_batch(
        self, collects, chain, provider, monkeypatch
    ):
        """A batch of a hundred never passes."""
        monkeypatch.setattr("ticketing.chain.endpoint.FIRST_PAUSE_SECONDS", 0.1)
        monkeypatch.setattr("ticketing.chain.endpoint.LONGEST_PAUSE_SECONDS", 0.2)
        chain.rpc("anvil_setCode", multicall.ADDRESS, "0x")
        provider.max_rate(50, seconds=0.1, items=True)
        collects()

    def test_a_search_goes_on_after_a_limit_that_does_not_end(
        self, chain, token, provider, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.setattr("ticketing.chain.endpoint.FIRST_PAUSE_SECONDS", 0.0)
        monkeypatch.setattr("tools.collect_search.LOOKED_UP_AT_ONCE", 100)
        owner, secret = chain.owner(), new_secret()
        chain.mint(token, (receiver_address(owner, order_salt(secret, 900)), 5))
        file = recovery_file(tmp_path, (owner, secret, 1))
        state = tmp_path / "search.json"
        run = partial(collecting.run, tmp_path, capsys, provider.url, file, "--token", token)
        options = ("--gap", "1000", "--state", str(state))
        provider.max_rate(25)
        code, _ = run(*options)
        assert code.startswith("Error: the node's rate limit is reached")
        (stored,) = json.loads(state.read_text())["searches"].values()
        assert 500 < stored["next_index"] < 1900
        provider.well()
        provider.requests = 0
        assert run(*options)[0] == 0
        assert chain.held(token, owner) == 5
        assert provider.requests < 55  # from the beginning, it would be 8 more than these 49
