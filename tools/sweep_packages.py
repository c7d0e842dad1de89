"""For tools.sweep and tools.xpub: what they use of eth-account and of the packages that it brings.

The service does not need them, so `make run` does not install them. All imports are here, so that a
missing package ends the program with one sentence.
"""

import sys

try:
    from Crypto.Hash import RIPEMD160
    from eth_account import Account
    from eth_account.hdaccount import seed_from_mnemonic
    from eth_account.signers.local import LocalAccount
    from eth_keys.datatypes import PrivateKey
    from eth_utils.address import to_checksum_address
    from eth_utils.crypto import keccak
except ImportError:
    sys.exit(
        "Error: this program needs eth-account. Install it with"
        f" '{sys.executable} -m pip install eth-account'."
    )

__all__ = [
    "RIPEMD160",
    "Account",
    "LocalAccount",
    "PrivateKey",
    "keccak",
    "seed_from_mnemonic",
    "to_checksum_address",
]
