"""Gasless payments and real processes: copies at once, a crash, and the operator's facilitator."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.support.databases import only_once
from tests.support.factories import PRICE
from tests.support.gasless import address_of, signed
from tests.support.processes import variables_of
from tests.support.relayer import held
from tests.support.remote import eventually, in_process
from tests.support.x402 import BASE_SEPOLIA, TOKEN, USDC, Facilitator, put_usdc
from tools import anvil, local_facilitator
from tools.json_client import Client

pytestmark = pytest.mark.long

COPIES = 8


class Payer:
    """A buyer of one ticket, in processes of their own."""

    def __init__(self, remote, ticket):
        self.client = remote.client
        self.intent = remote.preflight(ticket).json
        self.headers = {"Authorization": f"Bearer {self.intent['client_secret']}"}
        checkout = remote.path.replace("/admin/", "/checkout/")
        self.order = f"{checkout}/intents/{self.intent['id']}"

    def move_to(self, stack):
        self.client = Client(stack.url)

    def signed(self):
        path = f"{self.order}/gasless?payer={address_of()}"
        return signed(self.client.send("GET", path, headers=self.headers).json["typed_data"])

    def send(self, body):
        return self.client.send("POST", f"{self.order}/gasless", body, self.headers)

    def is_confirmed(self):
        now = self.client.send("GET", self.order, headers=self.headers).json
        return now["status"] == "confirmed"


@pytest.fixture
def facilitator(node):
    with Facilitator(node) as running:
        yield running


@pytest.fixture
def variables(database_url, node, facilitator):
    more = {"PUBLIC_URL": "https://tickets.example.org"}
    more["X402_FACILITATOR_URL_31337"] = facilitator.url
    return variables_of(database_url, node.url, **more)


@pytest.fixture
def payer(stack, remote):
    in_process(stack, "worker", "--once")
    return Payer(remote, remote.ticket())


def test_copies_and_other_signatures_at_once_settle_once(stack, payer, facilitator, node):
    bodies = [payer.signed() for _ in range(COPIES // 2)] * 2
    assert len({each["nonce"] for each in bodies}) == 1
    stack.start_worker()
    with ThreadPoolExecutor(COPIES) as pool:
        answers = list(pool.map(payer.send, bodies))
    assert {each.status for each in answers} <= {200, 202, 503}
    eventually(payer.is_confirmed)
    assert len(facilitator.asked) == 1
    assert held(node, payer.intent["address"]) == PRICE


@pytest.mark.parametrize("mode", ["hang", "submit, then hang"])
def test_after_a_crash_while_it_settles_the_worker_pays_once(
    stack, remote, payer, facilitator, node, mode
):
    body = payer.signed()
    facilitator.mode = mode
    with ThreadPoolExecutor(1) as pool:
        cut = pool.submit(payer.send, body)
        eventually(lambda: len(facilitator.asked) == 1)
        stack.kill("web")
        assert cut.exception() is not None
    facilitator.mode = "submit"
    stack.start_web()
    remote.move_to(stack)
    payer.move_to(stack)
    assert payer.send(body).status == 202  # nobody signs again
    stack.start_worker()
    eventually(payer.is_confirmed)
    assert held(node, payer.intent["address"]) == PRICE


@only_once
class TestRealFacilitator:
    """tools/facilitator.py, as an operator runs it, on a copy of Base Sepolia."""

    @pytest.fixture
    def node(self, starts_processes):
        with anvil.Anvil(chain_id=BASE_SEPOLIA) as node:
            put_usdc(node)
            yield node

    @pytest.fixture
    def variables(self, database_url, node):
        with ExitStack() as running:
            url = local_facilitator.start(running, node.url, TOKEN)
            made = variables_of(database_url)
            del made["RPC_URL_31337"]
            yield {
                **made,
                f"RPC_URL_{BASE_SEPOLIA}": node.url,
                f"CONFIRMATIONS_{BASE_SEPOLIA}": "1",
                f"X402_FACILITATOR_URL_{BASE_SEPOLIA}": url,
                f"X402_FACILITATOR_TOKEN_{BASE_SEPOLIA}": TOKEN,
                "PUBLIC_URL": f"http://127.0.0.1:{made['PORT']}",
            }

    @pytest.fixture
    def payer(self, stack, remote):
        in_process(stack, "worker", "--once")
        return Payer(remote, remote.ticket(chain_id=BASE_SEPOLIA))

    def test_it_pays_what_is_due_and_the_payer_no_gas(self, stack, payer, node):
        gas = node.rpc("eth_getBalance", address_of(), "latest")
        answer = payer.send(payer.signed())
        assert answer.status in (200, 202), answer.json
        stack.start_worker()
        eventually(payer.is_confirmed)
        question = {"to": USDC, "data": f"0x70a08231{payer.intent['address'][2:].lower():0>64}"}
        assert int(node.rpc("eth_call", question, "latest"), 16) == PRICE
        assert node.rpc("eth_getBalance", address_of(), "latest") == gas
