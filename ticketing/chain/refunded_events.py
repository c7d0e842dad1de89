"""Refunds that a payer sends through the factory: their ids, call data, and `Refunded` events.

The factory accepts each id of a payer once. So an id stands for one payment of one order: whoever
signs a list twice pays once. docs/receivers.md explains the contract.

>>> token = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
>>> payment_id(31337, token, "pi_1", 0)[:18]
'0x939f90edb8a82a3c'
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ticketing.chain import abi, address, receivers
from ticketing.chain.answers import Block, Transfer, parse_quantity, parse_word
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import RpcInvalid
from ticketing.chain.keccak import keccak256

REFUNDED_TOPIC = "0x" + keccak256(b"Refunded(address,bytes32,address,address,uint256)").hex()

IDS_PER_FILTER = 1000
"""The maximum number of alternatives in one topic position in geth."""

_REFUND = abi.selector("refund(address,uint256,(bytes32,address,uint256)[])")
_APPROVE = abi.selector("approve(address,uint256)")
_PAYMENTS_AT = 3 * abi.WORD_BYTES
_ID_TEXT_AT = 4 * abi.WORD_BYTES
_MOST_LOGS = 2**31 - 1


@dataclass(frozen=True)
class ListedPayment:
    """One payment of a list: its id (0x and 64 hex digits), payee, and amount in atomic units."""

    id: str
    to: str
    atomic_amount: int


@dataclass(frozen=True)
class Refunded:
    """One `Refunded` event of the factory. Addresses have their EIP-55 checksum.

    It says what the payer asked for. What the token did is in its Transfer: see `own_transfers`.
    """

    tx_hash: str
    log_index: int
    block_number: int
    block_hash: str
    payer: str
    id: str
    token_address: str
    to: str
    atomic_amount: int


@dataclass(frozen=True)
class PaidRefund:
    """An event with its block, and the Transfer that belongs to it. None: there is no such one."""

    event: Refunded
    block: Block
    transfer: Transfer | None


def payment_id(chain_id: int, token_address: str, intent_id: str, n: int) -> str:
    """Return the id of an order's payment: keccak256(abi.encode(chain id, token, intent id, n)).

    `n`: how many refunds of this order, chain and token were paid by lists before.
    """
    text = intent_id.encode()
    words = [
        abi.word(chain_id),
        abi.address_word(token_address),
        abi.word(_ID_TEXT_AT),
        abi.word(n),
        abi.word(len(text)),
        text.ljust(-len(text) % abi.WORD_BYTES + len(text), b"\0"),
    ]
    return "0x" + keccak256(b"".join(words)).hex()


def refund_data(token_address: str, valid_before: int, payments: Sequence[ListedPayment]) -> str:
    """Return the call data for the factory that pays a list. `valid_before`: in Unix seconds."""
    words = [
        abi.address_word(token_address),
        abi.word(valid_before),
        abi.word(_PAYMENTS_AT),
        abi.word(len(payments)),
    ]
    for each in payments:
        words += [bytes.fromhex(each.id[2:]), abi.address_word(each.to)]
        words.append(abi.word(each.atomic_amount))
    return _REFUND + b"".join(words).hex()


def approve_data(atomic_amount: int) -> str:
    """Return the call data for a token that lets the factory spend an amount of the caller."""
    return _APPROVE + (abi.address_word(receivers.FACTORY) + abi.word(atomic_amount)).hex()


def log_calls(ids: Sequence[str] | None, first: int, last: int) -> list[Call]:
    """Return the calls for the events with some ids in the blocks `first` to `last`.

    They are of any payer. `ids` None: of any id, too.
    """
    of_ids: list[list[str] | None] = [None]
    if ids is not None:
        of_ids = [list(ids[at : at + IDS_PER_FILTER]) for at in range(0, len(ids), IDS_PER_FILTER)]
    return [
        (
            "eth_getLogs",
            [
                {
                    "address": receivers.FACTORY,
                    "topics": [REFUNDED_TOPIC, None, some],
                    "fromBlock": hex(first),
                    "toBlock": hex(last),
                }
            ],
        )
        for some in of_ids
    ]


def parse_events(raw_logs: Any) -> list[Refunded]:
    """Parse the `Refunded` events of the factory in a list of logs, in the order of the chain.

    Logs of others, and those that the node marks as removed, are left out. RpcInvalid.
    """
    if not isinstance(raw_logs, list):
        raise RpcInvalid("the node's list of logs is not a list")
    found = [_parse(raw) for raw in raw_logs if _is_event(raw)]
    return sorted(found, key=lambda each: (each.block_number, each.log_index))


def own_transfers(events: Iterable[Refunded], transfers: Sequence[Transfer]) -> dict[int, Transfer]:
    """Return the Transfer of each event of one transaction, by the event's log index.

    It is the last one before the event, from the payer to `to`, of the amount. A Transfer belongs
    to one event only: a token could emit one Transfer for two events. `transfers` are of one token,
    and events of other tokens have none.

    Example: the logs are Transfer (P to A, 5), Refunded (A, 5), Refunded (A, 5). The first event
    has the Transfer, the second one has none.
    """
    of_event: dict[int, Transfer] = {}
    taken: set[int] = set()
    by_terms: dict[tuple[str, str, int], list[Transfer]] = {}
    for each in sorted(transfers, key=lambda each: each.log_index):
        terms = (each.sender, each.recipient, each.atomic_amount)
        by_terms.setdefault(terms, []).append(each)
    for event in sorted(events, key=lambda each: each.log_index):
        same = by_terms.get((event.payer, event.to, event.atomic_amount), [])
        before = bisect_left(same, event.log_index, key=lambda each: each.log_index)
        if before and same[before - 1].log_index not in taken:
            taken.add(same[before - 1].log_index)
            of_event[event.log_index] = same[before - 1]
    return of_event


def _is_event(raw: Any) -> bool:
    if not isinstance(raw, dict):
        raise RpcInvalid("the node sent a log that is not an object")
    topics = raw.get("topics")
    return (
        str(raw.get("address")).lower() == receivers.FACTORY.lower()
        and isinstance(topics, list)
        and len(topics) == 3
        and topics[0] == REFUNDED_TOPIC
        and raw.get("removed") is not True
    )


def _parse(raw: Any) -> Refunded:
    _, payer, id_, *_ = raw["topics"]
    data = raw.get("data")
    if not isinstance(data, str) or len(data) != 2 + 3 * 2 * abi.WORD_BYTES:
        raise RpcInvalid("the node sent a Refunded event of another length")
    token, to, amount = (data[start : start + 64] for start in range(2, len(data), 64))
    return Refunded(
        tx_hash=_hash(raw.get("transactionHash")),
        log_index=parse_quantity(raw.get("logIndex"), _MOST_LOGS),
        block_number=parse_quantity(raw.get("blockNumber")),
        block_hash=_hash(raw.get("blockHash")),
        payer=_address(payer),
        id=_hash(id_),
        token_address=_address("0x" + token),
        to=_address("0x" + to),
        atomic_amount=parse_word("0x" + amount),
    )


def _hash(raw: Any) -> str:
    return "0x" + abi.word(parse_word(raw)).hex()


def _address(raw: Any) -> str:
    word = parse_word(raw)
    if word >> 160:
        raise RpcInvalid("the node sent an invalid address")
    return address.checksum(f"0x{word:040x}")
