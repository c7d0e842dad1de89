"""Who signed the transfer that paid an order, as the token says: `signer`."""

import pytest

from tests.support.factories import PRICE, worker_once
from tests.support.gasless import address_of, signed
from tests.support.payers import (
    ENOUGH_GAS,
    LIAR,
    as_executor,
    as_liar,
    is_looked_for,
    proven,
    tell,
)
from tests.support.refunds import FRIEND, pay_from
from tests.support.x402 import RELAYER, calldata, required
from ticketing.models.payments import Payment
from tools import anvil

SIGNER = (anvil.BUYER, "signer")
APPROVE, TRANSFER_FROM = "0x095ea7b3", "0x23b872dd"


@pytest.fixture
def buyer(acme, ticket):
    return acme.buyer(ticket, buyer={"email": "ada@example.org"})


def to_sign(buyer):
    answer = buyer.api.get(f"{buyer.path}/gasless?payer={address_of()}")
    assert answer.status_code == 200, answer.json
    return answer.json["typed_data"]


def pay_signed(buyer, **changes):
    """Pay with a signature, as the page does."""
    answer = buyer.api.post(f"{buyer.path}/gasless", signed(to_sign(buyer), **changes))
    assert answer.status_code == 200, answer.json


def submitted(node, body):
    """Submit a signed transfer without the service. Return the hash."""
    payload = {"authorization": body, "signature": body["signature"]}
    call = {"to": anvil.TOKEN_ADDRESS, "data": calldata(payload)}
    return anvil.send(node.rpc, RELAYER, call)["transactionHash"]


def words(*values):
    return "".join(each[2:].lower().rjust(64, "0") for each in values)


def allow(node, spender):
    data = APPROVE + words(spender, hex(PRICE))
    anvil.send(node.rpc, 1, {"to": anvil.TOKEN_ADDRESS, "data": data})


def moved(node, contract, buyer, amount=PRICE):
    """Let a contract move the payer's tokens to an order, by an allowance. Return the hash."""
    data = TRANSFER_FROM + words(anvil.BUYER, buyer.intent["address"], hex(amount))
    sent = {"to": contract, "data": data, "gas": ENOUGH_GAS}
    return anvil.send(node.rpc, RELAYER, sent)["transactionHash"]


@pytest.mark.sql
def test_who_signed_for_the_order_is_proven_without_being_told(app, buyer):
    pay_signed(buyer)
    assert proven(buyer) is None and is_looked_for(buyer)
    worker_once(app)
    assert proven(buyer) == SIGNER and not is_looked_for(buyer)


def test_an_agent_that_signed_a_nonce_of_its_own_is_proven_by_its_claim(
    app, api, path, wallet, acme
):
    asked = required(api.post(path))
    answer = api.post(path, headers=wallet.header(asked))
    assert answer.json["status"] == "confirmed"
    worker_once(app)
    assert Payment.get().proven == "signer"


def test_a_signature_that_the_payer_submits_is_recognized_by_its_nonce(app, buyer, node):
    tx_hash = submitted(node, signed(to_sign(buyer)))
    worker_once(app)
    assert proven(buyer) is None and not is_looked_for(buyer)
    tell(buyer, tx_hash)
    worker_once(app)
    assert proven(buyer) == SIGNER


def test_so_is_one_for_the_rest_after_a_part(app, buyer, node):
    tell(buyer, buyer.pay(node, 1_000_000))
    worker_once(app)
    tell(buyer, submitted(node, signed(to_sign(buyer))))
    worker_once(app)
    assert [each.proven for each in Payment.select().order_by(Payment.block_number)] == [
        "wallet",
        "signer",
    ]
    # It takes both to reach 99 percent, and the weaker one counts.
    assert proven(buyer) == (anvil.BUYER, "wallet")


@pytest.mark.parametrize("whose", ["somebody's", "another order's"])
def test_a_nonce_that_is_not_of_this_order_proves_nothing(app, acme, ticket, buyer, node, whose):
    asked = to_sign(buyer)
    other = acme.buyer(ticket)
    nonce = "0x" + "ab" * 32 if whose == "somebody's" else to_sign(other)["message"]["nonce"]
    tell(buyer, submitted(node, signed(asked, nonce=nonce)))
    worker_once(app)
    assert buyer.now()["status"] == "confirmed"
    assert proven(buyer) is None and not is_looked_for(buyer)


def test_a_contract_that_signed_is_proven(app, buyer, node):
    pay_signed(buyer)
    as_executor(node, anvil.BUYER)
    worker_once(app)
    assert proven(buyer) == SIGNER


def test_what_another_contract_says_about_a_signature_proves_nothing(app, buyer, node):
    as_liar(node, anvil.BUYER, to_sign(buyer)["message"]["nonce"])
    allow(node, LIAR)
    tx_hash = moved(node, LIAR, buyer)
    topics = [len(each["topics"]) for each in logs_of(node, tx_hash)]
    assert topics == [3, 3]  # AuthorizationUsed of the liar, Transfer of the token
    tell(buyer, tx_hash)
    worker_once(app)
    assert buyer.now()["status"] == "confirmed"
    assert proven(buyer) is None and not is_looked_for(buyer)


def logs_of(node, tx_hash):
    return node.rpc("eth_getTransactionReceipt", tx_hash)["logs"]


@pytest.mark.sql
@pytest.mark.parametrize(("percent", "result"), [(1, SIGNER), (2, None)])
def test_another_payer_may_add_a_hundredth(app, buyer, node, percent, result):
    pay_signed(buyer)
    # 2 percent of what is received then.
    pay_from(node, FRIEND, buyer, PRICE * percent // (100 - percent))
    worker_once(app)
    assert proven(buyer) == result


def test_before_the_payment_was_final_nobody_is_proven(three_deep, app, buyer, node):
    answer = buyer.api.post(f"{buyer.path}/gasless", signed(to_sign(buyer)))
    assert answer.status_code in (200, 202)
    worker_once(app)
    assert proven(buyer) is None and is_looked_for(buyer)
    node.rpc("anvil_mine", "0x3")
    worker_once(app)
    assert proven(buyer) == SIGNER


def test_a_reorganization_takes_it_back(app, buyer, node):
    node.rpc("anvil_mine", "0x3")
    pay_signed(buyer)
    worker_once(app)
    assert proven(buyer) == SIGNER
    transaction = node.rpc("eth_getRawTransactionByHash", Payment.get().tx_hash)
    node.rpc("anvil_reorg", 2, [])
    worker_once(app)
    assert proven(buyer) is None
    node.rpc("eth_sendRawTransaction", transaction)
    node.rpc("anvil_mine", "0x1")
    worker_once(app)
    assert proven(buyer) == SIGNER
