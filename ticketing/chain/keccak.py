"""Keccak-256, the hash function of Ethereum. It differs from NIST's SHA3-256."""

from Crypto.Hash import keccak


def keccak256(data: bytes) -> bytes:
    """Return the hash of `data`, 32 bytes."""
    return keccak.new(digest_bits=256, data=data).digest()
