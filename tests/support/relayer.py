"""Who submits signed transfers to the token, and pays the gas."""

from typing import Any

import pytest

from ticketing.chain.node import Node
from ticketing.chain.rpc import RpcClient
from tools import anvil

RELAYER = 2
"""The node's account that submits."""


def held(node: anvil.Anvil, address: str) -> int:
    """The token balance of an address."""
    (balance,) = Node(RpcClient([node.url])).balances(anvil.TOKEN_ADDRESS, [address])
    return balance


def submit(
    node: anvil.Anvil, authorization: dict[str, Any], *, refused: str | None = None
) -> str | None:
    """Submit; the token must take it, or refuse it for the reason given. Return the hash."""
    call = {"to": authorization["token"], "data": authorization["calldata"]}
    if refused is None:
        return str(anvil.send(node.rpc, RELAYER, call)["transactionHash"])
    with pytest.raises(RuntimeError, match=refused):
        node.rpc("eth_call", call, "latest")
    with pytest.raises(RuntimeError, match="failed"):
        anvil.send(node.rpc, RELAYER, call)
    return None
