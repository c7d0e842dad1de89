"""The node of a developer's machine. It sends tokens from its own unlocked account.

No private key is needed here. It works on the chains 31337 and 31338 only.
"""

import time
from dataclasses import dataclass
from typing import Any

from ticketing.chain import abi
from ticketing.chain.answers import Block, parse_block, parse_quantity
from ticketing.chain.errors import RpcError
from ticketing.chain.registry import LOCAL_CHAIN_IDS, Chain
from ticketing.chain.rpc import RpcClient

MINED_SECONDS = 10

_FUNDED = 1
"""The index of the account that pays. `make run` gives it tokens."""

_TRANSFER = abi.selector("transfer(address,uint256)")


@dataclass(frozen=True)
class Sent:
    """A transfer that the node has mined."""

    tx_hash: str
    block_number: int

    def __str__(self) -> str:
        return f"in block {self.block_number}: {self.tx_hash}"


class LocalNode:
    """A node of a local chain. Every method may raise RpcError."""

    def __init__(self, chain: Chain) -> None:
        """Connect to the node. RpcError if the chain is another one."""
        self._rpc = RpcClient(chain.rpc_urls)
        served = parse_quantity(self.ask("eth_chainId"))
        if served != chain.chain_id or served not in LOCAL_CHAIN_IDS:
            raise RpcError(f"the node serves chain {served}, not {chain.chain_id}")

    def ask(self, method: str, *params: Any) -> Any:
        """Return the result of one call."""
        (result,) = self._rpc.batch([(method, list(params))])
        return result

    def head(self) -> Block:
        """Return the newest block."""
        return parse_block(self.ask("eth_getBlockByNumber", "latest", False))

    def funded(self) -> str:
        """Return the address of the account that pays."""
        accounts = self.ask("eth_accounts")
        if len(accounts) <= _FUNDED:
            raise RpcError("the node has no unlocked accounts")
        return str(accounts[_FUNDED])

    def send(self, token: str, to: str, atomic_amount: int) -> Sent:
        """Send tokens from the funded account. Return the transfer once it is mined."""
        data = _TRANSFER + (abi.address_word(to) + abi.word(atomic_amount)).hex()
        transaction = {"from": self.funded(), "to": token, "data": data}
        tx_hash = self.ask("eth_sendTransaction", transaction)
        deadline = time.monotonic() + MINED_SECONDS
        while time.monotonic() < deadline:
            receipt = self.ask("eth_getTransactionReceipt", tx_hash)
            if receipt is not None:
                if parse_quantity(receipt["status"]) != 1:
                    raise RpcError(f"transaction {tx_hash} failed: no tokens left?")
                return Sent(tx_hash, parse_quantity(receipt["blockNumber"]))
            time.sleep(0.05)
        raise RpcError(f"the node has not mined {tx_hash} in {MINED_SECONDS} seconds")
