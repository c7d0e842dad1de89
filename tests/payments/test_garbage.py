"""A node that answers nonsense: it is never taken for an answer."""

import json
import sys

import pytest

from tests.support.bad_node import checked_watcher, cursor, is_unavailable
from tests.support.factories import PRICE, cli, worker_once
from ticketing.chain.errors import RpcError
from ticketing.models.payments import Payment


def each(data, **fields):
    """Return a body whose answers have other fields."""
    answers = json.loads(data)
    if isinstance(answers, dict):
        return json.dumps({**answers, **fields}).encode()
    return json.dumps([{**answer, **fields} for answer in answers]).encode()


def without(data, field):
    answers = json.loads(data)
    for answer in answers if isinstance(answers, list) else [answers]:
        del answer[field]
    return json.dumps(answers).encode()


BODIES = {
    "nothing": lambda data: (200, b""),
    "no JSON": lambda data: (200, b"try again later"),
    "a bad gateway": lambda data: (502, b"<html><h1>502 Bad Gateway</h1></html>"),
    "a lone error": lambda data: (429, b'{"error": "slow down"}'),
    "an error of null": lambda data: (200, each(data, error=None, result=None)),
    "half of it": lambda data: (200, data[: len(data) // 2]),
    "all but its end": lambda data: (200, data[:-1]),
    "bytes": lambda data: (200, b"\xff\xfe\x00"),
    "null": lambda data: (200, b"null"),
    "a number": lambda data: (200, b"1"),
    "an empty list": lambda data: (200, b"[]"),
    "an empty object": lambda data: (200, b"{}"),
    "lists in a list": lambda data: (200, b"[[], []]"),
    "very deep": lambda data: (200, b"[" * 200_000),
    "a very long number": lambda data: (200, b"9" * 10_000),
    "not a number": lambda data: (200, each(data, result=float("nan"))),
    "the ids of others": lambda data: (200, each(data, id=17)),
    "one id for all": lambda data: (200, each(data, id=0, result="0x1")),
    "ids of text": lambda data: (200, each(data, id="0")),
    "ids of lists": lambda data: (200, each(data, id=[0])),
    "ids of true": lambda data: (200, each(data, id=True)),
    "no ids": lambda data: (200, without(data, "id")),
    "no results": lambda data: (200, without(data, "result")),
}

NONSENSE = [
    None,
    True,
    1,
    -1.5,
    "",
    "0x",
    "12",
    "0xzz",
    [],
    {},
    [None],
    [{}],
    [[]],
    "0x" + "f" * 64,
]

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.usefixtures("unforgetting"),
    pytest.mark.one_database,
]


BLOCKS = [
    {"number": "0x" + "f" * 64},
    {"number": "0x7fffffffffffffff"},
    {"number": "0x8000000000000000"},
    *({"number": value} for value in (None, 7, "7", "-0x1", ["0x1"])),
    *({"timestamp": "0x" + "f" * digits} for digits in (9, 10, 16, 64)),
    {"timestamp": "0x3afff44180"},
    *({"timestamp": value} for value in (None, 1, "now", {})),
    *({"hash": value} for value in (None, 1, "0x", "0x12", "0x" + "1" * 65)),
]

WORD = "0x" + "0" * 63 + "1"
LOGS = [
    {"address": "0x" + "12" * 20},
    *({"address": value} for value in (None, 1, [])),
    {"topics": None},
    {"topics": []},
    {"topics": [WORD, WORD, WORD]},
    *({"blockNumber": value} for value in (None, 1, "0x0", "0xffffff", "0x" + "f" * 64)),
    *({"blockHash": value} for value in (None, WORD, "0x1")),
    *({"transactionHash": value} for value in (None, 1, "0x1")),
    *({"logIndex": value} for value in (None, -1, "0x80000000", "0x" + "f" * 64)),
    *({"data": value} for value in (None, 1, "0x", "0x1", WORD + WORD[2:])),
]


def bent_blocks(fields):
    return lambda block: block and {**block, **fields}


def bent_logs(fields):
    return lambda logs: [{**log, **fields} for log in logs]


def to_somebody(log):
    """Return the log with another recipient of the tokens."""
    return {**log, "topics": [*log["topics"][:2], "0x" + "0" * 24 + "34" * 20]}


def from_a_word(log):
    """Return the log with a sender of 32 bytes, where an address has 20."""
    return {**log, "topics": [log["topics"][0], "0x" + "34" * 32, log["topics"][2]]}


def garbled():
    """Yield the name of each kind of nonsense, and a function that makes a node answer it."""
    for name, body in BODIES.items():
        yield name, lambda bad, body=body: setattr(bad, "garble", body)
    for method in ("eth_getBlockByNumber", "eth_getLogs"):
        for value in NONSENSE:
            if (method, value) not in [("eth_getLogs", [])]:
                yield f"{method} {value}", lambda bad, m=method, v=value: bad.answer(m, v)
    for fields in BLOCKS:
        bent = bent_blocks(fields)
        yield f"block {fields}", lambda bad, b=bent: bad.answer("eth_getBlockByNumber", b)
    of_others = (lambda logs: [*map(to_somebody, logs)], lambda logs: [*map(from_a_word, logs)])
    for bend in [*map(bent_logs, LOGS), *of_others]:
        yield "a log", lambda bad, b=bend: bad.answer("eth_getLogs", b)


@pytest.fixture
def without_the_interpreters_guard():
    """As in a process with a wrong count of nested calls: there, deep JSON would end it."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10**6)
    yield
    sys.setrecursionlimit(limit)


def test_nonsense_is_never_taken_for_an_answer(
    without_the_interpreters_guard, bad_node, acme, node, log
):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    watcher = checked_watcher(acme.app)
    before = cursor()
    buyer.pay(node)
    node.rpc("anvil_mine", "0x2")
    intent = buyer.now()
    for name, garble in garbled():
        bad_node.well()
        garble(bad_node)
        with pytest.raises(RpcError):
            watcher.look()
            pytest.fail(name)
        assert is_unavailable(buyer.purchase()), name
        assert cursor() == before, name
        assert buyer.now() == intent, name
    assert Payment.select().count() == 0
    bad_node.well()
    watcher.look()
    assert (buyer.now()["status"], buyer.now()["flags"]) == ("confirmed", [])


def test_a_log_that_is_told_twice_counts_once(bad_node, acme, node, log):
    buyer = acme.buyer(acme.ticket())
    buyer.pay(node)
    bad_node.answer("eth_getLogs", lambda logs: logs + logs)
    worker_once(acme.app)
    assert (buyer.now()["status"], buyer.now()["amount_received"]) == ("confirmed", PRICE)


def test_nonsense_about_balances_drops_no_hold(bad_node, acme, node, log):
    ticket = acme.ticket()
    buyer = acme.buyer(ticket)
    watcher = checked_watcher(acme.app)
    node.rpc("evm_increaseTime", 1000)
    node.rpc("anvil_mine", "0x1")
    for method in ("eth_getCode", "eth_call"):
        for value in [None, True, 1, "", "zz", [], {}, [None]]:
            bad_node.well()
            bad_node.answer(method, value)
            with pytest.raises(RpcError):
                watcher.look()
                pytest.fail(f"{method} {value}")
            assert buyer.now()["status"] == "awaiting_payment"
    assert acme.stock(ticket) == (1, 0)
    bad_node.well()
    watcher.look()
    assert buyer.now()["status"] == "expired"


def test_nonsense_about_the_token_is_told_in_a_sentence(bad_node, acme, log):
    ticket = acme.ticket()
    for method in ("eth_chainId", "eth_call"):
        for value in [*NONSENSE, "0x" + "00" * 64, "0x" + "61006200" * 64]:
            bad_node.well()
            bad_node.answer(method, value)
            said = cli(acme.app, "worker", "--once", exit_code=1)
            assert said.startswith("Error: chain 31337 "), value
            assert said.count("\n") == 1
    bad_node.well()
    worker_once(acme.app)
    assert acme.preflight(ticket).status_code == 201


def test_a_first_look_at_nonsense_starts_nowhere(bad_node, acme, node, log):
    for fields in BLOCKS:
        bad_node.well()
        bad_node.answer("eth_getBlockByNumber", bent_blocks(fields))
        assert "cannot be read" in cli(acme.app, "worker", "--once", exit_code=1), fields
    bad_node.well()
    worker_once(acme.app)
    assert cursor() == int(node.rpc("eth_blockNumber"), 16)
