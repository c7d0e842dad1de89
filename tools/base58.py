"""Base58Check, the text form of extended keys (BIP-32): written here, read by the service."""

import hashlib

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def base58check(data: bytes) -> str:
    """Return data that does not begin with a zero byte, and its checksum, in base58."""
    checksum = hashlib.sha256(hashlib.sha256(data).digest()).digest()[:4]
    number, text = int.from_bytes(data + checksum, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return text
