"""Transactions as a file for Safe's Transaction Builder."""

from collections.abc import Iterable
from typing import Any

from ticketing import clock


def file_of(chain_id: int, name: str, calls: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the file. `calls`: the contract and the call data of each transaction, in order."""
    return {
        "version": "1.0",
        "chainId": str(chain_id),
        "createdAt": int(clock.now().timestamp() * 1000),
        "meta": {"name": name},
        "transactions": [{"to": to, "value": "0", "data": data} for to, data in calls],
    }
