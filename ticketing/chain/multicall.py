"""Combine many calls into one, with `aggregate3` of Multicall3.

Most chains have that contract, at the same address. The ABI encoding is written here: a call is
(address target, bool allowFailure, bytes callData), a result is (bool success, bytes returnData).
"""

from collections.abc import Sequence

from ticketing.chain.errors import RpcError

ADDRESS = "0xcA11bde05977b3631167028862bE2a173976CA11"
_AGGREGATE3 = "0x82ad56cb"
_WORD = 64
_BALANCE_OF_DATA = 36
_CALL_WORDS = 6


def encode(target: str, calls: Sequence[str]) -> str:
    """Return the call data for `calls` to `target`. Each is 36 bytes in hex, as for balanceOf."""
    count = len(calls)
    heads = [_word(_WORD // 2 * (count + _CALL_WORDS * place)) for place in range(count)]
    bodies = [
        _word(int(target, 16))
        + _word(0)
        + _word(3 * _WORD // 2)
        + _word(_BALANCE_OF_DATA)
        + call.removeprefix("0x").ljust(2 * _WORD, "0")
        for call in calls
    ]
    return _AGGREGATE3 + _word(_WORD // 2) + _word(count) + "".join(heads) + "".join(bodies)


def decode(answer: object, count: int) -> list[int]:
    """Return the numbers that `count` calls returned. RpcError if one of them failed."""
    if not isinstance(answer, str) or not answer.startswith("0x"):
        raise RpcError("the node sent an invalid list of results")
    try:
        data = bytes.fromhex(answer[2:])
        start = _number(data, 0) + 32
        if _number(data, start - 32) != count:
            raise RpcError("the node did not return a result for every call")
        return [_result(data, start + _number(data, start + 32 * n)) for n in range(count)]
    except (ValueError, IndexError):
        raise RpcError("the node's list of results is truncated") from None


def _result(data: bytes, at: int) -> int:
    success, length = _number(data, at), _number(data, at + 64)
    if success != 1 or length != 32:
        raise RpcError("one of the combined calls failed")
    return _number(data, at + 96)


def _number(data: bytes, at: int) -> int:
    word = data[at : at + 32]
    if len(word) != 32:
        raise IndexError("past the end")
    return int.from_bytes(word, "big")


def _word(number: int) -> str:
    return f"{number:064x}"
