"""The ABI of contracts: selectors, and values packed into words of 32 bytes.

>>> selector("balanceOf(address)") + word(6).hex()[-4:]
'0x70a082310006'
>>> number_at(word(1) + word(6), 32)
6
"""

from ticketing.chain.keccak import keccak256

WORD_BYTES = 32


def selector(signature: str) -> str:
    """Return the first 4 bytes of call data for a function such as `decimals()`, in hex."""
    return "0x" + keccak256(signature.encode())[:4].hex()


def word(number: int) -> bytes:
    """Return a number from 0 to 2^256 - 1 as a word. OverflowError for another one."""
    return number.to_bytes(WORD_BYTES, "big")


def address_word(address: str) -> bytes:
    """Return an address of `0x` and 40 hex digits as a word."""
    return bytes.fromhex(address[2:].rjust(2 * WORD_BYTES, "0"))


def number_at(data: bytes, start: int) -> int:
    """Return the number in the word that begins at byte `start`. IndexError if it is cut off."""
    packed = data[start : start + WORD_BYTES]
    if len(packed) != WORD_BYTES:
        raise IndexError("past the end")
    return int.from_bytes(packed, "big")
