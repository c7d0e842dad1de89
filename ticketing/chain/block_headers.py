"""Read block headers by number, and compare them with the blocks of logs."""

from collections.abc import Sequence
from typing import Any

from ticketing.chain.answers import Block, Log, parse_block
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import ChainMoved, NotLinked, RpcError
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


def check_link(known: Block, found: Block | None) -> None:
    """Check that a node has a block that was read before. ChainMoved, NotLinked.

    `found` is what the node has at its number. In one batch with other questions, this shows that
    the other answers are of the same chain: one node behind a URL answers a batch.
    """
    if found is None:
        raise ChainMoved(f"the node does not have block {known.number}")
    if found.hash != known.hash:
        raise NotLinked(f"the node has another block {known.number} than the one that was read")


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
    return match_blocks(logs, read_blocks(rpc, numbers_of(logs)))


def numbers_of(logs: Sequence[Log]) -> list[int]:
    """Return the numbers of the blocks of `logs`, in order."""
    return sorted({log.block_number for log in logs})


def match_blocks(logs: Sequence[Log], blocks: Sequence[Block | None]) -> dict[int, Block]:
    """Return `blocks` by number. ChainMoved if one of a log is not there or has another hash."""
    found = {block.number: block for block in blocks if block is not None}
    if any(
        log.block_number not in found or found[log.block_number].hash != log.block_hash
        for log in logs
    ):
        raise ChainMoved("the block of a log is no longer on the chain")
    return found
