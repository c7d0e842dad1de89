r"""Derive, offline, the extended public key (xpub) of a new account from a seed phrase.

    pip install eth-account
    python -m tools.xpub --account 7

Use it for wallets that do not show an xpub, such as MetaMask. It asks for the seed phrase, and
prints the xpub of m/44'/60'/7' and its first address. It makes no network connection. Run it on a
machine where you may type your seed phrase. Of this repository it needs only tools/base58.py,
tools/sweep_keys.py and tools/sweep_packages.py.

The account must have no other use. MetaMask, Trezor and most others use only account 0
(m/44'/60'/0'/0/i). Ledger Live numbers its accounts from 0 (m/44'/60'/i'/0/0). Choose a number that
you never used: 7 is safe unless you have eight accounts in Ledger Live. The service rejects an
account that is in use. Write down the number: tools.sweep needs it.

The xpub shows all payments to the account. Together with one private key of the account, it
reveals all its other private keys. So give it only to the service.
"""

import argparse
import hashlib
import hmac
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from tools.base58 import base58check
from tools.sweep_keys import FIRST_HARDENED_INDEX, Refused, ask_phrase
from tools.sweep_packages import RIPEMD160, PrivateKey, seed_from_mnemonic

PURPOSE, ETHER = 44, 60
DEFAULT_ACCOUNT = 7
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
VERSION = bytes.fromhex("0488B21E")


@dataclass(frozen=True)
class Key:
    """A private key with its chain code (BIP-32). Its repr shows neither."""

    number: int
    chain_code: bytes

    def __repr__(self) -> str:
        return "Key()"

    @property
    def private(self) -> PrivateKey:
        """The private key."""
        return PrivateKey(self.number.to_bytes(32, "big"))

    @property
    def public(self) -> bytes:
        """The compressed public key, 33 bytes."""
        return bytes(self.private.public_key.to_compressed_bytes())

    @property
    def fingerprint(self) -> bytes:
        """The fingerprint with which children identify their parent."""
        return RIPEMD160.new(hashlib.sha256(self.public).digest()).digest()[:4]

    def child(self, index: int) -> "Key":
        """Derive a child. It is hardened if the index is FIRST_HARDENED_INDEX or more."""
        hardened = index >= FIRST_HARDENED_INDEX
        data = b"\0" + self.number.to_bytes(32, "big") if hardened else self.public
        return _split(self.chain_code, data + index.to_bytes(4, "big"), self.number)


def _split(key: bytes, data: bytes, parent: int) -> Key:
    digest = hmac.digest(key, data, hashlib.sha512)
    tweak = int.from_bytes(digest[:32], "big")
    number = (tweak + parent) % ORDER
    if tweak >= ORDER or number == 0:
        raise Refused("this account has no key: choose another number")
    return Key(number, digest[32:])


def derive(seed: bytes, path: Sequence[int]) -> tuple[Key, str]:
    """Return the key at a path of hardened indexes (without their offset), and its xpub."""
    key, parent_fingerprint, number = _split(b"Bitcoin seed", seed, 0), bytes(4), 0
    for step in path:
        parent_fingerprint, number = key.fingerprint, step + FIRST_HARDENED_INDEX
        key = key.child(number)
    data = VERSION + bytes([len(path)]) + parent_fingerprint + number.to_bytes(4, "big")
    return key, base58check(data + key.chain_code + key.public)


def seed_of(phrase: str) -> bytes:
    """Return the seed of a phrase (BIP-39). Refused if the phrase is invalid."""
    try:
        return seed_from_mnemonic(phrase, "")
    except Exception:
        # The library's message may contain the phrase.
        raise Refused("this is not a valid seed phrase") from None


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the xpub of an account and its first address, or exit with the reason.

    The default arguments are the command line's.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tools.xpub",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--account",
        type=_account,
        default=DEFAULT_ACCOUNT,
        metavar="N",
        help="N of m/44'/60'/N', a number without another use; default: %(default)s",
    )
    account = parser.parse_args(arguments).account
    try:
        key, xpub = derive(seed_of(ask_phrase()), (PURPOSE, ETHER, account))
    except Refused as refusal:
        sys.exit(f"Error: {refusal}.")
    first = key.child(0).child(0).private.public_key.to_checksum_address()
    print(f"account        m/{PURPOSE}'/{ETHER}'/{account}'")
    print(f"xpub           {xpub}")
    print(f"first_address  {first}")


def _account(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 10):
        raise argparse.ArgumentTypeError("not a number")
    if int(text) >= FIRST_HARDENED_INDEX:
        raise argparse.ArgumentTypeError("too large a number")
    return int(text)


if __name__ == "__main__":
    main()
