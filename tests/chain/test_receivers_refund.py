"""Refunds: from the caller's own wallet, each id of a caller once, all of a list or nothing."""

import secrets

import pytest
from eth_abi import decode

from tests.support.receivers import (
    COIN,
    OTHER_PAYER,
    PAYER,
    REFUND,
    REFUNDED,
    STRANGER,
    data_of,
    gas_of,
    reverts,
    transfers_in,
)
from ticketing.chain import address, receivers


def some_id():
    return secrets.token_bytes(32)


def someone():
    return address.checksum("0x" + secrets.token_hex(20))


def is_refunded(chain, payment_id, payer=PAYER):
    (used,) = chain.call(
        receivers.FACTORY,
        "refunded(address,bytes32)",
        chain.accounts[payer],
        payment_id,
        returns=["bool"],
    )
    return used


def events_in(receipt):
    """Return log index, payer, id, token, payee and amount of each Refunded event."""
    return [
        (
            int(log["logIndex"], 16),
            address.checksum("0x" + log["topics"][1][26:]),
            bytes.fromhex(log["topics"][2][2:]),
            *decode(["address", "address", "uint256"], bytes.fromhex(log["data"][2:])),
        )
        for log in receipt["logs"]
        if log["topics"][0] == REFUNDED and log["address"] == receivers.FACTORY.lower()
    ]


def test_each_payee_gets_the_amount_and_an_event_follows_each_transfer(chain, token):
    payments = [(some_id(), someone(), amount) for amount in (5, 7, 11)]
    chain.allow(token, 23)
    receipt = chain.refund(token, payments)
    payer = chain.accounts[PAYER]
    assert transfers_in(receipt) == [(payer, to, amount) for _, to, amount in payments]
    assert events_in(receipt) == [
        (2 * place + 1, payer, payment_id, token.lower(), to.lower(), amount)
        for place, (payment_id, to, amount) in enumerate(payments)
    ]
    assert chain.held(token, payer) == 0
    assert all(is_refunded(chain, each) for each, _, _ in payments)


def test_an_id_works_once_and_for_ever(chain, token):
    payment = (some_id(), someone(), 5)
    chain.allow(token, 100)
    chain.refund(token, [payment])
    other_token = chain.token()
    chain.allow(other_token, 100)
    for again in ([payment], [(payment[0], someone(), 1)], [(some_id(), someone(), 1), payment]):
        for each in (token, other_token):
            with reverts("AlreadyRefunded(bytes32)", payment[0]):
                chain.refund(each, again)
    assert chain.held(token, payment[1]) == 5


def test_an_id_twice_in_one_list_pays_nothing(chain, token):
    payment = (some_id(), someone(), 5)
    chain.allow(token, 100)
    with reverts("AlreadyRefunded(bytes32)", payment[0]):
        chain.refund(token, [payment, payment])
    assert chain.held(token, payment[1]) == 0
    assert not is_refunded(chain, payment[0])


def test_ids_of_a_stranger_change_nothing_for_the_payer(chain, token):
    """Somebody who reads the payer's transaction before it is mined uses its ids first."""
    payment = (some_id(), someone(), 5)
    chain.allow(token, 5, sender=STRANGER)
    chain.refund(token, [payment], sender=STRANGER)
    assert is_refunded(chain, payment[0], STRANGER)
    assert not is_refunded(chain, payment[0])
    chain.allow(token, 5)
    chain.refund(token, [payment])
    assert chain.held(token, payment[1]) == 10


def test_an_allowance_is_of_use_to_its_giver_only(chain, token):
    chain.allow(token, 100)
    for sender in (STRANGER, OTHER_PAYER):
        with reverts(None):
            chain.refund(token, [(some_id(), chain.accounts[sender], 1)], sender=sender)
    owner = chain.accounts[PAYER]
    for direct in (False, True):
        salts = [some_id(), receivers.GATHERING_SALT]
        chain.collect(owner, token, salts, direct=direct)
    assert chain.held(token, chain.accounts[PAYER]) >= 100


def test_a_list_is_paid_in_its_last_second_and_not_later(chain, token):
    chain.allow(token, 100)
    now = int(chain.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16) + 100
    first, late = ((some_id(), someone(), 5) for _ in range(2))
    chain.rpc("evm_setNextBlockTimestamp", now)
    chain.refund(token, [first], valid_before=now, gas=10**6)
    chain.rpc("evm_setNextBlockTimestamp", now + 1)
    with reverts("Expired(uint256)", now):
        chain.refund(token, [late], valid_before=now, gas=10**6)
    assert not is_refunded(chain, late[0])


def test_a_payee_that_cannot_be_paid_among_100_reverts_all(chain, token):
    payments = [(some_id(), someone(), 5) for _ in range(100)]
    chain.allow(token, 500)
    frozen = payments[63]
    chain.set(token, "freeze(address,bool)", frozen[1], True)
    with reverts(None):
        chain.refund(token, payments)
    assert not is_refunded(chain, payments[0][0])
    chain.refund(token, [each for each in payments if each != frozen])
    chain.set(token, "freeze(address,bool)", frozen[1], False)
    chain.refund(token, [frozen])
    assert [chain.held(token, to) for _, to, _ in payments] == [5] * 100


def test_too_small_an_allowance_or_balance_reverts_all(chain, token):
    payments = [(some_id(), someone(), 5) for _ in range(3)]
    chain.allow(token, 14)
    with reverts(None):
        chain.refund(token, payments)
    assert [chain.held(token, to) for _, to, _ in payments] == [0, 0, 0]


@pytest.mark.parametrize(
    ("payments", "error"),
    [
        ([], "NoPayments()"),
        ([(b"\1" * 32, COIN, 5)], "EmptyPayment(bytes32)"),
        ([(b"\1" * 32, "0x" + "11" * 20, 0)], "EmptyPayment(bytes32)"),
        ([(b"\2" * 32, "0x" + "11" * 20, 1), (b"\1" * 32, COIN, 5)], "EmptyPayment(bytes32)"),
    ],
)
def test_empty_lists_and_payments_are_refused(chain, token, payments, error):
    chain.allow(token, 100)
    with reverts(error, *([b"\1" * 32] if "bytes32" in error else [])):
        chain.refund(token, payments)


@pytest.mark.parametrize("token", [COIN, "0x" + "11" * 20])
def test_a_token_without_code_is_refused(chain, token):
    """A transfer from it would count as done: there is nobody to refuse."""
    with reverts("NotAToken(address)", token):
        chain.refund(token, [(some_id(), someone(), 5)])


def test_receivers_and_the_factory_are_no_tokens(chain, owner):
    (salt,) = chain.orders(owner, COIN, [5])
    chain.collect(owner, COIN, [salt])
    for each in (receivers.receiver_address(owner, salt), receivers.FACTORY):
        with reverts(None):
            chain.refund(each, [(some_id(), someone(), 5)])


def test_coins_are_not_accepted(chain, token):
    chain.allow(token, 5)
    data = data_of(REFUND, token, 2**40, [(some_id(), someone(), 5)])
    for each in (data, "0x", receivers.collect_data(someone(), COIN, [])):
        with reverts(None):
            chain.send(PAYER, receivers.FACTORY, each, value=1)


def test_a_token_that_returns_nothing_is_paid(chain, token):
    chain.set(token, "setOddities(bool,bool,bool)", True, False, False)
    payment = (some_id(), someone(), 5)
    chain.allow(token, 5)
    chain.refund(token, [payment])
    assert chain.held(token, payment[1]) == 5


def test_a_token_that_returns_false_reverts_all(chain, token):
    chain.set(token, "setOddities(bool,bool,bool)", False, True, False)
    payment = (some_id(), someone(), 5)
    chain.allow(token, 4)
    with reverts("SafeERC20FailedOperation(address)", token):
        chain.refund(token, [payment])
    assert not is_refunded(chain, payment[0])


def test_a_token_that_calls_back_pays_each_id_once(chain, token):
    """The payer is a contract: the token lets it send the same list once more meanwhile."""
    payer = chain.owner()
    payment = (some_id(), someone(), 5)
    chain.mint(token, (payer, 100))
    refund = bytes.fromhex(data_of(REFUND, token, 2**40, [payment])[2:])
    allow = bytes.fromhex(data_of("approve(address,uint256)", receivers.FACTORY, 100)[2:])
    run = "run(address,bytes)"
    chain.send(STRANGER, payer, data_of(run, token, allow))
    once_more = bytes.fromhex(data_of(run, receivers.FACTORY, refund)[2:])
    chain.set(token, "setCall(address,bytes)", payer, once_more)
    receipt = chain.send(STRANGER, payer, data_of(run, receivers.FACTORY, refund), gas=2_000_000)
    assert chain.held(token, payment[1]) == 5
    assert len(events_in(receipt)) == 1


def test_a_hundred_refunds_cost_less_than_6_million_gas(chain, token):
    payments = [(some_id(), someone(), 5) for _ in range(101)]
    chain.allow(token, 505)
    assert gas_of(chain.refund(token, payments[:1])) < 120_000
    assert gas_of(chain.refund(token, payments[1:])) < 7_000_000
