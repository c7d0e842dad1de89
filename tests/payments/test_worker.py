"""The worker: what it finds on a real chain, and the results."""

from dataclasses import replace

import pytest

from tests.support.books import home_of
from tests.support.factories import PRICE, cli, worker_once
from ticketing.chain.answers import Block
from ticketing.models.chains import ChainState
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.payments import Payment
from ticketing.services.payments import booking, settlement
from tools import anvil

pytestmark = pytest.mark.sql


@pytest.fixture
def coarse_token(environ, node):
    """A chain outside the registry. Its token has 18 decimals."""
    environ["CONFIRMATIONS_777"] = "1"
    with anvil.Anvil(chain_id=777) as chain:
        token = anvil.deploy_token(chain.rpc, decimals=18)
        anvil.mint(chain.rpc, token, anvil.BUYER, 10**24)
        environ["RPC_URL_777"] = chain.url
        environ["TOKEN_ADDRESS_777"] = token
        yield chain


def test_a_payment_before_its_first_look_is_found(acme, node):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    node.rpc("anvil_mine", "0x64")
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"


def test_after_being_off_it_catches_up_in_ranges_without_skipping(acme, node, monkeypatch):
    monkeypatch.setattr("ticketing.chain.transfer_logs.BLOCKS_PER_RANGE", 50)
    ticket = acme.ticket(capacity=None)
    worker_once(acme.app)
    buyers = [acme.buyer(ticket) for _ in range(3)]
    for buyer in buyers:
        node.rpc("anvil_mine", hex(80))
        buyer.pay(node)
    worker_once(acme.app)
    assert {buyer.now()["status"] for buyer in buyers} == {"confirmed"}
    assert ChainState.get().block_number == int(node.rpc("eth_blockNumber"), 16)


def test_nothing_new_changes_nothing(acme, node):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    worker_once(acme.app)
    before = buyer.purchase().json
    worker_once(acme.app)
    worker_once(acme.app)
    assert buyer.purchase().json == before
    assert Payment.select().count() == 1


def test_it_expires_by_the_chains_time_and_releases_the_stock(acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket, quantity=2)
    worker_once(acme.app)
    assert buyer.now()["status"] == "awaiting_payment"
    node.rpc("evm_increaseTime", 901)
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    assert buyer.now()["status"] == "expired"
    assert acme.stock(ticket) == (0, 0)


def test_a_deadline_is_never_behind_the_chains_own_clock(acme, node):
    node.rpc("evm_increaseTime", 7200)
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    buyer = acme.buyer(acme.ticket())
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    assert buyer.now()["status"] == "awaiting_payment"


def test_processing_has_no_deadline_and_is_confirmed_by_depth(three_deep, acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    intent = buyer.now()
    assert (intent["status"], intent["confirmations"]) == ("processing", 1)
    assert acme.stock(ticket) == (1, 0)
    node.rpc("evm_increaseTime", 3600)
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    assert buyer.now()["status"] == "processing"
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"
    assert acme.stock(ticket) == (0, 1)


def test_two_transfers_to_one_address_count_both(acme, node):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node, PRICE - 1)
    buyer.pay(node, 1)
    worker_once(acme.app)
    intent = buyer.now()
    assert (intent["status"], intent["amount_received"]) == ("confirmed", PRICE)


def test_another_token_and_a_transfer_of_nothing_count_nothing(acme, node):
    buyer = acme.buyer(acme.ticket())
    other = anvil.deploy_token(node.rpc)
    anvil.mint(node.rpc, other, buyer.intent["address"], PRICE)
    buyer.pay(node, 0)
    worker_once(acme.app)
    assert buyer.now()["amount_received"] == 0
    at_home = Payment.account == home_of(buyer.intent["id"]).id
    assert not Payment.select().where(at_home).exists()


def test_an_impossible_amount_stops_nobody(acme, node):
    ticket = acme.ticket()
    buyer, other = acme.buyer(ticket), acme.buyer(ticket)
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, buyer.intent["address"], 2**200)
    other.pay(node)
    worker_once(acme.app)
    assert other.now()["status"] == "confirmed"
    assert buyer.now()["amount_received"] == 0


def test_a_payment_that_a_reorganization_removes_is_taken_back_out(three_deep, acme, node):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    worker_once(acme.app)
    snapshot = node.rpc("evm_snapshot")
    buyer.pay(node)
    worker_once(acme.app)
    assert buyer.now()["status"] == "processing"
    node.rpc("evm_revert", snapshot)
    node.rpc("anvil_mine", "0x5")
    worker_once(acme.app)
    intent = buyer.now()
    assert (intent["status"], intent["amount_received"]) == ("awaiting_payment", 0)
    assert intent["flags"] == ["reorged"]
    buyer.pay(node)
    node.rpc("anvil_mine", "0x5")
    worker_once(acme.app)
    assert buyer.now()["status"] == "confirmed"
    assert acme.stock(ticket) == (0, 1)


def test_a_token_of_18_decimals_is_converted_exactly(coarse_token, acme):
    ticket = acme.ticket(chain_id=777)
    answer = acme.preflight(ticket)
    assert (answer.status_code, answer.json["code"]) == (409, "not_payable")
    worker_once(acme.app)
    buyer = acme.buyer(ticket)
    assert buyer.intent["atomic_amount"] == PRICE * 10**12
    assert buyer.intent["payment_uri"].endswith(f"uint256={PRICE * 10**12}")
    buyer.pay(coarse_token, PRICE * 10**12 - 1)
    worker_once(acme.app)
    intent = buyer.now()
    assert (intent["status"], intent["amount_received"]) == ("awaiting_payment", PRICE - 1)
    buyer.pay(coarse_token, 1)
    worker_once(acme.app)
    intent = buyer.now()
    assert (intent["status"], intent["amount_received"]) == ("confirmed", PRICE)


def test_the_price_of_one_seat_must_be_exact_in_the_token(environ, node, signed_up, request):
    """Otherwise the refund of one seat could not be sent."""
    environ["CONFIRMATIONS_777"] = "1"
    with anvil.Anvil(chain_id=777) as chain:
        environ["RPC_URL_777"] = chain.url
        environ["TOKEN_ADDRESS_777"] = anvil.deploy_token(chain.rpc, decimals=2)
        acme = request.getfixturevalue("acme")
        worker_once(acme.app)
        halves = acme.ticket(chain_id=777, price_amount=5_000)
        answer = acme.preflight(halves, quantity=2)
        assert (answer.status_code, answer.json["code"]) == (409, "not_payable")
        whole = acme.ticket(chain_id=777, price_amount=10_000)
        assert acme.buyer(whole, quantity=2).intent["atomic_amount"] == 2


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"RPC_URL_1": "node"}, "the node serves chain 31337"),
        ({"TOKEN_ADDRESS_31337": "18 decimals"}, "its token has 18 decimals, not 6"),
        ({"TOKEN_ADDRESS_31337": "nothing"}, "there is no token at"),
    ],
)
def test_a_chain_that_differs_from_the_registry_is_refused(
    environ, node, request, variables, sentence
):
    values = {
        "node": lambda: node.url,
        "18 decimals": lambda: anvil.deploy_token(node.rpc, decimals=18),
        "nothing": lambda: "0x" + "12" * 20,
    }
    environ |= {name: values[value]() for name, value in variables.items()}
    acme = request.getfixturevalue("acme")
    assert sentence in cli(acme.app, "worker", "--once", exit_code=1)
    chain_id = 1 if "RPC_URL_1" in variables else 31337
    assert acme.preflight(acme.ticket(chain_id=chain_id)).json["code"] == "not_payable"
    enabled = acme.with_headers({}).get("/v1/chains").json["data"]
    assert chain_id not in [chain["chain_id"] for chain in enabled]


def test_free_orders_expire_by_the_clock(acme):
    ticket = acme.ticket(price_amount=0, chain_id=None)
    buyer = acme.buyer(ticket)
    intent = PaymentIntent.get()
    PaymentIntent.update(expires_at=intent.created_at).execute()
    settlement.expire_free()
    assert buyer.now()["status"] == "expired"
    assert acme.stock(ticket) == (0, 0)
    assert buyer.purchase().status_code == 410


def test_a_second_worker_that_has_read_the_same_range_changes_nothing(acme, node):
    worker_once(acme.app)
    chain = acme.app.extensions["ticketing"].chains[31337]
    node.rpc("anvil_mine", "0x1")
    cursor = ChainState.get()
    worker_once(acme.app)
    before = Block(cursor.block_number, cursor.block_hash, cursor.block_time)
    with pytest.raises(booking.CursorMoved):
        booking.book_range(chain, before, replace(before, number=before.number + 1), [], {})


def test_an_unreachable_chain_is_told_in_one_sentence_without_its_url(acme):
    said = cli(acme.app, "worker", "--once", exit_code=1)
    assert "chain 31337 cannot be read" in said
    assert "127.0.0.1" not in said
    assert "Traceback" not in said
