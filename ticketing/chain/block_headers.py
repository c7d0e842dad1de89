"""Read block headers by number, and compare them with the blocks of logs."""

from collections.abc import Sequence
from typing import Any

from ticketing.chain.answers import Block, Log, parse_block
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import ChainMoved, RpcError
from ticketing.chain.rpc import RpcClient

HEAD_CALL: Call = ("eth_getBlockByNumber", ["latest", False])


def header_call(number: int) -> Call:
    """Return the call for the header of one block."""
    return "eth_getBlockByNumber", [hex(number), False]


def read_header(number: int, raw: Any) -> Block | None:
    """Parse the header of the block with this number. None if the node does not have it."""
    block = None if raw is None else parse_block(raw)
    if block is not None and block.number != number:
        raise RpcError("the node sent another block than the requested one")
    return block


def read_blocks(rpc: RpcClient, numbers: Sequence[int]) -> list[Block | None]:
    """Return the blocks with these numbers. None for each that the node does not have."""
    if not numbers:
        return []
    found = rpc.batch([header_call(number) for number in numbers])
    return [read_header(*each) for each in zip(numbers, found, strict=True)]


def read_block(rpc: RpcClient, number: int) -> Block:
    """Return the block with this number. ChainMoved if the node does not have it."""
    (block,) = read_blocks(rpc, [number])
    if block is None:
        raise ChainMoved(f"the node does not have block {number}")
    return block


def blocks_of(rpc: RpcClient, logs: Sequence[Log]) -> dict[int, Block]:
    """Return the blocks of `logs` by number. ChainMoved if a hash differs."""
    numbers = sorted({log.block_number for log in logs})
    found = {block.number: block for block in read_blocks(rpc, numbers) if block}
    if any(
        log.block_number not in found or found[log.block_number].hash != log.block_hash
        for log in logs
    ):
        raise ChainMoved("the block of a log is no longer on the chain")
    return found
