"""Unmodified clients at pinned versions, and tools/facilitator.py, on a copy of Base Sepolia."""

import asyncio
import json
from contextlib import ExitStack
from types import SimpleNamespace

import httpx2
import pytest
import requests
from eth_account import Account
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from x402 import x402Client, x402ClientSync
from x402.http.clients import x402_http_adapter
from x402.mcp.client_async import x402MCPClient
from x402.mechanisms.evm.exact import register_exact_evm_client

from tests.support.databases import only_once
from tests.support.factories import PRICE
from tests.support.processes import variables_of
from tests.support.refunds import account
from tests.support.remote import RemoteOrganizer, in_process
from tests.support.x402 import BASE_SEPOLIA, BUYER_KEY, TOKEN, decoded, put_usdc
from ticketing.chain.registry import REGISTRY
from tools import agent, anvil, local_facilitator

pytestmark = pytest.mark.long

BASE = 8453


@pytest.fixture
def sepolia(starts_processes):
    """A chain with the id of Base Sepolia, and the test token at the address of its USDC."""
    with anvil.Anvil(chain_id=BASE_SEPOLIA) as node:
        put_usdc(node)
        yield node


@pytest.fixture
def facilitator_url(sepolia):
    """tools/facilitator.py, as an operator runs it."""
    with ExitStack() as running:
        yield local_facilitator.start(running, sepolia.url, TOKEN)


@pytest.fixture
def variables(database_url, sepolia, facilitator_url):
    made = variables_of(database_url, f"{sepolia.url}")
    del made["RPC_URL_31337"]
    return {
        **made,
        f"RPC_URL_{BASE_SEPOLIA}": sepolia.url,
        f"CONFIRMATIONS_{BASE_SEPOLIA}": "1",
        f"X402_FACILITATOR_URL_{BASE_SEPOLIA}": facilitator_url,
        f"X402_FACILITATOR_TOKEN_{BASE_SEPOLIA}": TOKEN,
        "PUBLIC_URL": f"http://127.0.0.1:{made['PORT']}",
    }


@pytest.fixture
def remote(stack, sepolia):
    """An organizer whose wallet is an address: a price is named first, then it is ordered."""
    chains = (BASE_SEPOLIA, BASE)
    return RemoteOrganizer(stack, "clients", address=account(sepolia, 5), chain_ids=chains)


@pytest.fixture
def url(stack, remote):
    ticket = remote.ticket(capacity=100, chain_id=BASE_SEPOLIA)
    in_process(stack, "worker", "--once")
    slug = remote.path.rpartition("/")[2]
    return f"{stack.url}/v1/x402/tenants/{slug}/tickets/{ticket['id']}/orders"


def _codes(sale):
    return {each["code"] for each in sale["admissions"]}


@only_once
def test_the_npm_client_buys_one_and_two_tickets(url):
    with pytest.raises(agent.AgentRefused, match=r"spendControls\.maxAmountPerPayment \(\$1"):
        agent.buy(url, BUYER_KEY)
    for quantity in (None, 2):
        bought = agent.buy(url, BUYER_KEY, quantity=quantity, limit="$50")
        assert bought["status"] == 200, bought
        assert len(_codes(bought["body"])) == (quantity or 1)
        assert bought["receipt"]["payer"] == anvil.BUYER
        assert bought["receipt"]["network"] == f"eip155:{BASE_SEPOLIA}"


def _session(key=BUYER_KEY, networks=None, **controls):
    client = x402ClientSync()
    register_exact_evm_client(client, Account.from_key(key), networks=networks)
    if controls:
        client.set_spend_controls(controls)
    session = requests.Session()
    session.mount("http://", x402_http_adapter(client))
    return session


@only_once
def test_the_python_client_buys_one_and_two_tickets(url):
    with _session(max_amount_per_payment="$50") as session:
        for quantity in (1, 2):
            bought = session.post(url, json={"quantity": quantity})
            assert bought.status_code == 200, bought.text
            assert len(_codes(bought.json())) == quantity
    with _session() as careful, pytest.raises(Exception, match="max_amount_per_payment"):
        careful.post(url)


class _Session:
    """The client of PyPI's `mcp`, as x402's client for MCP calls one."""

    def __init__(self, client):
        self._client = client

    async def call_tool(self, params, **_):
        meta = params.get("_meta")
        found = await self._client.call_tool(params["name"], params["arguments"], meta=meta)
        return SimpleNamespace(**found.model_dump(by_alias=True))


@only_once
def test_the_python_client_for_mcp_buys_in_the_call(stack, url):
    payments = x402Client()
    register_exact_evm_client(payments, Account.from_key(BUYER_KEY))
    payments.set_spend_controls({"max_amount_per_payment": "$50"})
    tenant, ticket_id = url.split("/")[-4], url.split("/")[-2]
    event = requests.get(url, timeout=10).json()["offer"]["event_id"]
    wanted = {"tenant": tenant, "event_id": event, "ticket_id": ticket_id, "quantity": 2}

    async def buy():
        async with (
            httpx2.AsyncClient() as http,
            Client(streamable_http_client(f"{stack.url}/mcp", http_client=http)) as client,
        ):
            return await x402MCPClient(_Session(client), payments).call_tool("buy_ticket", wanted)

    bought = asyncio.run(buy())
    assert bought.payment_made and not bought.is_error, bought.content
    assert bought.payment_response.success
    sale = json.loads(bought.content[0]["text"])
    assert sale["status"] == "confirmed" and len(_codes(sale)) == 2


class TestTwoNetworks:
    """A ticket type of two networks, each with a chain and a facilitator of its own."""

    @pytest.fixture
    def base(self, starts_processes):
        """A chain with the id of Base."""
        with anvil.Anvil(chain_id=BASE) as node:
            put_usdc(node, REGISTRY[BASE].token_address)
            yield node

    @pytest.fixture
    def variables(self, variables, base):
        with ExitStack() as running:
            yield {
                **variables,
                f"RPC_URL_{BASE}": base.url,
                f"CONFIRMATIONS_{BASE}": "1",
                f"X402_FACILITATOR_URL_{BASE}": local_facilitator.start(running, base.url, TOKEN),
                f"X402_FACILITATOR_TOKEN_{BASE}": TOKEN,
            }

    @pytest.fixture
    def url(self, stack, remote):
        ticket = remote.ticket(capacity=100, chain_ids=[BASE_SEPOLIA, BASE])
        in_process(stack, "worker", "--once")
        slug = remote.path.rpartition("/")[2]
        return f"{stack.url}/v1/x402/tenants/{slug}/tickets/{ticket['id']}/orders"

    def test_a_client_with_money_on_the_second_one_only_pays_there(self, url, base):
        payer = Account.create()
        anvil.mint(base.rpc, REGISTRY[BASE].token_address, payer.address, PRICE)
        key, limit = payer.key.hex(), "$50"
        with _session(key, f"eip155:{BASE}", max_amount_per_payment=limit) as session:
            bought = session.post(url)
        assert bought.status_code == 200, bought.text
        assert (bought.json()["chain_id"], len(_codes(bought.json()))) == (BASE, 1)
        receipt = decoded(bought.headers["PAYMENT-RESPONSE"])
        assert (receipt["network"], receipt["payer"]) == (f"eip155:{BASE}", payer.address)

    @only_once
    def test_the_npm_client_pays_on_the_first_one(self, url):
        bought = agent.buy(url, BUYER_KEY, limit="$50")
        assert (bought["status"], bought["body"]["chain_id"]) == (200, BASE_SEPOLIA), bought


def test_the_facilitator_wants_its_token(facilitator_url):
    assert requests.post(f"{facilitator_url}/settle", json={}).status_code == 401
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert requests.post(f"{facilitator_url}/settle", json={}, headers=headers).status_code == 400
