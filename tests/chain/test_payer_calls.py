"""Which signature moved which transfer, by the order of a receipt's logs."""

import pytest

from ticketing.chain.answers import TRANSFER_TOPIC, Block
from ticketing.chain.errors import NotLinked, RpcError, RpcInvalid
from ticketing.chain.keccak import keccak256
from ticketing.chain.payer_calls import PayerCalls, TransferPlace
from ticketing.clock import now

TOKEN, OTHER_TOKEN = "0x" + "70" * 20, "0x" + "71" * 20
ADA, EVE, ORDER = "0x" + "ad" * 20, "0x" + "ee" * 20, "0x" + "00" * 19 + "01"
TX, BLOCK_HASH = "0x" + "aa" * 32, "0x" + "bb" * 32
USED = "0x" + keccak256(b"AuthorizationUsed(address,bytes32)").hex()
KNOWN = Block(7, BLOCK_HASH, now())


def word(text):
    return "0x" + text[2:].rjust(64, "0")


def transfer(sender=ADA, token=TOKEN):
    return token, [TRANSFER_TOPIC, word(sender), word(ORDER)], word("0x05")


def used(number, authorizer=ADA, token=TOKEN):
    return token, [USED, word(authorizer), word(f"0x{number:x}")], "0x"


class Answers:
    """A client of a node that has one transaction with these logs."""

    def __init__(self, *logs, **changes):
        self._receipt = {
            "transactionHash": TX,
            "blockHash": BLOCK_HASH,
            "from": EVE,
            "status": "0x1",
            "logs": [
                {
                    "address": token,
                    "topics": topics,
                    "data": data,
                    "logIndex": hex(index),
                    "transactionHash": TX,
                    "blockNumber": "0x7",
                    "blockHash": BLOCK_HASH,
                }
                for index, (token, topics, data) in enumerate(logs)
            ],
        }
        self._sent = {"hash": TX, "blockHash": BLOCK_HASH, "from": EVE, "nonce": "0x3"}
        self.chain_id, self.block_hash = "0x1", BLOCK_HASH
        self._sent |= changes

    def batch(self, calls):
        answers = {
            "eth_chainId": self.chain_id,
            "eth_getBlockByNumber": {
                "number": "0x7",
                "hash": self.block_hash,
                "parentHash": BLOCK_HASH,
                "timestamp": "0x1",
            },
            "eth_getTransactionByHash": self._sent,
            "eth_getTransactionReceipt": self._receipt,
            "eth_getCode": "0x",
        }
        return [answers[method] for method, _ in calls]


def origins(answers, *indexes):
    places = [TransferPlace(TX, each, BLOCK_HASH, TOKEN, ADA, ORDER, 5) for each in indexes]
    return PayerCalls(answers, 1).origins(KNOWN, places)


def nonces(logs, *indexes):
    found = [each.authorization for each in origins(Answers(*logs), *indexes)]
    return [None if nonce is None else int.from_bytes(nonce) for nonce in found]


def test_an_event_belongs_to_the_transfer_after_it_or_else_to_the_one_before():
    assert nonces([used(1), transfer()], 1) == [1]
    assert nonces([transfer(), used(1)], 0) == [1]
    assert nonces([used(1), transfer(), used(2), transfer()], 1, 3) == [1, 2]


def test_one_event_signs_one_transfer_only():
    # The first or the last one was moved by an allowance.
    assert nonces([transfer(), used(1), transfer()], 0, 2) == [None, 1]
    assert nonces([used(1), transfer(), transfer()], 1, 2) == [1, None]


def test_events_of_others_sign_nothing():
    assert nonces([used(1, EVE), transfer()], 1) == [None]
    assert nonces([used(1, token=OTHER_TOKEN), transfer()], 1) == [None]
    assert nonces([used(1), transfer(token=OTHER_TOKEN), transfer()], 2) == [None]
    assert nonces([used(1), transfer(EVE), transfer()], 2) == [None]
    assert nonces([transfer()], 0) == [None]


def test_a_transfer_that_is_not_at_its_place_is_not_found():
    assert origins(Answers(transfer(EVE)), 0) == [None]
    assert origins(Answers(transfer()), 1) == [None]


@pytest.mark.parametrize("changes", [{"nonce": "3"}, {"nonce": None}, {"type": 2}, {"from": 1}])
def test_odd_transactions_are_refused(changes):
    with pytest.raises(RpcInvalid):
        origins(Answers(transfer(), **changes), 0)


def test_odd_events_are_refused():
    token, topics, data = used(1)
    with pytest.raises(RpcInvalid):
        origins(Answers((token, topics[:2], data), transfer()), 1)


def test_a_node_of_another_chain_or_fork_is_refused():
    answers = Answers(transfer())
    answers.block_hash = "0x" + "cc" * 32
    with pytest.raises(NotLinked):
        origins(answers, 0)
    answers = Answers(transfer())
    answers.chain_id = "0x2"
    with pytest.raises(RpcError):
        origins(answers, 0)
