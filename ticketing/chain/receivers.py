"""Receivers, version 1: addresses of orders that can pay one owner and nobody else.

A receiver is the CREATE2 address (EIP-1014) of a clone of the contract Receiver, which the factory
Receivers makes when the money is collected. Until then it has no code, and can be paid all the
same. docs/receivers.md explains the contracts; contracts/v1 has their sources and their bytes.

The bytes of a version never change, because addresses follow from them. No update of the compiler
rebuilds them: other bytes are another version.

>>> owner = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
>>> order_salt(bytes(32), 1).hex()[:16]
'1cf395c0cd58ef24'
>>> receiver_address(owner, order_salt(bytes(32), 1))
'0xc751255E5c10c7246BCCCe5112013c2E92F9E855'
>>> receiver_address(owner, GATHERING_SALT)
'0x84Ff30c86827afBd985bc2Bdd75a11aa78140de7'
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ticketing.chain import abi
from ticketing.chain.address import checksum
from ticketing.chain.keccak import keccak256

CONTRACT_VERSION = 1

PROXY = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
"""The deterministic deployment proxy. Its call data is a salt of 32 bytes, and init code."""

FACTORY = "0x10e1a01A087937bA2fd722DAB83122dc3028a81A"
"""Receivers, deployed by the proxy with salt 0. The same on every EVM chain."""

FACTORY_CODE_HASH = "754e511789d393adb05b2bc7dbb0d5df9fa14b2e0751a0c92a06caa9ff17233e"
"""The hash of the code at FACTORY, in hex."""

IMPLEMENTATION = "0xdD7Ad2Cb2Ea52528a2f600D15506bbae8Ca38656"
"""Receiver, which the factory creates as its first contract. All receivers delegate to it."""

INIT_CODE = bytes.fromhex(
    (Path(__file__).parent / "contracts" / "v1" / "Receivers.hex").read_text().strip()[2:]
)
"""What the proxy runs to make the factory: the compiled bytes of Receivers."""

GATHERING_SALT = bytes(32)
"""The salt of an owner's gathering receiver. No order has it."""

MOST_INDEX = 2**64 - 1
"""The highest index of an order."""

SEARCH_GAP = 5_000_000
"""How many unused indexes in a row end the search of a recovery file for receivers.

Example: a file was saved at index 17, and the installation then issued 40,000 more addresses. The
search goes on until index 5,000,016, and later if it finds something there. A new installation that
continues the file starts after that, so it never issues an address that the file may find.
"""

_CREATE2 = b"\xff" + bytes.fromhex(FACTORY[2:])

# The init code of a clone, by OpenZeppelin's cloneDeterministicWithImmutableArgs: 10 bytes that
# return the 0x41 bytes after them, which are a minimal proxy (EIP-1167) and its owner, 20 bytes.
_CLONE_START = bytes.fromhex("6100413d81600a3d39f3" + "363d3d373d3d3d363d73" + IMPLEMENTATION[2:])
_CLONE_END = bytes.fromhex("5af43d82803e903d91602b57fd5bf3")

_COLLECT = abi.selector("collect(address,address,bool,bytes32[])")
_SALTS_AT = 4 * abi.WORD_BYTES


def order_salt(secret: bytes, index: int) -> bytes:
    """Return the salt of the order with this index, from 0 to MOST_INDEX: 32 bytes.

    `secret` is the wallet's, 32 bytes. Without it nobody can say that two salts, which are public
    once they are collected, belong together, or which address comes next. ValueError,
    OverflowError.
    """
    if len(secret) != 32:
        raise ValueError("the secret of a wallet has 32 bytes")
    return keccak256(secret + index.to_bytes(8, "big"))


def receiver_address(owner: str, salt: bytes) -> str:
    """Return the address of an owner's receiver, with its EIP-55 checksum.

    `owner` is `0x` and 40 hex digits, `salt` 32 bytes. ValueError.
    """
    if len(salt) != 32:
        raise ValueError("a salt has 32 bytes")
    return checksum("0x" + keccak256(_CREATE2 + salt + _clone_hash(owner))[12:].hex())


def deploy_data() -> str:
    """Return the call data for the proxy that deploys the factory."""
    return "0x" + (bytes(32) + INIT_CODE).hex()


def collect_data(owner: str, token: str, salts: Sequence[bytes], *, direct: bool = False) -> str:
    """Return the call data for the factory that sends what receivers hold to their owner.

    `token` is an ERC-20 token, or the zero address for the chain's own coin. With `direct` each
    receiver pays the owner itself, not the gathering receiver.
    """
    words = [
        abi.address_word(owner),
        abi.address_word(token),
        abi.word(direct),
        abi.word(_SALTS_AT),
        abi.word(len(salts)),
        *salts,
    ]
    return _COLLECT + b"".join(words).hex()


@lru_cache(maxsize=1024)
def _clone_hash(owner: str) -> bytes:
    """Return the hash of the init code of an owner's receivers. ValueError."""
    return keccak256(_CLONE_START + _CLONE_END + bytes.fromhex(checksum(owner)[2:]))
