"""Block headers: asked for by number, and compared with what logs say of their blocks."""

from collections.abc import Sequence
from typing import Any

from ticketing.chain.answers import Block, Log, parse_block
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import ChainMoved, RpcError
from ticketing.chain.rpc import RpcClient

HEAD_CALL: Call = ("eth_getBlockByNumber", ["latest", False])


def header_call(number: int) -> Call:
    """Return the question for the header of one block."""
    return "eth_getBlockByNumber", [hex(number), False]


def read_header(number: int, raw: Any) -> Block | None:
    """Read the header of the block with this number, None if the node has none."""
    block = None if raw is None else parse_block(raw)
    if block is not None and block.number != number:
        raise RpcError("the node sent another block than was asked for")
    return block


def read_blocks(rpc: RpcClient, numbers: Sequence[int]) -> list[Block | None]:
    """Return the blocks with these numbers, None where the node has none."""
    if not numbers:
        return []
    found = rpc.batch([header_call(number) for number in numbers])
    return [read_header(*each) for each in zip(numbers, found, strict=True)]


def read_block(rpc: RpcClient, number: int) -> Block:
    """Return the block with this number. ChainMoved if the node has none."""
    (block,) = read_blocks(rpc, [number])
    if block is None:
        raise ChainMoved(f"the node does not have block {number}")
    return block


def blocks_of(rpc: RpcClient, logs: Sequence[Log]) -> dict[int, Block]:
    """Return the blocks that hold `logs`, by number. ChainMoved unless the hashes agree."""
    numbers = sorted({log.block_number for log in logs})
    found = {block.number: block for block in read_blocks(rpc, numbers) if block}
    if any(
        log.block_number not in found or found[log.block_number].hash != log.block_hash
        for log in logs
    ):
        raise ChainMoved("a log's block is not on the chain any more")
    return found
