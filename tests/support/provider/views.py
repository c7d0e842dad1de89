"""JSON-RPC answers of other nodes: one that lags, one of another chain."""

import hashlib
from collections.abc import Callable
from typing import Any

Question = dict[str, Any]
Answer = dict[str, Any]
Answerer = Callable[[Question], Answer]

FOREIGN_CHAIN = 424242
AT_A_BLOCK = {"eth_call", "eth_getCode", "eth_getBalance", "eth_getTransactionCount"}
"""The methods whose second parameter is a block."""

FOREIGN = {
    "eth_chainId": hex(FOREIGN_CHAIN),
    "net_version": str(FOREIGN_CHAIN),
    "eth_getLogs": [],
    "eth_call": "0x",
    "eth_getCode": "0x",
    "eth_getBalance": "0x0",
    "eth_getTransactionCount": "0x0",
    "eth_getTransactionReceipt": None,
}


def result(question: Question, value: Any) -> Answer:
    """Return an answer with this result."""
    return {"jsonrpc": "2.0", "id": question["id"], "result": value}


def error(question: Question, message: str, code: int = -32000) -> Answer:
    """Return an answer with this error."""
    return {"jsonrpc": "2.0", "id": question["id"], "error": {"code": code, "message": message}}


def range_of(question: Question) -> tuple[int, int]:
    """Return the first and the last block of an eth_getLogs."""
    asked = question["params"][0]
    return int(asked["fromBlock"], 16), int(asked["toBlock"], 16)


def first_block_of(question: Question) -> int | None:
    """Return the block of a question for a header or logs. None for other questions."""
    if question["method"] == "eth_getLogs":
        return range_of(question)[0]
    if question["method"] == "eth_getBlockByNumber" and question["params"][0] != "latest":
        return int(question["params"][0], 16)
    return None


def head_of(ask: Answerer) -> int:
    """Return the number of the newest block."""
    return int(_header(ask, "latest")["number"], 16)


def lagging(question: Question, ask: Answerer, blocks: int) -> Answer:
    """Answer like a node that is this many blocks behind."""
    head = max(0, head_of(ask) - blocks)
    method, params = question["method"], question["params"]
    if method == "eth_blockNumber":
        return result(question, hex(head))
    if method == "eth_getBlockByNumber":
        number = _number(params[0], head)
        if number > head:
            return result(question, None)
        return ask({**question, "params": [hex(number), *params[1:]]})
    if method == "eth_getLogs":
        first, last = range_of(question)
        if first > head:
            return result(question, [])
        return ask({**question, "params": [{**params[0], "toBlock": hex(min(last, head))}]})
    if method in AT_A_BLOCK and isinstance(params[1], str):
        number = _number(params[1], head)
        if number > head:
            return error(question, "header not found")
        return ask({**question, "params": [params[0], hex(number)]})
    answer = ask(question)
    if method == "eth_getTransactionReceipt" and answer.get("result"):
        numbers = [int(log["blockNumber"], 16) for log in answer["result"]["logs"]]
        return result(question, None) if max(numbers, default=0) > head else answer
    return answer


def foreign(question: Question, ask: Answerer, higher: int) -> Answer:
    """Answer like a node of another chain whose head is this many blocks higher."""
    method = question["method"]
    if method in FOREIGN:
        return result(question, FOREIGN[method])
    head = head_of(ask) + higher
    if method == "eth_blockNumber":
        return result(question, hex(head))
    if method == "eth_getBlockByNumber":
        number = _number(question["params"][0], head)
        if number > head:
            return result(question, None)
        times = _header(ask, "latest")
        foreign_header = {
            **times,
            "number": hex(number),
            "hash": _foreign_hash(number),
            "parentHash": _foreign_hash(number - 1),
            "timestamp": hex(int(times["timestamp"], 16) - 2 * (head - number)),
        }
        return result(question, foreign_header)
    return error(question, "the method does not exist", -32601)


def forked(answer: Answer, first: int, last: int | None) -> Answer:
    """Give the blocks `first` to `last` of an answer the hashes of another fork. None: the head."""

    def turned(raw: Any) -> Any:
        if isinstance(raw, list):
            return [turned(each) for each in raw]
        if not isinstance(raw, dict):
            return raw
        number = int(raw.get("number") or raw.get("blockNumber") or "-0x1", 16)
        found = {name: turned(value) for name, value in raw.items()}
        if number >= first and (last is None or number <= last):
            found |= {name: _foreign_hash(number) for name in ("hash", "blockHash") if name in raw}
        if number > first and "parentHash" in raw and (last is None or number <= last + 1):
            found["parentHash"] = _foreign_hash(number - 1)
        return found

    return {**answer, "result": turned(answer["result"])} if "result" in answer else answer


def _number(tag: str, head: int) -> int:
    return head if tag == "latest" else int(tag, 16)


def _header(ask: Answerer, tag: str) -> dict[str, Any]:
    question = {"jsonrpc": "2.0", "id": 0, "method": "eth_getBlockByNumber", "params": [tag, False]}
    header: dict[str, Any] = ask(question)["result"]
    return header


def _foreign_hash(number: int) -> str:
    return "0x" + hashlib.sha256(f"foreign {number}".encode()).hexdigest()
