"""Texts that people sign in their wallets (EIP-191), and signatures of contracts (EIP-1271)."""

from ticketing.chain import abi, eip3009
from ticketing.chain.keccak import keccak256

_IS_VALID = keccak256(b"isValidSignature(bytes32,bytes)")[:4]


def digest(text: str) -> bytes:
    """Return what an account signs of a text."""
    message = text.encode()
    return keccak256(b"\x19Ethereum Signed Message:\n%d%s" % (len(message), message))


def is_signed_by_key(hashed: bytes, signature: bytes, account: str) -> bool:
    """Return whether the key of an account has signed a digest. Wallets write v as 0 or 27."""
    if len(signature) == 65 and signature[64] < 2:
        signature = signature[:64] + bytes([signature[64] + 27])
    try:
        return eip3009.signer(hashed, signature) == account
    except ValueError:
        return False


def validity_data(hashed: bytes, signature: bytes) -> str:
    """Return the call data that asks a contract whether a signature of a digest is its own."""
    padded = signature + bytes(-len(signature) % 32)
    call = _IS_VALID + hashed + abi.word(64) + abi.word(len(signature)) + padded
    return f"0x{call.hex()}"


def is_valid(answer: bytes) -> bool:
    """Return whether a contract's answer says so: its first four bytes are those of the call."""
    return len(answer) >= 32 and answer[:32] == _IS_VALID + bytes(28)
