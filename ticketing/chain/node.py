"""What the service asks of a chain: its head, headers, a token's facts, transfers to addresses."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from ticketing.chain import multicall
from ticketing.chain.answers import (
    NOTHING,
    TRANSFER_TOPIC,
    Block,
    Log,
    TokenFacts,
    Transfer,
    is_contract,
    parse_block,
    parse_decimals,
    parse_logs,
    parse_quantity,
    parse_receipt,
    parse_string,
    parse_word,
)
from ticketing.chain.keccak import keccak256
from ticketing.chain.registry import Chain
from ticketing.chain.rpc import Call, RpcClient, RpcError, RpcRefused

ADDRESSES_PER_FILTER = 1000
"""geth takes no more alternatives in one topic position."""

FILTERS_PER_REQUEST = 10
"""10,000 addresses are 700 KB. anvil takes requests of 2 MB, geth of 5 MB."""

BLOCKS_PER_RANGE = 2000
_CALLS_PER_BATCH = 100
_CALLS_PER_MULTICALL = 500

_HEAD_CALL: Call = ("eth_getBlockByNumber", ["latest", False])
_DECIMALS_CALL = "0x" + keccak256(b"decimals()")[:4].hex()
_SYMBOL_CALL = "0x" + keccak256(b"symbol()")[:4].hex()
_BALANCE_SELECTOR = "0x" + keccak256(b"balanceOf(address)")[:4].hex()


class ChainMoved(RpcError):
    """The chain changed, or the node lags behind another one, while it was being read."""


class Node:
    """Reads one chain through one JSON-RPC endpoint. Every method may raise RpcError."""

    def __init__(self, rpc: RpcClient) -> None:
        self._rpc = rpc
        self._multicall: bool | None = None

    def head(self) -> Block:
        """Return the newest block."""
        (head,) = self._rpc.batch([_HEAD_CALL])
        return parse_block(head)

    def head_and(self, number: int) -> tuple[Block, Block | None]:
        """Return the newest block, and the one with this number if the node has it."""
        head, there = self._rpc.batch([_HEAD_CALL, _header_call(number)])
        return parse_block(head), _asked_for(number, there)

    def blocks(self, numbers: Sequence[int]) -> list[Block | None]:
        """Return the blocks with these numbers, None where the node has none."""
        found: list[Block | None] = []
        for start in range(0, len(numbers), _CALLS_PER_BATCH):
            some = numbers[start : start + _CALLS_PER_BATCH]
            found += map(_asked_for, some, self._rpc.batch([_header_call(n) for n in some]))
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
                _eth_call(token_address, _DECIMALS_CALL),
                _eth_call(token_address, _SYMBOL_CALL),
            ]
        )
        return TokenFacts(
            parse_quantity(chain_id),
            None if decimals == NOTHING else parse_decimals(decimals),
            None if symbol == NOTHING else parse_string(symbol),
        )

    def transfers_of(self, tx_hash: str, token_address: str) -> list[Transfer]:
        """Return the transfers of a token in one transaction; none if it failed or is unknown."""
        (receipt,) = self._rpc.batch([("eth_getTransactionReceipt", [tx_hash])])
        logs = parse_receipt(receipt, token_address)
        headers = self._headers_of(logs)
        return [log.in_block(headers[log.block_number]) for log in logs]

    def balances(self, token_address: str, addresses: Sequence[str]) -> list[int]:
        """Return what each address holds of a token now, in the token's own units.

        Many are asked for in one call where the chain has Multicall3, else in batches.
        """
        size = _CALLS_PER_MULTICALL if addresses and self._has_multicall() else _CALLS_PER_BATCH
        held: list[int] = []
        for start in range(0, len(addresses), size):
            calls = [_balance_data(each) for each in addresses[start : start + size]]
            if size == _CALLS_PER_MULTICALL:
                data = multicall.encode(token_address, calls)
                (answer,) = self._rpc.batch([_eth_call(multicall.ADDRESS, data)])
                held += multicall.decode(answer, len(calls))
            else:
                answers = self._rpc.batch([_eth_call(token_address, data) for data in calls])
                held += [parse_word(answer) for answer in answers]
        return held

    def _has_multicall(self) -> bool:
        if self._multicall is None:
            (code,) = self._rpc.batch([("eth_getCode", [multicall.ADDRESS, "latest"])])
            self._multicall = is_contract(code)
        return self._multicall

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
                "topics": [TRANSFER_TOPIC, None, topics],
                "fromBlock": hex(first),
                "toBlock": hex(last.number),
            }
            calls.append(("eth_getLogs", [log_filter]))
        logs: list[Log] = []
        for start in range(0, max(1, len(calls)), FILTERS_PER_REQUEST):
            some = calls[start : start + FILTERS_PER_REQUEST]
            *answers, end = self._rpc.batch([*some, _header_call(last.number)])
            if end is None or parse_block(end) != last:
                raise ChainMoved(f"block {last.number} changed while it was read")
            logs += [log for answer in answers for log in parse_logs(answer)]
        known = set(wanted)
        for log in logs:
            if not (
                log.token_address == token_address.lower()
                and log.recipient in known
                and first <= log.block_number <= last.number
            ):
                raise RpcError("the node sent a log that was not asked for")
        headers = self._headers_of(logs)
        return [log.in_block(headers[log.block_number]) for log in logs]

    def _headers_of(self, logs: Sequence["Log"]) -> dict[int, Block]:
        numbers = sorted({log.block_number for log in logs})
        headers = {block.number: block for block in self.blocks(numbers) if block}
        if any(log.block_number not in headers for log in logs) or any(
            headers[log.block_number].hash != log.block_hash for log in logs
        ):
            raise ChainMoved("a log's block is not on the chain any more")
        return headers

    def is_used(self, chain_id: int, token_address: str, addresses: Sequence[str]) -> bool:
        """Tell whether an address has sent a transaction on this chain or holds the token.

        One batch. RpcError also if the node answers for another chain.
        """
        answered_id, *answers = self._rpc.batch(
            [
                ("eth_chainId", []),
                *(("eth_getTransactionCount", [each, "latest"]) for each in addresses),
                *(_eth_call(token_address, _balance_data(each)) for each in addresses),
            ]
        )
        if parse_quantity(answered_id) != chain_id:
            raise RpcError("the node answers for another chain")
        nonces, balances = answers[: len(addresses)], answers[len(addresses) :]
        return any(map(parse_quantity, nonces)) or any(map(parse_word, balances))


@lru_cache
def connect(chain: Chain) -> Node:
    """Return the node of a chain; one per process, so that connections are kept open."""
    return Node(RpcClient(chain.rpc_urls, chain.chain_id))


def _asked_for(number: int, raw: Any) -> Block | None:
    """Read the header of the block with this number, None if the node has none."""
    block = None if raw is None else parse_block(raw)
    if block is not None and block.number != number:
        raise RpcError("the node sent another block than was asked for")
    return block


def _header_call(number: int) -> Call:
    return "eth_getBlockByNumber", [hex(number), False]


def _balance_data(holder: str) -> str:
    return _BALANCE_SELECTOR + holder[2:].lower().rjust(64, "0")


def _eth_call(target: str, data: str) -> Call:
    return "eth_call", [{"to": target, "data": data}, "latest"]


def _topic(recipient: str) -> str:
    return "0x" + recipient[2:].rjust(64, "0")
