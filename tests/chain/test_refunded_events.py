"""Ids, call data, events and transfers of refunds that go through the factory."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from eth_abi import encode

from tests.support.receivers import REFUND, REFUNDED, data_of
from ticketing.chain import receivers, refunded_events
from ticketing.chain.answers import Block, Transfer
from ticketing.chain.errors import RpcInvalid
from ticketing.chain.keccak import keccak256
from ticketing.chain.refunded_events import ListedPayment, Refunded, own_transfers, parse_events

TOKEN = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
PAYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
ADA = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
BLOCK = Block(7, "0x" + "11" * 32, datetime(2026, 1, 1, tzinfo=UTC))
EVENT = Refunded("0x" + "22" * 32, 5, 7, BLOCK.hash, PAYER, "0x" + "33" * 32, TOKEN, ADA, 5)
TRANSFER = Transfer(EVENT.tx_hash, 4, BLOCK, PAYER, ADA, 5)


@pytest.mark.parametrize("intent_id", ["pi_1", "x" * 29, "x" * 32, "x" * 33])
def test_an_id_is_the_hash_of_its_abi_encoding(intent_id):
    encoded = encode(["uint256", "address", "string", "uint256"], [8453, TOKEN, intent_id, 3])
    found = refunded_events.payment_id(8453, TOKEN, intent_id, 3)
    assert found == "0x" + keccak256(encoded).hex()


@pytest.mark.parametrize("count", [1, 3])
def test_call_data_is_the_abi_encoding(count):
    payments = [ListedPayment(f"0x{n:064x}", ADA, n + 1) for n in range(count)]
    plain = [(bytes.fromhex(each.id[2:]), each.to, each.atomic_amount) for each in payments]
    assert refunded_events.refund_data(TOKEN, 99, payments) == data_of(REFUND, TOKEN, 99, plain)
    approve = data_of("approve(address,uint256)", receivers.FACTORY, 2**255)
    assert refunded_events.approve_data(2**255) == approve


def raw(**fields):
    return {
        "address": receivers.FACTORY.lower(),
        "topics": [REFUNDED, "0x" + PAYER[2:].lower().rjust(64, "0"), EVENT.id],
        "data": "0x" + encode(["address", "address", "uint256"], [TOKEN, ADA, 5]).hex(),
        "transactionHash": EVENT.tx_hash,
        "logIndex": "0x5",
        "blockNumber": "0x7",
        "blockHash": BLOCK.hash,
        **fields,
    }


def test_an_event_is_parsed_and_those_of_other_contracts_are_left_out():
    others = [raw(address=TOKEN), raw(removed=True), raw(topics=[REFUNDED])]
    assert parse_events([*others, raw()]) == [EVENT]


@pytest.mark.parametrize(
    "fields",
    [
        {"data": "0x"},
        {"data": None},
        {"data": "0x" + "zz" * 96},
        {"data": "0x" + "ff" * 96},
        {"logIndex": None},
        {"logIndex": "0x80000000"},
        {"blockNumber": 7},
        {"blockHash": "0x12"},
        {"transactionHash": None},
        {"topics": [REFUNDED, "0x" + "ff" * 32, EVENT.id]},
    ],
)
def test_an_event_that_cannot_be_right_is_an_error(fields):
    with pytest.raises(RpcInvalid):
        parse_events([raw(**fields)])


@pytest.mark.parametrize("logs", [None, {}, [None], ["x"]])
def test_what_is_no_list_of_logs_is_an_error(logs):
    with pytest.raises(RpcInvalid):
        parse_events(logs)


def test_the_transfer_of_an_event_is_the_last_one_before_it():
    older = replace(TRANSFER, log_index=2)
    later = replace(TRANSFER, log_index=6)
    assert own_transfers([EVENT], [older, TRANSFER, later]) == {5: TRANSFER}


@pytest.mark.parametrize(
    "other", [{"sender": ADA}, {"recipient": PAYER}, {"atomic_amount": 4}, {"log_index": 6}]
)
def test_another_transfer_is_not_of_the_event(other):
    assert own_transfers([EVENT], [replace(TRANSFER, **other)]) == {}


def test_one_transfer_is_of_one_event_only():
    """A token could emit one Transfer for two events."""
    second = replace(EVENT, log_index=6, id="0x" + "44" * 32)
    assert own_transfers([second, EVENT], [TRANSFER]) == {5: TRANSFER}
    third = replace(TRANSFER, log_index=7)
    last = replace(EVENT, log_index=8)
    assert own_transfers([EVENT, last], [TRANSFER, third]) == {5: TRANSFER, 8: third}
