"""Ethereum addresses, with the EIP-55 checksum."""

import re

from ticketing.chain.keccak import keccak256

ZERO = "0x" + "0" * 40
"""The sender of new tokens, and the recipient of burned ones. Nobody has its key."""

_HEX_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")

_CASE_BIT = 0x20
"""The bit in which a small letter of ASCII differs from its capital."""

_HIGH_NIBBLES = bytes(_CASE_BIT * (chr(byte) in "89abcdef") for byte in range(256))
_LETTERS = bytes(_CASE_BIT * (chr(byte) in "abcdef") for byte in range(256))


def checksum(address: str) -> str:
    """Return a `0x` address of 40 hex digits with its EIP-55 checksum. ValueError."""
    if not _HEX_ADDRESS.fullmatch(address):
        raise ValueError("not an address of 20 bytes in hex")
    digits = address[2:].lower().encode()
    digest = keccak256(digits).hex()[:40].encode()
    # A letter is a capital if the hash has 8 or more in its place. All 40 at once: each order has
    # several addresses, and a loop over their digits takes as long as the hash.
    capitals = int.from_bytes(digits.translate(_LETTERS)) & int.from_bytes(
        digest.translate(_HIGH_NIBBLES)
    )
    return "0x" + (int.from_bytes(digits) ^ capitals).to_bytes(40).decode()


def parse(text: str) -> str:
    """Check an address, and return it with its EIP-55 checksum.

    All lower or all upper case is accepted. Mixed case must have the right checksum.
    ValueError otherwise.
    """
    address = checksum(text)
    digits = text[2:]
    if digits != address[2:] and digits not in (digits.lower(), digits.upper()):
        raise ValueError("an address with a wrong EIP-55 checksum")
    return address


def from_public_key(x: int, y: int) -> str:
    """Return the address of the secp256k1 public key at the point (x, y)."""
    digest = keccak256(x.to_bytes(32, "big") + y.to_bytes(32, "big"))
    return checksum("0x" + digest[12:].hex())
