"""A chain in memory that answers JSON-RPC like a node: thousands of steps a minute."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from ticketing.chain import receivers
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import RpcError, RpcRefused
from ticketing.chain.keccak import keccak256

TRANSFER = "0x" + keccak256(b"Transfer(address,address,uint256)").hex()
SELECTORS = {
    "0x" + keccak256(name.encode()).hex()[:8]: name.split("(")[0]
    for name in ("decimals()", "symbol()", "balanceOf(address)")
}
FIRST_BLOCKS = 8
MOST_SECONDS_BACK = 1800
"""How much older than its first block a transaction's new block may be."""


@dataclass(frozen=True)
class Send:
    """Tokens to send from one address to another."""

    sender: str
    to: str
    amount: int


@dataclass(frozen=True)
class Seen:
    """A transfer and its current place on the chain."""

    tx_hash: str
    log_index: int
    block_number: int
    block_hash: str
    time: int
    send: Send


@dataclass(frozen=True)
class Collect:
    """What the factory of receivers does in a transaction: see docs/receivers.md."""

    owner: str
    gathering: str
    receivers: tuple[str, ...]
    direct: bool


@dataclass(frozen=True)
class Transaction:
    """One that collects has other transfers in each block: all that its receivers hold there."""

    hash: str
    sends: tuple[Send, ...]
    collect: Collect | None = None


@dataclass(frozen=True)
class FakeBlock:
    number: int
    hash: str
    time: int
    transactions: tuple[Transaction, ...]

    @property
    def logs(self) -> list[tuple[int, Transaction, Send]]:
        """Every transfer with its index in the block."""
        sent = [(each, send) for each in self.transactions for send in each.sends]
        return [(index, each, send) for index, (each, send) in enumerate(sent)]


class FakeChain:
    """Blocks, transactions and their results. `lag`: how many blocks a node is behind."""

    organizer = "0x" + "0a" * 20
    buyers = ["0x" + f"b{n}" * 20 for n in range(3)]
    friend = "0x" + "f1" * 20

    def __init__(self, chain_id: int, token: str, decimals: int, time: int) -> None:
        self.chain_id = chain_id
        self.token = token.lower()
        self.decimals = decimals
        self.lag = 0
        self.widest_range = 1000
        self._serial = count(1)
        self._blocks = [FakeBlock(0, self._new_hash("block"), time - 1000, ())]
        self._dropped: list[Transaction] = []
        self.mine(FIRST_BLOCKS, time)

    # Events of the chain.

    def mine(self, blocks: int, time: int) -> None:
        """Add empty blocks, the first at `time` or right after its parent."""
        for _ in range(blocks):
            self._add(time, ())

    def send(self, sends: Sequence[Send], time: int, *, apart: bool = True) -> list[str]:
        """Mine transfers in one block: each in its own transaction, or all in one."""
        groups = [(send,) for send in sends] if apart else [tuple(sends)]
        made = [Transaction(self._new_hash("tx"), group) for group in groups]
        self._add(time, tuple(made))
        return [each.hash for each in made]

    def collect(
        self, owner: str, orders: Sequence[tuple[str, bytes]], time: int, *, direct: bool
    ) -> None:
        """Mine a transaction that collects orders: the receivers and salts of one owner."""
        gathering = receivers.receiver_address(owner, receivers.GATHERING_SALT)
        done = Collect(owner, gathering, tuple(each for each, _ in orders), direct)
        self._add(time, (Transaction(self._new_hash("tx"), (), done),))

    def reorganize(self, depth: int, places: Sequence[int | None], extra: int) -> int:
        """Replace the last blocks, and add `extra` more. Return how many were replaced.

        `places` says in which new block each transaction goes, in turns. None drops one. The order
        within a block is reversed, so that log indexes change. No transaction gets into a block
        from long before it was sent.
        """
        depth = min(depth, len(self._blocks) - 1)
        old, self._blocks = self._blocks[-depth:], self._blocks[:-depth]
        moved: list[list[Transaction]] = [[] for _ in range(depth + extra)]
        transactions = [(each, block.time) for block in old for each in block.transactions]
        earliest = [block.time for block in old] + [old[-1].time] * extra
        for turn, (each, mined_at) in enumerate(transactions):
            place = places[turn % len(places)] if places else None
            if place is None:
                self._dropped.append(each)
            else:
                to = place % len(moved)
                moved[to].insert(0, each)
                earliest[to] = max(earliest[to], mined_at - MOST_SECONDS_BACK)
        for time, inside in zip(earliest, moved, strict=True):
            self._add(time, tuple(inside))
        return depth

    def include_dropped(self, time: int) -> None:
        """Mine all dropped transactions in one block."""
        self._add(time, tuple(self._dropped))
        self._dropped = []

    def _add(self, time: int, transactions: tuple[Transaction, ...]) -> None:
        parent = self._blocks[-1]
        time = max(time, parent.time + 1)
        held: Counter[str] = Counter()
        for seen in _seen(self._blocks) if any(each.collect for each in transactions) else []:
            _move(held, seen.send)
        run = []
        for each in transactions:
            if each.collect is not None:
                each = replace(each, sends=_collected(each.collect, held))
            for send in each.sends:
                _move(held, send)
            run.append(each)
        self._blocks.append(FakeBlock(parent.number + 1, self._new_hash("block"), time, tuple(run)))

    def _new_hash(self, kind: str) -> str:
        # No other chain has the same ones.
        named = f"{self.chain_id} {kind} {next(self._serial)}"
        return "0x" + hashlib.sha256(named.encode()).hexdigest()

    # The true state, for comparison.

    @property
    def head(self) -> tuple[int, str, int]:
        """The newest block's number, hash and time."""
        block = self._blocks[-1]
        return block.number, block.hash, block.time

    def transfers(self) -> list[Seen]:
        """Return every transfer that is on the chain now."""
        return _seen(self._blocks)

    # The answers of a node.

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Answer like RpcClient.batch."""
        blocks = self._blocks[: len(self._blocks) - min(self.lag, FIRST_BLOCKS)]
        return [getattr(self, f"_{method}")(blocks, *params) for method, params in calls]

    def _eth_chainId(self, blocks: list[FakeBlock]) -> str:
        return hex(self.chain_id)

    def _eth_getBlockByNumber(self, blocks: list[FakeBlock], tag: str, full: bool) -> Any:
        number = blocks[-1].number if tag == "latest" else int(tag, 16)
        if number >= len(blocks):
            return None
        block = blocks[number]
        parent = blocks[number - 1].hash if number else "0x" + "0" * 64
        return {
            "number": hex(number),
            "hash": block.hash,
            "parentHash": parent,
            "timestamp": hex(block.time),
        }

    def _eth_getLogs(self, blocks: list[FakeBlock], asked: dict[str, Any]) -> list[Any]:
        first, last = int(asked["fromBlock"], 16), int(asked["toBlock"], 16)
        if last - first >= self.widest_range:
            raise RpcRefused("the range is too wide")
        topic, *parties = asked["topics"]
        assert (topic, asked["address"].lower()) == (TRANSFER, self.token)
        found = [_log(self.token, each) for each in _seen(blocks[first : last + 1])]
        for place, some in enumerate(parties, start=1):
            found = [each for each in found if some is None or each["topics"][place] in some]
        return found

    def _eth_getTransactionReceipt(self, blocks: list[FakeBlock], tx_hash: str) -> Any:
        inside = [each for block in blocks for each in block.transactions]
        if tx_hash not in [each.hash for each in inside]:
            return None
        logs = [_log(self.token, each) for each in _seen(blocks) if each.tx_hash == tx_hash]
        return {"status": "0x1", "logs": logs}

    def _eth_getCode(self, blocks: list[FakeBlock], of: str, tag: str) -> str:
        collects = [each for block in blocks for each in block.transactions if each.collect]
        created = {send.sender.lower() for each in collects for send in each.sends}
        return "0x6000" if of.lower() in {self.token, *created} else "0x"

    def _eth_call(self, blocks: list[FakeBlock], call: dict[str, str], tag: str) -> str:
        if call["to"] == receivers.PROXY:
            return receivers.FACTORY.lower()
        if call["to"].lower() != self.token:
            return "0x"
        if tag != "latest":
            number = int(tag, 16)
            if number >= len(blocks):
                raise RpcError("header not found")
            blocks = blocks[: number + 1]
        match SELECTORS[call["data"][:10]]:
            case "decimals":
                return f"0x{self.decimals:064x}"
            case "symbol":
                return f"0x{32:064x}{4:064x}" + b"USDC".hex().ljust(64, "0")
        holder = "0x" + call["data"][-40:]
        sends = [each.send for each in _seen(blocks)]
        received = sum(send.amount for send in sends if send.to.lower() == holder)
        return f"0x{received - sum(s.amount for s in sends if s.sender.lower() == holder):064x}"


def _seen(blocks: Sequence[FakeBlock]) -> list[Seen]:
    return [
        Seen(transaction.hash, index, block.number, block.hash, block.time, send)
        for block in blocks
        for index, transaction, send in block.logs
    ]


def _move(held: Counter[str], send: Send) -> None:
    held[send.sender.lower()] -= send.amount
    held[send.to.lower()] += send.amount


def _collected(collect: Collect, held: Counter[str]) -> tuple[Send, ...]:
    """Return what a collection sends: all to the gathering receiver, and from there to the owner.

    With `direct`, each receiver pays the owner itself.
    """
    to = collect.owner if collect.direct else collect.gathering
    sent = dict.fromkeys(each for each in collect.receivers if held[each.lower()])
    sends = [Send(each, to, held[each.lower()]) for each in sent]
    gathered = held[collect.gathering.lower()] + sum(send.amount for send in sends)
    if gathered and not collect.direct:
        sends.append(Send(collect.gathering, collect.owner, gathered))
    return tuple(sends)


def _log(token: str, seen: Seen) -> dict[str, Any]:
    return {
        "address": token,
        "topics": [TRANSFER, _word(seen.send.sender), _word(seen.send.to)],
        "data": f"0x{seen.send.amount:064x}",
        "transactionHash": seen.tx_hash,
        "logIndex": hex(seen.log_index),
        "blockNumber": hex(seen.block_number),
        "blockHash": seen.block_hash,
        "removed": False,
    }


def _word(address: str) -> str:
    return "0x" + address[2:].lower().rjust(64, "0")
