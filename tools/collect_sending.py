"""For tools.collect: send one transaction after another, and wait for each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from eth_account import Account
from eth_account.signers.local import LocalAccount

from ticketing.chain.answers import MOST_WORD, parse_quantity
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import RpcInvalid, RpcLimited, RpcRefused, RpcSilent
from ticketing.chain.keccak import keccak256
from ticketing.chain.rpc import RpcClient
from tools.collect_files import Refused

GWEI = 10**9
COIN_DECIMALS = 18
MINED_SECONDS = 300
"""How long to wait for a transaction. The next run waits for the same one again."""

MOST_FEE_GWEI = {1: 100, 10: 1, 137: 1000, 8453: 1, 42161: 1}
"""What a unit of gas may cost, by chain: some times the usual. A node may lie about it."""

OTHER_MOST_FEE_GWEI = 100

MOST_GAS_PER_ORDER = {42161: 1_000_000}
"""How much gas an order may take, by chain. On Arbitrum, gas also pays for the data on Ethereum."""

OTHER_MOST_GAS_PER_ORDER = 150_000
"""An order takes 57,000, and up to 61,000 among ten: see docs/receivers.md. Tokens differ."""

ATTEMPTS = 5
SILENT_SECONDS = 6.0
"""A node that did not answer gets no request for 5 seconds: see chain/endpoint.py."""

_LEAST_PAUSE, _MOST_PAUSE = 0.05, 3.0


class TooExpensive(Exception):
    """The chain's fee is above the most that may be paid."""


class TooMuchGas(Exception):
    """A transaction takes more gas than it may: what it calls burns gas."""


class PatientClient(RpcClient):
    """Asks a node that is silent, or limits its rate, again after a pause."""

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of `calls`, in their order. RpcError after ATTEMPTS without any.

        After each limit, a quarter as many are asked at once: a node may count them, not the
        requests. Example: 50 a second may pass, and 1000 are asked. So 250, 62 and 15 are tried.
        """
        results: list[Any] = []
        at_once, failures = len(calls), 0
        while len(results) < len(calls):
            some = calls[len(results) : len(results) + at_once]
            try:
                results += super().batch(some)
                failures = 0
            except (RpcLimited, RpcSilent) as error:
                failures += 1
                if failures == ATTEMPTS:
                    raise
                if isinstance(error, RpcSilent):
                    time.sleep(SILENT_SECONDS)
                else:
                    time.sleep(error.retry_after)
                    at_once = max(1, len(some) // 4)
        return results


class Sender:
    """Sends transactions without value from one account, one at a time. All may raise RpcError."""

    def __init__(self, rpc: RpcClient, chain_id: int, key: str, most_fee: int) -> None:
        """Sign with `key`. `most_fee`: what a unit of gas may cost, in wei."""
        self._rpc = rpc
        self._chain_id = chain_id
        try:
            self._account: LocalAccount = Account.from_key(key)
        except Exception:
            # The library's message may contain the key.
            raise Refused("the key file does not have a valid private key") from None
        self._most_fee = most_fee

    @property
    def address(self) -> str:
        """The account that pays for gas."""
        return str(self._account.address)

    @property
    def coins(self) -> Decimal:
        """What the account has for gas, in whole coins."""
        return Decimal(self._ask("eth_getBalance", self.address, "latest")).scaleb(-COIN_DECIMALS)

    def wait_for_earlier(self) -> None:
        """Wait until no transaction of the account is pending, for example of a killed run."""
        deadline = time.monotonic() + MINED_SECONDS
        pause = _LEAST_PAUSE
        while self._nonce("pending") > self._nonce("latest"):
            if time.monotonic() > deadline:
                raise Refused(
                    f"an earlier transaction of {self.address} is still pending: run this again"
                    " when it is mined, or replace it by one with a higher fee"
                )
            time.sleep(pause)
            pause = min(_MOST_PAUSE, 2 * pause)

    def send(self, to: str, data: str, most_gas: int) -> dict[str, Any] | None:
        """Send a transaction, and return its receipt. None if the node says that it would fail.

        `most_gas`: how much gas it may take. TooMuchGas; TooExpensive; Refused if the account
        cannot pay, or if the transaction is not mined in time.
        """
        self.wait_for_earlier()
        try:
            gas = self._ask("eth_estimateGas", {"from": self.address, "to": to, "data": data})
        except RpcRefused:
            return None
        if gas > most_gas:
            raise TooMuchGas(f"it takes {gas} gas, more than {most_gas}: see --max-gas-per-order")
        fees = self._fees()
        # What it costs may change until it is mined: an account may get or lose its code.
        limit = min(gas * 5 // 4, most_gas)
        transaction: dict[str, Any] = {
            "chainId": self._chain_id,
            "nonce": self._nonce("latest"),
            "to": to,
            "value": 0,
            "data": data,
            "gas": limit,
            **fees,
        }
        most = limit * max(fees.values())
        owned = self._ask("eth_getBalance", self.address, "latest")
        if owned < most:
            raise Refused(
                f"{self.address} has {owned / 10**18:.6f} of the network's coin, and this may cost"
                f" {most / 10**18:.6f}: send it some"
            )
        raw = bytes(self._account.sign_transaction(transaction).raw_transaction)
        tx_hash = "0x" + keccak256(raw).hex()
        try:
            self._rpc.batch([("eth_sendRawTransaction", ["0x" + raw.hex()])])
        except RpcRefused as error:
            # A node that was asked twice says that it has it already.
            (known,) = self._rpc.batch([("eth_getTransactionByHash", [tx_hash])])
            if known is None:
                raise Refused(f"the node does not accept the transaction ({error})") from None
        print(f"  sent {tx_hash}", flush=True)
        return self._receipt(tx_hash)

    def _receipt(self, tx_hash: str) -> dict[str, Any]:
        deadline = time.monotonic() + MINED_SECONDS
        pause = _LEAST_PAUSE
        while time.monotonic() < deadline:
            (receipt,) = self._rpc.batch([("eth_getTransactionReceipt", [tx_hash])])
            if isinstance(receipt, dict):
                return receipt
            time.sleep(pause)
            pause = min(_MOST_PAUSE, 2 * pause)
        raise Refused(f"{tx_hash} is not mined yet: run this again later, it waits for it")

    def _fees(self) -> dict[str, int]:
        """Return the fields of the fee (EIP-1559), or a gas price where blocks have no base fee.

        Example: the base fee is 10 gwei and the tip 1. The most is 2 * 10 + 1 = 21, because the
        base fee may rise until the transaction is mined. With a limit of 15 it is 15. With a limit
        of 10 it is too expensive: 11 would be paid now.
        """
        (block,) = self._rpc.batch([("eth_getBlockByNumber", ["latest", False])])
        if not isinstance(block, dict):
            raise RpcInvalid("the node has no newest block")
        if block.get("baseFeePerGas") is None:
            price = self._ask("eth_gasPrice")
            self._check_fee(price)
            return {"gasPrice": price}
        base = parse_quantity(block["baseFeePerGas"], MOST_WORD)
        try:
            tip = self._ask("eth_maxPriorityFeePerGas")
        except RpcRefused:
            tip = GWEI
        self._check_fee(base + tip)
        most = min(2 * base + tip, self._most_fee)
        return {"maxFeePerGas": most, "maxPriorityFeePerGas": tip}

    def _check_fee(self, fee: int) -> None:
        if fee > self._most_fee:
            most = f"{self._most_fee / GWEI:.2f}: see --max-fee-gwei"
            raise TooExpensive(f"gas costs {fee / GWEI:.2f} gwei now, more than {most}")

    def _nonce(self, at: str) -> int:
        return self._ask("eth_getTransactionCount", self.address, at)

    def _ask(self, method: str, *params: Any) -> int:
        (answer,) = self._rpc.batch([(method, list(params))])
        return parse_quantity(answer, MOST_WORD)
