"""Who paid in a browser, as the page told it at once and the chain shows it: `wallet`."""

from datetime import timedelta

import pytest

from tests.support.credentials_table import bearer
from tests.support.elsewhere import paid_twice
from tests.support.factories import CHAIN, PRICE, Api, worker_once
from tests.support.payers import (
    ENOUGH_GAS,
    EXECUTOR,
    as_executor,
    is_looked_for,
    proven,
    proven_elsewhere,
    tell,
    told,
    try_again_now,
)
from tests.support.refunds import FRIEND, FRIEND_ADDRESS, HOUR, account, pay_from
from tests.support.stopped_clock import StoppedClock
from ticketing import clock, credentials
from ticketing.chain.errors import NotLinked
from ticketing.models.payment_reports import PaymentReport
from ticketing.models.payments import Payment
from ticketing.worker import payer_check
from tools import anvil
from tools.anvil import SECOND_CHAIN_ID as SECOND

WALLET = (anvil.BUYER, "wallet")
RELAYER = 2
EXCHANGE_NONCE = 10_000
BATCHER = "0x" + "63" * 20


@pytest.fixture
def buyer(acme, node):
    """A buyer whose chain the worker reads."""
    made = acme.buyer(acme.ticket(), buyer={"email": "ada@example.org"})
    worker_once(acme.app)
    return made


def block_time(node, tx_hash):
    number = node.rpc("eth_getTransactionReceipt", tx_hash)["blockNumber"]
    return int(node.rpc("eth_getBlockByNumber", number, False)["timestamp"], 16)


def executed(node, contract, buyer, sender=RELAYER, amount=PRICE):
    """Let a contract that has tokens pay for an order. Return the hash."""
    anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, contract, amount)
    data = anvil.transfer_data(buyer.intent["address"], amount)
    sent = {"to": contract, "data": data, "gas": ENOUGH_GAS}
    return anvil.send(node.rpc, sender, sent)["transactionHash"]


@pytest.mark.sql
@pytest.mark.parametrize("is_booked", [False, True], ids=["before", "after"])
def test_a_wallet_is_proven_if_the_page_told_it_before_or_after_it_was_booked(
    buyer, app, node, is_booked
):
    tx_hash = buyer.pay(node)
    if is_booked:
        worker_once(app)
        assert proven(buyer) is None
    tell(buyer, tx_hash)
    worker_once(app)
    assert proven(buyer) == WALLET and not is_looked_for(buyer)


def test_it_may_be_told_long_before_the_payment_is_in_a_block(buyer, app, node, monkeypatch):
    node.rpc("evm_setAutomine", False)
    data = anvil.transfer_data(buyer.intent["address"], PRICE)
    sent = {"from": anvil.BUYER, "to": anvil.TOKEN_ADDRESS, "data": data}
    tell(buyer, node.rpc("eth_sendTransaction", sent))
    worker_once(app)
    assert not is_looked_for(buyer)
    node.rpc("evm_increaseTime", HOUR // 2)
    node.rpc("anvil_mine", "0x1")
    worker_once(app)
    assert proven(buyer) == WALLET


@pytest.mark.parametrize(("seconds", "is_proven"), [(150, True), (200, False)])
def test_it_is_told_within_two_minutes_after_its_block_and_what_clocks_differ(
    buyer, app, node, monkeypatch, seconds, is_proven
):
    tx_hash = buyer.pay(node)
    with monkeypatch.context() as patch:
        stopped = StoppedClock(patch, clock.now())
        late = block_time(node, tx_hash) + seconds - stopped.now.timestamp()
        stopped.forward(seconds=late)
        tell(buyer, tx_hash)
    worker_once(app)
    try_again_now(buyer)
    worker_once(app)
    assert proven(buyer) == (WALLET if is_proven else None)
    assert not is_looked_for(buyer)


def test_nothing_is_proven_by_another_account_transaction_or_network(buyer, app, node):
    tx_hash = buyer.pay(node)
    tell(buyer, tx_hash, FRIEND_ADDRESS)
    tell(buyer, "0x" + "ab" * 32)
    tell(buyer, tx_hash, chain_id=SECOND)
    worker_once(app)
    assert proven(buyer) is None and not is_looked_for(buyer)


def test_a_payment_that_nobody_told_is_not_asked_about(bad_node, acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    buyer.pay(node)
    worker_once(acme.app)
    assert proven(buyer) is None
    assert bad_node.calls["eth_getTransactionByHash"] == 0


def test_an_account_with_ten_thousand_transactions_may_be_an_exchange(acme, app, node):
    account_ = account(node, FRIEND)
    for nonce, result in (
        (EXCHANGE_NONCE - 2, (FRIEND_ADDRESS, "wallet")),
        (EXCHANGE_NONCE, None),
    ):
        buyer = acme.buyer(acme.ticket())
        worker_once(app)
        anvil.mint(node.rpc, anvil.TOKEN_ADDRESS, account_, PRICE)
        node.rpc("anvil_setNonce", account_, hex(nonce))
        tell(buyer, pay_from(node, FRIEND, buyer, PRICE), FRIEND_ADDRESS)
        worker_once(app)
        assert proven(buyer) == result


@pytest.mark.sql
def test_an_account_that_pays_for_four_other_mailboxes_may_be_an_exchange(acme, app, node):
    ticket = acme.ticket()

    def paid(email):
        buyer = acme.buyer(ticket, buyer={"email": email} if email else {})
        worker_once(app)
        tell(buyer, buyer.pay(node))
        worker_once(app)
        return buyer

    mailboxes = ["a@example.org", "A@Example.org", None, "b@example.org", "c@example.org"]
    others = [paid(each) for each in mailboxes]
    assert [proven(each) for each in others] == [WALLET] * 5
    assert proven(paid("D@example.org")) == WALLET
    assert proven(paid("e@example.org")) is None
    # What was decided before stays. After 30 days the account has paid for nobody else.
    assert proven(others[0]) == WALLET
    long_ago = clock.now() - timedelta(days=30, minutes=5)
    for old, result in ((others[0], None), (others[1], WALLET)):
        Payment.update(block_time=long_ago).where(Payment.intent == old.intent["id"]).execute()
        assert proven(paid("e@example.org")) == result


def test_a_contract_that_pays_by_a_call_is_not_proven(buyer, app, node):
    as_executor(node)
    tx_hash = executed(node, EXECUTOR, buyer)
    tell(buyer, tx_hash, node.rpc("eth_getTransactionReceipt", tx_hash)["from"])
    tell(buyer, tx_hash, EXECUTOR)
    worker_once(app)
    assert buyer.now()["status"] == "confirmed"
    assert proven(buyer) is None and not is_looked_for(buyer)


@pytest.mark.parametrize(
    ("code", "is_proven"),
    [("0xef0100" + "63" * 20, True), ("0xef0100" + "63" * 21, False), ("0x00", False)],
    ids=["delegates", "odd code", "contract"],
)
def test_an_account_may_delegate_to_a_contract_and_not_be_one(
    bad_node, acme, node, code, is_proven
):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    tell(buyer, buyer.pay(node))

    def with_code(question, answer):
        is_asked = question["method"] == "eth_getCode" and question["params"][0] == anvil.BUYER
        return {**answer, "result": code} if is_asked else answer

    bad_node.rules.append(with_code)
    worker_once(acme.app)
    assert proven(buyer) == (WALLET if is_proven else None)
    assert not is_looked_for(buyer)


def test_a_delegated_account_proves_what_it_sends_and_not_what_a_bundler_sends(acme, app, node):
    as_executor(node, BATCHER)
    node.rpc("anvil_setCode", anvil.BUYER, "0xef0100" + BATCHER[2:])
    for sender, result in ((1, WALLET), (RELAYER, None)):
        buyer = acme.buyer(acme.ticket())
        worker_once(app)
        tell(buyer, executed(node, anvil.BUYER, buyer, sender))
        worker_once(app)
        assert buyer.now()["status"] == "confirmed"
        assert proven(buyer) == result


@pytest.mark.sql
@pytest.mark.parametrize(("percent", "result"), [(1, WALLET), (2, None)])
def test_one_account_must_have_paid_99_percent(buyer, app, node, percent, result):
    part = PRICE * percent // 100
    tell(buyer, buyer.pay(node, PRICE - part))
    pay_from(node, FRIEND, buyer, part)
    worker_once(app)
    assert proven(buyer) == result


def test_several_payments_of_one_account_add_up(buyer, app, node):
    hashes = [buyer.pay(node, PRICE // 2) for _ in range(2)]
    tell(buyer, hashes[0])
    worker_once(app)
    assert proven(buyer) is None
    tell(buyer, hashes[1])
    worker_once(app)
    assert proven(buyer) == WALLET


@pytest.mark.sql
def test_money_on_another_network_has_a_proof_of_its_own(shop, nodes_of):
    buyer = paid_twice(shop, nodes_of)
    payments = {each.chain_id: each.tx_hash for each in Payment.select()}
    tell(buyer, payments[SECOND], FRIEND_ADDRESS, SECOND)
    worker_once(shop.app)
    assert (proven(buyer), proven_elsewhere(buyer)) == (None, (FRIEND_ADDRESS, "wallet"))
    tell(buyer, payments[CHAIN], FRIEND_ADDRESS)
    worker_once(shop.app)
    assert proven(buyer) == (FRIEND_ADDRESS, "wallet")


def test_an_address_of_an_order_and_the_zero_address_are_nobody(acme, app, node, buyer):
    other = acme.buyer(acme.ticket())
    worker_once(app)
    tell(other, other.pay(node))
    worker_once(app)
    swept = other.intent["address"]
    node.rpc("anvil_impersonateAccount", swept)
    node.rpc("anvil_setBalance", swept, hex(10**18))
    data = anvil.transfer_data(buyer.intent["address"], PRICE)
    sent = {"from": swept, "to": anvil.TOKEN_ADDRESS, "data": data}
    tell(
        buyer,
        anvil.mined(node.rpc, node.rpc("eth_sendTransaction", sent))["transactionHash"],
        swept,
    )
    worker_once(app)
    assert Payment.get(Payment.intent == buyer.intent["id"]).proven == "wallet"
    assert proven(buyer) is None
    Payment.update(sender="0x" + "0" * 40).where(Payment.intent == other.intent["id"]).execute()
    assert proven(other) is None


def test_a_payment_proves_nothing_before_it_is_final(three_deep, acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    tell(buyer, buyer.pay(node))
    worker_once(acme.app)
    assert buyer.now()["status"] == "processing"
    assert proven(buyer) is None and is_looked_for(buyer)
    node.rpc("anvil_mine", "0x2")
    worker_once(acme.app)
    assert proven(buyer) == WALLET


@pytest.mark.sql
def test_a_reorganization_takes_a_proof_back_until_the_payment_is_final_again(
    three_deep, acme, node
):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    node.rpc("anvil_mine", "0x3")
    tx_hash = buyer.pay(node)
    transaction = node.rpc("eth_getRawTransactionByHash", tx_hash)
    tell(buyer, tx_hash)
    node.rpc("anvil_mine", "0x2")
    worker_once(acme.app)
    assert proven(buyer) == WALLET
    node.rpc("anvil_reorg", 3, [])
    node.rpc("anvil_mine", "0x1")
    worker_once(acme.app)
    payment = Payment.get()
    assert (payment.canonical, payment.proven, payment.proof_due_at) == (False, None, None)
    assert proven(buyer) is None
    node.rpc("eth_sendRawTransaction", transaction)
    worker_once(acme.app)
    assert proven(buyer) is None and is_looked_for(buyer)
    node.rpc("anvil_mine", "0x3")
    worker_once(acme.app)
    assert proven(buyer) == WALLET


def nobody(question, answer):
    return {**answer, "result": None}


def refused(question, answer):
    error = {"code": -32601, "message": "no such method"}
    return {"jsonrpc": "2.0", "id": question["id"], "error": error}


def changed(**fields):
    def change(question, answer):
        return {**answer, "result": {**answer["result"], **fields}}

    return change


ODD = {
    "lacks it": nobody,
    "refuses": refused,
    "not an object": lambda question, answer: {**answer, "result": "0x"},
    "waits": changed(blockHash=None),
    "another block": changed(blockHash="0x" + "ab" * 32),
    "another hash": changed(hash="0x" + "ab" * 32, transactionHash="0x" + "ab" * 32),
    "another sender": changed(**{"from": FRIEND_ADDRESS}),
    "no sender": changed(**{"from": None}),
}


@pytest.mark.usefixtures("unforgetting")
@pytest.mark.parametrize("method", ["eth_getTransactionByHash", "eth_getTransactionReceipt"])
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_node_that_lags_or_lies_delays_and_loses_nothing(bad_node, acme, node, odd, method):
    buyer, other = (acme.buyer(acme.ticket()) for _ in range(2))
    worker_once(acme.app)
    lost = buyer.pay(node)
    tell(buyer, lost)
    tell(other, other.pay(node))

    def rule(question, answer):
        is_lost = question["method"] == method and question["params"] == [lost]
        return odd(question, answer) if is_lost else answer

    bad_node.rules.append(rule)
    worker_once(acme.app)
    assert proven(buyer) is None and is_looked_for(buyer)
    assert proven(other) == WALLET
    bad_node.well()
    worker_once(acme.app)
    assert proven(buyer) is None  # it is not asked about again at once
    try_again_now(buyer)
    worker_once(acme.app)
    assert proven(buyer) == WALLET


def test_a_node_on_another_fork_is_not_believed(bad_node, acme, node):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    tx_hash = buyer.pay(node)
    worker_once(acme.app)
    tell(buyer, tx_hash)
    bad_node.fork(1)
    config = acme.app.extensions["ticketing"]
    with pytest.raises(NotLinked):
        payer_check.ask(config.chains[CHAIN], config)
    assert proven(buyer) is None and is_looked_for(buyer)


@pytest.mark.parametrize(
    ("kind", "is_proven"), [("0x0", True), ("0x4", True), ("0x7e", False), ("0x64", False)]
)
def test_a_transaction_that_needs_no_key_is_not_proven(bad_node, acme, node, kind, is_proven):
    buyer = acme.buyer(acme.ticket())
    worker_once(acme.app)
    tell(buyer, buyer.pay(node))

    def rule(question, answer):
        is_asked = question["method"] == "eth_getTransactionByHash"
        return changed(type=kind)(question, answer) if is_asked else answer

    bad_node.rules.append(rule)
    worker_once(acme.app)
    assert proven(buyer) == (WALLET if is_proven else None)
    assert not is_looked_for(buyer)


def test_ten_payments_of_an_order_can_be_told_and_repeats_do_not_count(buyer):
    hashes = [f"0x{number:064x}" for number in range(11)]
    for each in hashes[:10] * 2:
        tell(buyer, each)
    refused = told(buyer, hashes[10])
    assert (refused.status_code, refused.json["code"]) == (409, "too_many_payers")
    assert PaymentReport.select().count() == 10
    tell(buyer, hashes[0])


def test_what_is_told_must_be_written_well(buyer):
    body = {"account": anvil.BUYER, "tx_hash": "0x" + "ab" * 32, "chain_id": CHAIN}
    for wrong in (
        {"account": anvil.BUYER.swapcase()},
        {"account": "ada.eth"},
        {"tx_hash": "0x" + "AB" * 32},
        {"tx_hash": "0xab"},
        {"chain_id": 0},
        {"chain_id": "1"},
        {"nonce": 1},
    ):
        answer = buyer.api.post(f"{buyer.path}/payers", {**body, **wrong})
        assert (answer.status_code, answer.json["code"]) == (422, "invalid_request"), wrong
    assert PaymentReport.select().count() == 0
    tell(buyer, "0x" + "ab" * 32, anvil.BUYER.lower())
    assert PaymentReport.get().account == anvil.BUYER


def test_nobody_pays_for_a_free_order(acme, node):
    free = acme.buyer(acme.ticket(price_amount=0, chain_id=None))
    assert told(free, "0x" + "ab" * 32).status_code == 404


def test_who_has_the_payment_link_can_tell_and_another_order_cannot(acme, app, buyer):
    keyring = app.extensions["ticketing"].keyring
    body = {"account": anvil.BUYER, "tx_hash": "0x" + "ab" * 32, "chain_id": CHAIN}
    pay_secret = credentials.pay_secret(keyring.current, buyer.intent["id"], 0)
    friend = Api(app.test_client(), bearer(pay_secret))
    assert friend.post(f"{buyer.path}/payers", body).status_code == 204
    stranger = acme.buyer(acme.ticket())
    assert stranger.api.post(f"{buyer.path}/payers", body).status_code == 404
    assert Api(app.test_client()).post(f"{buyer.path}/payers", body).status_code == 401


def test_what_was_told_is_erased_with_the_buyer_and_the_proof_stays(acme, app, buyer, node):
    tell(buyer, buyer.pay(node))
    worker_once(app)
    erased = acme.api().post(f"{acme.path}/intents/{buyer.intent['id']}/erase")
    assert erased.status_code in (200, 204), erased.json
    assert PaymentReport.select().count() == 0
    assert proven(buyer) == WALLET
