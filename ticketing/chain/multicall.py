"""Combine many calls into one, with `aggregate3` of Multicall3.

Most chains have that contract, at the same address. A call is
(address target, bool allowFailure, bytes callData), a result is (bool success, bytes returnData).
"""

from collections.abc import Sequence

from ticketing.chain import abi
from ticketing.chain.errors import RpcError

ADDRESS = "0xcA11bde05977b3631167028862bE2a173976CA11"
_AGGREGATE3 = "0x82ad56cb"
_BALANCE_OF_DATA = 36
_CALL_WORDS = 6


def encode(target: str, calls: Sequence[str]) -> str:
    """Return the call data for `calls` to `target`.

    Each is `0x` and 36 bytes in hex, as for balanceOf.
    """
    count = len(calls)
    heads = [abi.word(abi.WORD_BYTES * (count + _CALL_WORDS * place)) for place in range(count)]
    bodies = [
        abi.address_word(target)
        + abi.word(0)
        + abi.word(3 * abi.WORD_BYTES)
        + abi.word(_BALANCE_OF_DATA)
        + bytes.fromhex(call[2:]).ljust(2 * abi.WORD_BYTES, b"\0")
        for call in calls
    ]
    words = abi.word(abi.WORD_BYTES) + abi.word(count) + b"".join(heads) + b"".join(bodies)
    return _AGGREGATE3 + words.hex()


def decode(answer: object, count: int) -> list[int]:
    """Return the numbers that `count` calls returned. RpcError if one of them failed."""
    if not isinstance(answer, str) or not answer.startswith("0x"):
        raise RpcError("the node sent an invalid list of results")
    try:
        data = bytes.fromhex(answer[2:])
        start = abi.number_at(data, 0) + 32
        if abi.number_at(data, start - 32) != count:
            raise RpcError("the node did not return a result for every call")
        return [_result(data, start + abi.number_at(data, start + 32 * n)) for n in range(count)]
    except (ValueError, IndexError):
        raise RpcError("the node's list of results is truncated") from None


def _result(data: bytes, at: int) -> int:
    success, length = abi.number_at(data, at), abi.number_at(data, at + 64)
    if success != 1 or length != 32:
        raise RpcError("one of the combined calls failed")
    return abi.number_at(data, at + 96)
