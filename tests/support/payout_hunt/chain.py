"""A chain in memory with a token and the factory of refunds. It answers JSON-RPC like a node."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from ticketing.chain import abi, address, receivers
from ticketing.chain.answers import TRANSFER_TOPIC
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import RpcRefused
from ticketing.chain.keccak import keccak256
from ticketing.chain.refunded_events import REFUNDED_TOPIC, ListedPayment

CODE = "0x6000"
"""The code of every contract here."""
CODE_HASH = keccak256(bytes.fromhex(CODE[2:])).hex()
WORTHLESS = "0x00000000000000000000000000000000deadbe01"
"""A token that writes nothing and moves nothing."""
RICH = 10**15
NOBODY = address.ZERO
_CALLS = {
    abi.selector(name): name.partition("(")[0]
    for name in (
        "decimals()",
        "symbol()",
        "balanceOf(address)",
        "allowance(address,address)",
        "refunded(address,bytes32)",
        "transfer(address,uint256)",
    )
}


class Log(NamedTuple):
    """What a contract wrote: its address, the topics, and the data."""

    contract: str
    topics: tuple[str, ...]
    data: str


@dataclass(frozen=True)
class Transaction:
    """`run` takes the time of the block. It returns the logs, or None if the transaction fails."""

    hash: str
    run: Callable[[int], Sequence[Log] | None]


@dataclass
class Mined:
    """A block with its transactions and their logs."""

    number: int
    hash: str
    parent: str
    time: int
    transactions: list[tuple[Transaction, Sequence[Log]]]

    def logs(self) -> Iterator[dict[str, Any]]:
        """Yield the logs as a node answers them."""
        index = count()
        for transaction, logs in self.transactions:
            for log in logs:
                yield answered(log, self, transaction.hash, next(index))


class PayoutChain:
    """Blocks, and what is true after the last one. Whoever pays has allowed the factory all."""

    def __init__(self, chain_id: int, token: str, time: int, rich: Sequence[str]) -> None:
        """`rich`: who has RICH of the token at the beginning."""
        self.chain_id, self.token = chain_id, token.lower()
        self._serial = count()
        self.blocks: list[Mined] = []
        self.dropped: list[Transaction] = []
        self._add(time, [self._new(lambda _: [self._moved(NOBODY, each, RICH) for each in rich])])
        self.mine(7, time)

    # What people do.

    def mine(self, blocks: int, time: int) -> None:
        """Add empty blocks, the first at `time` or right after its parent."""
        for _ in range(blocks):
            self._add(time, [])

    def transfer(self, sender: str, to: str, amount: int, time: int) -> str | None:
        """Send tokens. Return the transaction's hash, None if it fails, as the next ones do."""
        return self._send(lambda _: self._move(sender, to, amount), time)

    def collect(self, owner: str, receiver: str, time: int) -> str | None:
        """Send what a receiver holds to its owner, by the gathering receiver."""
        gathering = receivers.receiver_address(owner, receivers.GATHERING_SALT)

        def run(_: int) -> Sequence[Log] | None:
            held = self.balance(receiver)
            first = self._move(receiver, gathering, held) if held else None
            return first and [*first, self._moved(gathering, owner, held)]

        return self._send(run, time)

    def pay(
        self, payer: str, token: str, valid_before: int, paid: Sequence[ListedPayment], time: int
    ) -> str | None:
        """Call `refund` of the factory."""

        def run(now: int) -> Sequence[Log] | None:
            logs: list[Log] = []
            seen = set(self.used())
            is_real = token.lower() == self.token
            unspent = self.balance(payer)
            for each in paid:
                unspent -= each.atomic_amount if is_real else 0
                if now > valid_before or (payer, each.id) in seen or unspent < 0:
                    return None
                seen.add((payer, each.id))
                if is_real:
                    logs.append(self._moved(payer, each.to, each.atomic_amount))
                logs.append(refunded_log(payer, token, each))
            return logs

        return self._send(run, time)

    def reorganize(self, depth: int, *, drop: bool, time: int) -> None:
        """Replace the last blocks by one more. Their transactions return in the first, or wait."""
        old, self.blocks = self.blocks[-depth:], self.blocks[:-depth]
        lost = [transaction for block in old for transaction, _ in block.transactions]
        self.dropped += lost if drop else []
        self._add(old[0].time, [] if drop else lost)
        self.mine(depth, time)

    def include_dropped(self, time: int) -> None:
        """Mine the transactions that reorganizations dropped."""
        again, self.dropped = self.dropped, []
        self._add(time, again)

    # What is true.

    @property
    def head(self) -> Mined:
        """The newest block."""
        return self.blocks[-1]

    def has(self, tx_hash: str) -> bool:
        """Return whether a transaction is on the chain."""
        return any(tx.hash == tx_hash for block in self.blocks for tx, _ in block.transactions)

    def transfers(self, blocks: Sequence[Mined] | None = None) -> Iterator[tuple[str, str, int]]:
        """Yield sender, recipient and amount of each transfer of the token, addresses in lower."""
        for block in self.blocks if blocks is None else blocks:
            for _, logs in block.transactions:
                for log in logs:
                    if log.topics[0] == TRANSFER_TOPIC:
                        sender, to = ("0x" + topic[-40:] for topic in log.topics[1:])
                        yield sender, to, int(log.data, 16)

    def received(self, holder: str) -> int:
        """Return what an address ever received."""
        return sum(amount for _, to, amount in self.transfers() if to == holder.lower())

    def balance(self, holder: str, blocks: Sequence[Mined] | None = None) -> int:
        """Return what an address has."""
        who = holder.lower()
        return sum(
            amount * ((to == who) - (sender == who))
            for sender, to, amount in self.transfers(blocks)
        )

    def used(self, blocks: Sequence[Mined] | None = None) -> dict[tuple[str, str], str]:
        """Return the ids that were used, each with its payer, and in which transaction."""
        return {
            (address.checksum("0x" + log.topics[1][-40:]), log.topics[2]): transaction.hash
            for block in (self.blocks if blocks is None else blocks)
            for transaction, logs in block.transactions
            for log in logs
            if log.topics[0] == REFUNDED_TOPIC
        }

    def _send(self, run: Callable[[int], Sequence[Log] | None], time: int) -> str | None:
        transaction = self._new(run)
        self._add(time, [transaction])
        return transaction.hash if self.has(transaction.hash) else None

    def _add(self, time: int, transactions: Sequence[Transaction]) -> None:
        parent = self.blocks[-1] if self.blocks else None
        time = max(time, parent.time + 1) if parent else time
        block = Mined(len(self.blocks), self._hash(), parent.hash if parent else "0x0", time, [])
        self.blocks.append(block)
        for each in transactions:
            logs = each.run(time)
            if logs:
                block.transactions.append((each, logs))

    def _move(self, sender: str, to: str, amount: int) -> Sequence[Log] | None:
        return [self._moved(sender, to, amount)] if self.balance(sender) >= amount else None

    def _moved(self, sender: str, to: str, amount: int) -> Log:
        return transfer_log(self.token, sender, to, amount)

    def _new(self, run: Callable[[int], Sequence[Log] | None]) -> Transaction:
        return Transaction(self._hash(), run)

    def _hash(self) -> str:
        return "0x" + hashlib.sha256(str(next(self._serial)).encode()).hexdigest()

    # The answers of a node.

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Answer like RpcClient.batch."""
        return [getattr(self, f"_{method}")(*params) for method, params in calls]

    def _eth_chainId(self) -> str:
        return hex(self.chain_id)

    def _eth_getBlockByNumber(self, tag: str, full: bool) -> Any:
        number = self.head.number if tag == "latest" else int(tag, 16)
        if number > self.head.number:
            return None
        block = self.blocks[number]
        named = {"hash": block.hash, "parentHash": block.parent.ljust(66, "0")}
        return {"number": hex(number), **named, "timestamp": hex(block.time), "transactions": []}

    def _eth_getLogs(self, asked: dict[str, Any]) -> list[Any]:
        first, last = int(asked["fromBlock"], 16), int(asked["toBlock"], 16)
        inside = self.blocks[first : last + 1]
        return [log for block in inside for log in block.logs() if is_asked(log, asked)]

    def _eth_getTransactionReceipt(self, tx_hash: str) -> Any:
        logs = [
            log
            for block in self.blocks
            for log in block.logs()
            if log["transactionHash"] == tx_hash
        ]
        return {"status": "0x1", "logs": logs} if logs else None

    def _eth_getCode(self, of: str, tag: str) -> str:
        contracts = (self.token, WORTHLESS, receivers.FACTORY.lower())
        return CODE if of.lower() in contracts else "0x"

    def _eth_call(self, call: dict[str, str], at: Any) -> str:
        data, to = call["data"], call["to"].lower()
        if to not in (self.token, receivers.FACTORY.lower()):
            return "0x"
        words = [data[start : start + 64] for start in range(10, len(data), 64)]
        blocks = self._blocks_at(at)
        match _CALLS.get(data[:10]):
            case "decimals":
                return f"0x{6:064x}"
            case "symbol":
                return f"0x{32:064x}{4:064x}" + b"USDC".hex().ljust(64, "0")
            case "balanceOf":
                return f"0x{self.balance('0x' + words[0][-40:], blocks):064x}"
            case "allowance":
                return f"0x{2**255:064x}"
            case "refunded":
                used = address.checksum("0x" + words[0][-40:]), "0x" + words[1]
                return f"0x{used in self.used(blocks):064x}"
            case "transfer":
                if self.balance(call["from"], blocks) < int(words[1], 16):
                    raise RpcRefused("execution reverted")
                return f"0x{1:064x}"
        return "0x"

    def _blocks_at(self, at: Any) -> Sequence[Mined]:
        if isinstance(at, dict):
            numbers = [each.number for each in self.blocks if each.hash == at["blockHash"]]
        else:
            numbers = [self.head.number if at == "latest" else int(at, 16)]
        if not numbers or numbers[0] > self.head.number:
            raise RpcRefused("header not found")
        return self.blocks[: numbers[0] + 1]


def transfer_log(token: str, sender: str, to: str, amount: int) -> Log:
    """Return the log of a transfer."""
    return Log(token.lower(), (TRANSFER_TOPIC, _word(sender), _word(to)), f"0x{amount:064x}")


def refunded_log(payer: str, token: str, paid: ListedPayment) -> Log:
    """Return the log of the factory for one payment."""
    data = "0x" + _word(token)[2:] + _word(paid.to)[2:] + f"{paid.atomic_amount:064x}"
    return Log(receivers.FACTORY.lower(), (REFUNDED_TOPIC, _word(payer), paid.id), data)


def answered(log: Log, block: Mined, tx_hash: str, index: int) -> dict[str, Any]:
    """Return a log as a node answers it."""
    return {
        "address": log.contract,
        "topics": list(log.topics),
        "data": log.data,
        "transactionHash": tx_hash,
        "logIndex": hex(index),
        "blockNumber": hex(block.number),
        "blockHash": block.hash,
        "removed": False,
    }


def is_asked(log: dict[str, Any], asked: dict[str, Any]) -> bool:
    """Return whether a log meets the filter of an eth_getLogs."""
    if log["address"] != asked["address"].lower():
        return False
    return all(
        wanted is None or (place < len(log["topics"]) and log["topics"][place] in wanted)
        for place, wanted in enumerate(asked["topics"])
    )


def _word(of_address: str) -> str:
    return "0x" + of_address[2:].lower().rjust(64, "0")
