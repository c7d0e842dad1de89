"""A real Ethereum node on this machine: foundry's anvil, with a test token and a funded buyer."""

import gzip
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import urllib3

from tools import START_SECONDS, Running, ToolMissing, error_line, installer, reaper
from tools.stack import ROOT

CHAIN_ID, SECOND_CHAIN_ID = 31337, 31338
CHAIN_IDS = (CHAIN_ID, SECOND_CHAIN_ID)
TOKEN_ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
BUYER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
BUYER_TOKENS = 10**12
SELLER = "0x976EA74026E726554dB657fA54763abd0C3a0aa9"
"""The node's account 6: where the money of demos goes. Nothing else uses it."""

SELLER_WALLET = ("--address", SELLER, "--chains", str(CHAIN_ID))
"""The options of `tenants create` for a wallet of this address on the first local chain."""

_MINT = "0x40c10f19"  # mint(address,uint256)
_TRANSFER = "0xa9059cbb"  # transfer(address,uint256)
_BALANCE_OF = "0x70a08231"  # balanceOf(address)
_LISTENING = re.compile(r"Listening on 127\.0\.0\.1:(\d+)")

Rpc = Callable[..., Any]


def binary() -> Path:
    """Return anvil's executable. The first call installs it from npm. ToolMissing.

    The environment variable ANVIL, the path of an executable, has priority.
    """
    if "ANVIL" in os.environ:
        return Path(os.environ["ANVIL"])
    instead = "install foundry and set ANVIL to the path of its anvil"
    home = installer.from_npm(ROOT / "tools", "anvil", instead)
    program = next(home.glob("node_modules/@foundry-rs/anvil-*/bin/anvil"), None)
    if program is None:
        raise ToolMissing(f"npm has no anvil for this machine: {instead}.")
    return program


class Anvil(Running):
    """A running node. Use it as a context manager, or `stop` it."""

    def __init__(
        self,
        *,
        port: int = 0,
        chain_id: int = CHAIN_ID,
        block_time: int | None = None,
        state: Path | None = None,
    ) -> None:
        """Start a node on 127.0.0.1 and wait until it answers.

        `port` 0: a free one. The node mines a block for each transaction and, with `block_time`
        (seconds), after each such time. The chain is loaded from the file `state`, and saved
        to it at the end. RuntimeError if the node does not start.
        """
        arguments = ["--port", str(port), "--chain-id", str(chain_id)]
        if block_time is not None:
            arguments += ["--block-time", str(block_time), "--mixed-mining"]
        if state is not None and state.exists():
            arguments += ["--load-state", str(state)]
        self._state = state
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (closed by stop)
        # Its own session: Ctrl-C does not reach it, so that the caller can stop it in order.
        self._process = subprocess.Popen(
            [binary(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.pid = self._process.pid
        reaper.watch(self.pid)
        self._http = urllib3.PoolManager(retries=False, timeout=30)
        self.port = self._wait()
        self.url = f"http://127.0.0.1:{self.port}"
        self.rpc("anvil_setLoggingEnabled", False)
        self._never_go_back_in_time()

    def rpc(self, method: str, *params: Any) -> Any:
        """Call a JSON-RPC method and return its result. RuntimeError for an error."""
        question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        try:
            answer = self._http.request("POST", self.url, json=question).json()
        except urllib3.exceptions.HTTPError as error:
            raise RuntimeError(f"anvil does not respond ({type(error).__name__})") from None
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def save(self) -> None:
        """Save the chain to its state file, atomically."""
        if self._state is not None:
            dump = bytes.fromhex(self.rpc("anvil_dumpState")[2:])
            new = self._state.with_suffix(".new")
            new.write_bytes(gzip.decompress(dump))
            new.replace(self._state)

    def stop(self) -> None:
        """Stop the node. Save the chain if it has a state file."""
        if self.alive:
            self.save()
            self._process.terminate()
        self._process.wait()
        reaper.forget(self.pid)
        self._http.clear()
        self._output.close()

    @property
    def alive(self) -> bool:
        """Whether the node is still running."""
        return self._process.poll() is None

    def _wait(self) -> int:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            ended = self._process.poll() is not None
            said = os.pread(self._output.fileno(), 1 << 20, 0).decode()
            match = _LISTENING.search(said)
            if match:
                return int(match[1])
            if ended:
                break
            time.sleep(0.01)
        self._process.kill()
        raise RuntimeError(f"anvil did not start: {error_line(said) or 'no output'}")

    def _never_go_back_in_time(self) -> None:
        """If a loaded chain's head is ahead of this machine's clock, continue at its time."""
        ahead = (
            int(self.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16) - time.time()
        )
        if ahead > 0:
            self.rpc("evm_increaseTime", int(ahead) + 1)


def ensure_token(rpc: Rpc) -> None:
    """Deploy the test token at TOKEN_ADDRESS and fund the buyer, if not done yet."""
    if rpc("eth_getCode", TOKEN_ADDRESS, "latest") == "0x":
        mint(rpc, deploy_token(rpc), BUYER, BUYER_TOKENS)


def deploy_token(rpc: Rpc, decimals: int = 6) -> str:
    """Deploy a test token from the node's first account. Return its address in lower case."""
    built = json.loads((ROOT / "tools" / "contracts" / "TestUSDC.json").read_text())
    receipt = send(rpc, 0, {"data": f"{built['bytecode']}{decimals:064x}"})
    return str(receipt["contractAddress"])


def mint(rpc: Rpc, token: str, to: str, atomic_amount: int) -> None:
    """Create new tokens for `to`."""
    send(rpc, 0, {"to": token, "data": _MINT + _word(to) + f"{atomic_amount:064x}"})


def transfer(rpc: Rpc, token: str, to: str, atomic_amount: int, sender: int = 1) -> dict[str, Any]:
    """Send tokens from one of the node's accounts (default: the buyer)."""
    return send(rpc, sender, {"to": token, "data": transfer_data(to, atomic_amount)})


def balance(rpc: Rpc, token: str, holder: str) -> int:
    """Return how many tokens an address holds, in atomic units."""
    call = {"to": token, "data": _BALANCE_OF + _word(holder)}
    return int(rpc("eth_call", call, "latest"), 16)


def transfer_data(to: str, atomic_amount: int) -> str:
    """Return the data of a transaction that transfers tokens."""
    return _TRANSFER + _word(to) + f"{atomic_amount:064x}"


def send(rpc: Rpc, sender: int, transaction: dict[str, str]) -> dict[str, Any]:
    """Send a transaction from an unlocked account. Return its receipt once it is mined."""
    account = rpc("eth_accounts")[sender]
    receipt = mined(rpc, rpc("eth_sendTransaction", {"from": account, **transaction}))
    if receipt["status"] != "0x1":
        raise RuntimeError(f"transaction {receipt['transactionHash']} failed")
    return receipt


def mined(rpc: Rpc, tx_hash: str) -> dict[str, Any]:
    """Wait until a transaction is mined. Return its receipt, also if it failed."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        receipt = rpc("eth_getTransactionReceipt", tx_hash)
        if receipt is not None:
            return dict(receipt)
        time.sleep(0.02)
    raise RuntimeError(f"transaction {tx_hash} was not mined")


def _word(address: str) -> str:
    return address[2:].lower().rjust(64, "0")
