"""Derive payment addresses from an account's extended public key (BIP-32, BIP-44).

The organizer's key belongs to the account `m/44'/60'/account'`. Addresses are its children
`0/0, 0/1, ...`, as in every wallet. A private key cannot be derived from it.
"""

import hashlib
import hmac
from dataclasses import dataclass
from functools import lru_cache

from ticketing.chain import address, secp256k1

_VERSION_XPUB = bytes.fromhex("0488B21E")
_VERSION_XPRV = bytes.fromhex("0488ADE4")
_ACCOUNT_DEPTH = 3
_FIRST_HARDENED_INDEX = 2**31
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_SERIALIZED_LENGTH = 78
_ENCODED_LENGTH = 111
_CHECKSUM_LENGTH = 4

MAX_INDEX = _FIRST_HARDENED_INDEX - 1


class InvalidXpub(ValueError):
    """Not an extended public key of an account. `code` and the message have the reason.

    They never contain the key.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class ExtendedKey:
    """A public key, as a point, and the chain code to derive its children."""

    point: secp256k1.Point
    chain_code: bytes

    @property
    def public_key(self) -> bytes:
        """The compressed public key, 33 bytes."""
        return secp256k1.compress(self.point)

    def child(self, index: int) -> "ExtendedKey":
        """Derive the non-hardened child `index`, 0..MAX_INDEX (BIP-32, CKDpub)."""
        if not 0 <= index <= MAX_INDEX:
            raise ValueError("only non-hardened children have a public derivation")
        digest = hmac.digest(
            self.chain_code, self.public_key + index.to_bytes(4, "big"), hashlib.sha512
        )
        tweak = int.from_bytes(digest[:32], "big")
        if tweak >= secp256k1.N:
            raise ValueError("this index has no child")
        point = secp256k1.add_to_generator_multiple(tweak, self.point)
        return ExtendedKey(point, digest[32:])


def parse(text: str) -> ExtendedKey:
    """Parse an account's `xpub`. InvalidXpub for a private key, a typo or another depth."""
    data = _base58check(text)
    version, depth = data[:4], data[4]
    if version == _VERSION_XPRV:
        raise InvalidXpub(
            "xpub_private", "This is a private key. Keep it secret, and send the public key (xpub)."
        )
    if version != _VERSION_XPUB:
        raise InvalidXpub("xpub", "Not an extended public key: it must begin with 'xpub'.")
    if depth != _ACCOUNT_DEPTH:
        raise InvalidXpub(
            "xpub_depth", "Not the key of an account: send one of depth 3, such as m/44'/60'/7'."
        )
    try:
        point = secp256k1.decompress(data[45:])
    except ValueError:
        raise InvalidXpub(
            "xpub", "Not an extended public key: its point is not on the curve."
        ) from None
    return ExtendedKey(point, chain_code=data[13:45])


@lru_cache(maxsize=1024)
def _receiving_key(xpub: str) -> ExtendedKey:
    return parse(xpub).child(0)


def derive_address(xpub: str, index: int) -> str:
    """Return the EIP-55 address at `0/index` of the account key `xpub`."""
    return address.from_public_key(*_receiving_key(xpub).child(index).point)


def _base58check(text: str) -> bytes:
    number = 0
    if len(text) > _ENCODED_LENGTH:
        raise InvalidXpub("xpub", "Not an extended public key: it is too long.")
    for character in text:
        digit = _BASE58.find(character)
        if digit < 0:
            raise InvalidXpub(
                "xpub", "Not an extended public key: it has a character outside base58."
            )
        number = number * 58 + digit
    length = _SERIALIZED_LENGTH + _CHECKSUM_LENGTH
    if number >= 1 << 8 * length:
        raise InvalidXpub("xpub", "Not an extended public key: it is too long.")
    data = number.to_bytes(length, "big")
    payload, check = data[:_SERIALIZED_LENGTH], data[_SERIALIZED_LENGTH:]
    twice = hashlib.sha256(hashlib.sha256(payload).digest()).digest()
    if twice[:_CHECKSUM_LENGTH] != check:
        raise InvalidXpub("xpub", "Not an extended public key: its checksum is wrong.")
    return payload
