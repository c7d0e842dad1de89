"""A real node with the interface of FakeChain, for the same sequences."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tests.support.fake_chain import FIRST_BLOCKS, TRANSFER, Seen, Send
from ticketing.chain import receivers
from ticketing.chain.endpoint import Call
from ticketing.chain.rpc import RpcClient
from tools import anvil

RICH = 10**30
ORGANIZER, *BUYERS = (
    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
    "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
    "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
)
FRIEND = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"
GAS = hex(200_000)


class AnvilChain:
    """Mines blocks only on request. Blocks from before the test are never reorganized."""

    organizer = ORGANIZER
    buyers = BUYERS
    friend = FRIEND

    def __init__(self, node: anvil.Anvil, chain_id: int, decimals: int) -> None:
        self._rpc = node.rpc
        self.chain_id = chain_id
        self._client = RpcClient([node.url])
        self.decimals = decimals
        self.lag, self.widest_range = 0, 0
        """A real node neither lags nor refuses ranges: these settings have no effect."""
        self.token = anvil.deploy_token(node.rpc, decimals)
        for holder in (ORGANIZER, *BUYERS):
            anvil.mint(node.rpc, self.token, holder, RICH)
        anvil.send(node.rpc, 0, {"to": receivers.PROXY, "data": receivers.deploy_data()})
        self._rpc("evm_setAutomine", False)
        self._rpc("anvil_setBlockTimestampInterval", 1)
        self._rpc("anvil_mine", hex(FIRST_BLOCKS))
        self._first = self.head[0] - FIRST_BLOCKS + 1
        self._dropped: list[str] = []

    def mine(self, blocks: int, time: int) -> None:
        """Add blocks, the first of them at `time` or right after its parent."""
        self._rpc("evm_setNextBlockTimestamp", max(time, self.head[2] + 1))
        self._rpc("anvil_mine", hex(blocks))

    def send(self, sends: Sequence[Send], time: int, *, apart: bool = True) -> list[str]:
        """Mine transfers in one block, each in its own transaction."""
        made = []
        for send in sends:
            data = f"0xa9059cbb{send.to[2:].lower():0>64}{send.amount:064x}"
            transaction = {"from": send.sender, "to": self.token, "data": data, "gas": GAS}
            made.append(self._rpc("eth_sendTransaction", transaction))
        self.mine(1, time)
        return made

    def collect(
        self, owner: str, orders: Sequence[tuple[str, bytes]], time: int, *, direct: bool
    ) -> None:
        """Mine a transaction that collects orders: the receivers and salts of one owner."""
        data = receivers.collect_data(
            owner, self.token, [salt for _, salt in orders], direct=direct
        )
        transaction = {"from": FRIEND, "to": receivers.FACTORY, "data": data, "gas": hex(10**6)}
        self._rpc("eth_sendTransaction", transaction)
        self.mine(1, time)

    def reorganize(self, depth: int, places: Sequence[int | None], extra: int) -> int:
        """Replace the last blocks and return how many. Like FakeChain, as far as nonces allow."""
        head = self.head[0]
        depth = min(depth, head - self._first)
        blocks = [
            self._rpc("eth_getBlockByNumber", hex(number), False)
            for number in range(head - depth + 1, head + 1)
        ]
        hashes = [each for block in blocks for each in block["transactions"]]
        raw = {each: self._rpc("eth_getRawTransactionByHash", each) for each in hashes}
        chosen = [places[turn % len(places)] if places else None for turn in range(len(hashes))]
        offsets = sorted(place % depth for place in chosen if place is not None)
        kept = [each for each, place in zip(hashes, chosen, strict=True) if place is not None]
        moved = [[raw[each], offset] for each, offset in zip(kept, offsets, strict=True)]
        self._rpc("anvil_reorg", depth, moved)
        there = {each: self._rpc("eth_getTransactionReceipt", each) for each in hashes}
        self._dropped += [raw[each] for each in hashes if there[each] is None]
        if extra:
            self._rpc("anvil_mine", hex(extra))
        return depth

    def include_dropped(self, time: int) -> None:
        """Mine dropped transactions, unless they were replaced meanwhile."""
        for each in self._dropped:
            with suppress(RuntimeError):
                self._rpc("eth_sendRawTransaction", each)
        self._dropped = []
        self.mine(1, time)

    @property
    def head(self) -> tuple[int, str, int]:
        """The newest block's number, hash and time."""
        block = self._rpc("eth_getBlockByNumber", "latest", False)
        return int(block["number"], 16), block["hash"], int(block["timestamp"], 16)

    def transfers(self) -> list[Seen]:
        """Return every transfer of the test that is on the chain now."""
        asked = {"address": self.token, "topics": [TRANSFER], "fromBlock": hex(self._first)}
        return [
            Seen(
                tx_hash=log["transactionHash"],
                log_index=int(log["logIndex"], 16),
                block_number=int(log["blockNumber"], 16),
                block_hash=log["blockHash"],
                time=int(log["blockTimestamp"], 16),
                send=Send(*("0x" + t[-40:] for t in log["topics"][1:]), int(log["data"], 16)),
            )
            for log in self._rpc("eth_getLogs", asked)
        ]

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Answer a batch as the service gets it."""
        return self._client.batch(calls)
