"""Keccak-256, the digest that Ethereum uses. It is not NIST's SHA3-256."""

import sys

# Where pycryptodome finds cffi it has it parse C declarations: 30 ms of every start, for calls
# that take longer than those through ctypes.
_cffi = sys.modules.pop("cffi", None)
sys.modules["cffi"] = None  # type: ignore[assignment]  # "it is not there", says the import system
try:
    from Crypto.Hash import keccak
finally:
    del sys.modules["cffi"]
    if _cffi is not None:
        sys.modules["cffi"] = _cffi


def keccak256(data: bytes) -> bytes:
    """Return the digest of `data`, 32 bytes."""
    return keccak.new(digest_bits=256, data=data).digest()
