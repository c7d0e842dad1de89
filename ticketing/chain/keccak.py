"""Keccak-256, the digest that Ethereum uses. It is not NIST's SHA3-256."""

from Crypto.Hash import keccak


def keccak256(data: bytes) -> bytes:
    """Return the digest of `data`, 32 bytes."""
    return keccak.new(digest_bits=256, data=data).digest()
