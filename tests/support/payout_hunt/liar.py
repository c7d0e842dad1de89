"""What a node may say that is not true. Each lie is a rule of a provider (support/provider)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from tests.support.payout_hunt.chain import Log, PayoutChain, answered, is_asked
from tests.support.provider.core import Rule
from tests.support.provider.views import Answer, Question
from ticketing.chain import abi, receivers
from ticketing.chain.refunded_events import REFUNDED_TOPIC

_REFUNDED = abi.selector("refunded(address,bytes32)")
_BALANCE = abi.selector("balanceOf(address)")


def hides(topic: str) -> Rule:
    """Leave out all logs with a topic."""

    def rule(question: Question, answer: Answer) -> Answer:
        if question["method"] != "eth_getLogs" or "result" not in answer:
            return answer
        return {**answer, "result": [log for log in answer["result"] if log["topics"][0] != topic]}

    return rule


hides_events = hides(REFUNDED_TOPIC)


def says_unused(question: Question, answer: Answer) -> Answer:
    """Say of each id that nobody has used it."""
    return _called(question, answer, _REFUNDED, 0)


def says_used(payer: str, id_: str) -> Rule:
    """Say that a payer has used an id."""
    return lambda question, answer: _called(question, answer, _REFUNDED, 1, payer, id_)


def says_no_factory(question: Question, answer: Answer) -> Answer:
    """Say that the factory has no code."""
    if question["method"] == "eth_getCode" and question["params"][0] == receivers.FACTORY:
        return {**answer, "result": "0x"}
    return answer


def says_held(holder: str, amount: int) -> Rule:
    """Say that an address has this much."""
    return lambda question, answer: _called(question, answer, _BALANCE, amount, holder)


def invents(chain: PayoutChain, logs: Sequence[Log], serial: int, *, has_receipt: bool) -> Rule:
    """Say that a transaction of the newest block wrote these logs, in an order that has room."""
    number = chain.head.number
    tx_hash = "0x" + hashlib.sha256(f"invented {serial}".encode()).hexdigest()

    def rule(question: Question, answer: Answer) -> Answer:
        if number > chain.head.number or "result" not in answer:
            return answer
        block = chain.blocks[number]
        invented = [
            answered(log, block, tx_hash, 0x1000 * serial + index) for index, log in enumerate(logs)
        ]
        asked = question["params"][0] if question["params"] else None
        if question["method"] == "eth_getLogs":
            is_inside = int(asked["fromBlock"], 16) <= number <= int(asked["toBlock"], 16)
            more = [each for each in invented if is_inside and is_asked(each, asked)]
            return {**answer, "result": [*answer["result"], *more]}
        if question["method"] == "eth_getTransactionReceipt" and asked == tx_hash and has_receipt:
            return {**answer, "result": {"status": "0x1", "logs": invented}}
        return answer

    return rule


def _called(
    question: Question, answer: Answer, selector: str, value: int, *words: str
) -> dict[str, Any]:
    """Return another result of a call of a function whose arguments begin with these words."""
    if question["method"] != "eth_call" or "result" not in answer:
        return answer
    data = selector + "".join(each[2:].lower().rjust(64, "0") for each in words)
    if not question["params"][0]["data"].startswith(data):
        return answer
    return {**answer, "result": f"0x{value:064x}"}
