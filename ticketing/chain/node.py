"""What the service asks of a chain: its head, headers, a token's facts, transfers to addresses."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from ticketing.chain import address
from ticketing.chain.rpc import Call, RpcClient, RpcError, RpcRefused

ADDRESSES_PER_FILTER = 1000
"""geth takes no more alternatives in one topic position."""

BLOCKS_PER_RANGE = 2000
_CALLS_PER_BATCH = 100

_TRANSFER_TOPIC = "0x" + address.keccak256(b"Transfer(address,address,uint256)").hex()
_HEAD_CALL: Call = ("eth_getBlockByNumber", ["latest", False])
_DECIMALS_CALL = "0x" + address.keccak256(b"decimals()")[:4].hex()
_SYMBOL_CALL = "0x" + address.keccak256(b"symbol()")[:4].hex()
_BALANCE_SELECTOR = "0x" + address.keccak256(b"balanceOf(address)")[:4].hex()

_NOTHING = "0x"
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_WORD = re.compile(r"0x[0-9a-fA-F]{64}")


class ChainMoved(RpcError):
    """The chain changed, or the node lags behind another one, while it was being read."""


@dataclass(frozen=True)
class Block:
    """A block's place in the chain, its hash and its own time."""

    number: int
    hash: str
    time: datetime


@dataclass(frozen=True)
class Transfer:
    """One ERC-20 Transfer log. `atomic_amount` is in the token's own units."""

    tx_hash: str
    log_index: int
    block: Block
    sender: str
    recipient: str
    atomic_amount: int


@dataclass(frozen=True)
class TokenFacts:
    """What the node says of itself (EIP-155 id) and of the token at an address (ERC-20).

    `decimals` and `symbol` are None where there is no contract.
    """

    chain_id: int
    decimals: int | None
    symbol: str | None


class Node:
    """Reads one chain through one JSON-RPC endpoint. Every method may raise RpcError."""

    def __init__(self, rpc: RpcClient) -> None:
        self._rpc = rpc

    def head(self) -> Block:
        """Return the newest block."""
        (head,) = self._rpc.batch([_HEAD_CALL])
        return _parse_block(head)

    def head_and(self, number: int) -> tuple[Block, Block | None]:
        """Return the newest block, and the one with this number if the node has it."""
        head, there = self._rpc.batch([_HEAD_CALL, _header_call(number)])
        return _parse_block(head), None if there is None else _parse_block(there)

    def blocks(self, numbers: Sequence[int]) -> list[Block | None]:
        """Return the blocks with these numbers, None where the node has none."""
        found: list[Block | None] = []
        for start in range(0, len(numbers), _CALLS_PER_BATCH):
            calls = [_header_call(n) for n in numbers[start : start + _CALLS_PER_BATCH]]
            found += [None if raw is None else _parse_block(raw) for raw in self._rpc.batch(calls)]
        return found

    def first_block_since(self, time: datetime, head: Block) -> int:
        """Return the number of the first block whose time is `time` or later, head's + 1 if none.

        One header is asked for per step of a bisection.
        """
        low, high = 0, head.number + 1
        while low < high:
            middle = (low + high) // 2
            (block,) = self.blocks([middle])
            if block is None:
                raise ChainMoved(f"the node does not have block {middle}")
            if block.time < time:
                low = middle + 1
            else:
                high = middle
        return low

    def token_facts(self, token_address: str) -> TokenFacts:
        """Ask for the chain's id and the token's decimals and symbol."""
        chain_id, decimals, symbol = self._rpc.batch(
            [
                ("eth_chainId", []),
                ("eth_call", [{"to": token_address, "data": _DECIMALS_CALL}, "latest"]),
                ("eth_call", [{"to": token_address, "data": _SYMBOL_CALL}, "latest"]),
            ]
        )
        return TokenFacts(
            _parse_quantity(chain_id),
            None if decimals == _NOTHING else _parse_word(decimals),
            None if symbol == _NOTHING else _parse_string(symbol),
        )

    def balances(self, token_address: str, addresses: Sequence[str]) -> list[int]:
        """Return what each address holds of a token now, in the token's own units."""
        held: list[int] = []
        for start in range(0, len(addresses), _CALLS_PER_BATCH):
            chunk = addresses[start : start + _CALLS_PER_BATCH]
            calls = [_balance_call(token_address, each) for each in chunk]
            held += [_parse_word(raw) for raw in self._rpc.batch(calls)]
        return held

    def transfers(
        self, token_address: str, recipients: Iterable[str], first: int, head: Block
    ) -> Iterator[tuple[Block, list[Transfer]]]:
        """Read blocks `first`..`head` in ranges; yield each range's last block and its transfers.

        A range that the node refuses is halved. ChainMoved if a range's end is not, before and
        after its logs were read, the block it was: an empty list for blocks that a lagging node
        does not have must not pass for "nothing happened".
        """
        wanted = sorted({recipient.lower() for recipient in recipients})
        span = BLOCKS_PER_RANGE
        while first <= head.number:
            last = self._range_end(min(first + span - 1, head.number), head)
            try:
                yield last, self._range(token_address, wanted, first, last)
            except RpcRefused:
                if last.number == first:
                    raise
                span = (last.number - first + 1) // 2
                continue
            first = last.number + 1

    def _range_end(self, number: int, head: Block) -> Block:
        if number == head.number:
            return head
        (block,) = self.blocks([number])
        if block is None:
            raise ChainMoved(f"the node does not have block {number}")
        return block

    def _range(
        self, token_address: str, wanted: list[str], first: int, last: Block
    ) -> list[Transfer]:
        calls: list[Call] = []
        for start in range(0, len(wanted), ADDRESSES_PER_FILTER):
            topics = [_topic(each) for each in wanted[start : start + ADDRESSES_PER_FILTER]]
            log_filter = {
                "address": token_address,
                "topics": [_TRANSFER_TOPIC, None, topics],
                "fromBlock": hex(first),
                "toBlock": hex(last.number),
            }
            calls.append(("eth_getLogs", [log_filter]))
        *answers, end = self._rpc.batch([*calls, _header_call(last.number)])
        if end is None or _parse_block(end) != last:
            raise ChainMoved(f"block {last.number} changed while it was read")
        logs = [log for answer in answers for log in _parse_logs(answer)]
        for log in logs:
            if not (
                log.token_address == token_address.lower()
                and log.recipient in wanted
                and first <= log.block_number <= last.number
            ):
                raise RpcError("the node sent a log that was not asked for")
        headers = self._headers_of(logs)
        return [log.in_block(headers[log.block_number]) for log in logs]

    def _headers_of(self, logs: Sequence["_Log"]) -> dict[int, Block]:
        numbers = sorted({log.block_number for log in logs})
        headers = {block.number: block for block in self.blocks(numbers) if block}
        if any(log.block_number not in headers for log in logs) or any(
            headers[log.block_number].hash != log.block_hash for log in logs
        ):
            raise ChainMoved("a log's block is not on the chain any more")
        return headers


@dataclass(frozen=True)
class _Log:
    token_address: str
    tx_hash: str
    log_index: int
    block_number: int
    block_hash: str
    sender: str
    recipient: str
    atomic_amount: int

    def in_block(self, block: Block) -> Transfer:
        return Transfer(
            self.tx_hash,
            self.log_index,
            block,
            address.checksum(self.sender),
            address.checksum(self.recipient),
            self.atomic_amount,
        )


@lru_cache
def connect(rpc_urls: tuple[str, ...]) -> Node:
    """Return the node behind JSON-RPC URLs; one per process, so that connections are kept open."""
    return Node(RpcClient(rpc_urls))


def _header_call(number: int) -> Call:
    return "eth_getBlockByNumber", [hex(number), False]


def _balance_call(token_address: str, holder: str) -> Call:
    data = _BALANCE_SELECTOR + holder[2:].lower().rjust(64, "0")
    return "eth_call", [{"to": token_address, "data": data}, "latest"]


def _topic(recipient: str) -> str:
    return "0x" + recipient[2:].rjust(64, "0")


def _parse_logs(answer: Any) -> list[_Log]:
    if not isinstance(answer, list):
        raise RpcError("the node's list of logs is not a list")
    return [_parse_log(raw) for raw in answer if not _field(raw, "removed", default=False)]


def _parse_log(raw: Any) -> _Log:
    topics = _field(raw, "topics")
    if not isinstance(topics, list) or len(topics) != 3 or topics[0] != _TRANSFER_TOPIC:
        raise RpcError("the node sent a log that is not a Transfer")
    token_address = _field(raw, "address")
    if not isinstance(token_address, str):
        raise RpcError("the node sent a log without an address")
    return _Log(
        token_address=token_address.lower(),
        tx_hash=_parse_hash(_field(raw, "transactionHash")),
        log_index=_parse_quantity(_field(raw, "logIndex")),
        block_number=_parse_quantity(_field(raw, "blockNumber")),
        block_hash=_parse_hash(_field(raw, "blockHash")),
        sender=_parse_topic_address(topics[1]),
        recipient=_parse_topic_address(topics[2]),
        atomic_amount=_parse_word(_field(raw, "data")),
    )


def _parse_block(raw: Any) -> Block:
    try:
        time = datetime.fromtimestamp(_parse_quantity(_field(raw, "timestamp")), UTC)
    except (OverflowError, ValueError, OSError):
        raise RpcError("the node sent a block with an impossible time") from None
    number = _parse_quantity(_field(raw, "number"))
    return Block(number, _parse_hash(_field(raw, "hash")), time)


def _field(raw: Any, name: str, **default: Any) -> Any:
    if not isinstance(raw, dict) or (name not in raw and not default):
        raise RpcError(f"the node's answer lacks '{name}'")
    return raw.get(name, default.get("default"))


def _parse_quantity(raw: Any) -> int:
    if not isinstance(raw, str) or not _QUANTITY.fullmatch(raw):
        raise RpcError("the node sent something else where a quantity belongs")
    return int(raw, 16)


def _parse_word(raw: Any) -> int:
    if not isinstance(raw, str) or not _WORD.fullmatch(raw):
        raise RpcError("the node sent something else where a 32-byte word belongs")
    return int(raw, 16)


def _parse_hash(raw: Any) -> str:
    return f"0x{_parse_word(raw):064x}"


def _parse_topic_address(raw: Any) -> str:
    word = _parse_word(raw)
    if word >> 160:
        raise RpcError("the node sent something else where an address belongs")
    return f"0x{word:040x}"


def _parse_string(raw: Any) -> str:
    """Read an ABI-encoded string, or the bytes32 that some old tokens answer with."""
    try:
        data = bytes.fromhex(raw.removeprefix("0x"))
        if len(data) > 64:
            length = int.from_bytes(data[32:64], "big")
            data = data[64 : 64 + length]
        return data.rstrip(b"\0").decode()
    except (AttributeError, ValueError):
        raise RpcError("the node sent something else where a string belongs") from None
