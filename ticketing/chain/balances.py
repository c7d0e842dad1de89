"""Read what many addresses hold, with as few requests as the node accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ticketing.chain import abi, address, multicall
from ticketing.chain.answers import MOST_WORD, is_contract, parse_quantity, parse_word
from ticketing.chain.endpoint import Call
from ticketing.chain.errors import ChainMoved, RpcError, RpcLimited, RpcSilent
from ticketing.chain.request_size import RequestSize
from ticketing.chain.rpc import RpcClient

At: TypeAlias = str | dict[str, str]
"""A block in which a call is made: its number, "latest", or {"blockHash": its hash} (EIP-1898)."""

CALLS_PER_MULTICALL = 500
"""112 KB of call data."""

_BALANCE = abi.selector("balanceOf(address)")
_COIN_BALANCE = abi.selector("getEthBalance(address)")


@dataclass
class _Combined:
    """How many balances one call may read. `works`: None before it was tried."""

    works: bool | None = None
    size: RequestSize = field(default_factory=lambda: RequestSize(CALLS_PER_MULTICALL))


class BalanceReader:
    """Reads balances of one chain: many in a call if the chain has Multicall3, else in batches.

    A call that the node refuses is halved, whatever it says: it may allow fewer bytes, less gas or
    less time. The size that works is kept, and a larger one is tried again later.
    """

    def __init__(self, rpc: RpcClient) -> None:
        self._rpc = rpc
        self._of_tokens = _Combined()
        self._of_coins = _Combined()

    def read(self, token_address: str, addresses: Sequence[str], at: At = "latest") -> list[int]:
        """Return what each address holds, in atomic units; of the zero address: coins, in wei.

        `at` is a block. RpcError: the node refuses the balance of one address by itself, too.
        """
        combined = self._combined(token_address)
        if combined.works is None and addresses:
            (code,) = self._rpc.batch([("eth_getCode", [multicall.ADDRESS, "latest"])])
            combined.works = is_contract(code)
        held: list[int] = []
        while combined.works and len(held) < len(addresses):
            some = addresses[len(held) : len(held) + combined.size.now]
            try:
                (answer,) = self._rpc.batch([_many(token_address, some, at)])
                held += multicall.decode(answer, len(some))
                combined.size.passed(len(some))
            except (ChainMoved, RpcLimited):
                raise
            except RpcSilent:
                # It gets no requests for a while. The next call asks for less.
                combined.size.failed(len(some))
                raise
            except RpcError:
                # Is it too much at once? If not, this fails too: then less would not help.
                held += self._one_by_one(token_address, some[:1], at)
                if len(some) > 1:
                    combined.size.failed(len(some))
                else:
                    combined.works = combined.size.now > 1
        return held + self._one_by_one(token_address, addresses[len(held) :], at)

    def calls(self, token_address: str, addresses: Sequence[str], at: At = "latest") -> list[Call]:
        """Return the calls of `read`. None before it is known if the chain has Multicall3."""
        combined = self._combined(token_address)
        if combined.works is None:
            return []
        if not combined.works:
            return [_one(token_address, each, at) for each in addresses]
        size = combined.size.now
        parts = [addresses[start : start + size] for start in range(0, len(addresses), size)]
        return [_many(token_address, some, at) for some in parts]

    def _combined(self, token_address: str) -> _Combined:
        return self._of_coins if token_address == address.ZERO else self._of_tokens

    def _one_by_one(self, token_address: str, addresses: Sequence[str], at: At) -> list[int]:
        if not addresses:
            return []
        answers = self._rpc.batch([_one(token_address, each, at) for each in addresses])
        if token_address == address.ZERO:
            return [parse_quantity(answer, MOST_WORD) for answer in answers]
        return [parse_word(answer) for answer in answers]


def balance_call(token_address: str, holder: str, at: At = "latest") -> Call:
    """Return the call for one address's balance of a token."""
    data = _BALANCE + abi.address_word(holder).hex()
    return "eth_call", [{"to": token_address, "data": data}, at]


def _one(token_address: str, holder: str, at: At) -> Call:
    if token_address == address.ZERO:
        return "eth_getBalance", [holder, at]
    return balance_call(token_address, holder, at)


def _many(token_address: str, holders: Sequence[str], at: At) -> Call:
    is_coin = token_address == address.ZERO
    target, selector = (multicall.ADDRESS, _COIN_BALANCE) if is_coin else (token_address, _BALANCE)
    calls = [selector + abi.address_word(each).hex() for each in holders]
    return "eth_call", [{"to": multicall.ADDRESS, "data": multicall.encode(target, calls)}, at]
