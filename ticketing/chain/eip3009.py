"""Transfers that a token's holder has signed (EIP-3009): their EIP-712 digest and signer."""

from dataclasses import dataclass
from typing import Any

from ticketing.chain import abi, address, secp256k1
from ticketing.chain.keccak import keccak256

_DOMAIN, _DOMAIN_FIELDS = (
    "EIP712Domain",
    "string name,string version,uint256 chainId,address verifyingContract",
)
_TRANSFER, _TRANSFER_FIELDS = (
    "TransferWithAuthorization",
    "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce",
)
_DOMAIN_TYPE = keccak256(f"{_DOMAIN}({_DOMAIN_FIELDS})".encode())
_TRANSFER_TYPE = keccak256(f"{_TRANSFER}({_TRANSFER_FIELDS})".encode())
_SIGNATURE_BYTES = 65
_RECOVERY_IDS = (27, 28)


@dataclass(frozen=True)
class TokenDomain:
    """The name and version of a token in signed messages (EIP-712)."""

    name: str
    version: str

    def separator(self, chain_id: int, token_address: str) -> bytes:
        """Return the token's DOMAIN_SEPARATOR on this chain."""
        return keccak256(
            _DOMAIN_TYPE
            + keccak256(self.name.encode())
            + keccak256(self.version.encode())
            + abi.word(chain_id)
            + abi.address_word(token_address)
        )


@dataclass(frozen=True)
class Authorization:
    """A transfer to sign. `value` is in atomic units, times are seconds, `nonce` is 32 bytes."""

    sender: str
    recipient: str
    value: int
    valid_after: int
    valid_before: int
    nonce: bytes

    def digest(self, separator: bytes) -> bytes:
        """Return what its sender signs, for the token with this domain separator."""
        message = keccak256(
            _TRANSFER_TYPE
            + abi.address_word(self.sender)
            + abi.address_word(self.recipient)
            + abi.word(self.value)
            + abi.word(self.valid_after)
            + abi.word(self.valid_before)
            + self.nonce
        )
        return keccak256(b"\x19\x01" + separator + message)


def typed_data(
    signed: Authorization, domain: TokenDomain, chain_id: int, token_address: str
) -> dict[str, Any]:
    """Return what wallets take for `eth_signTypedData_v4`. Numbers of a transfer are texts."""
    return {
        "types": {_DOMAIN: _members(_DOMAIN_FIELDS), _TRANSFER: _members(_TRANSFER_FIELDS)},
        "primaryType": _TRANSFER,
        "domain": {
            "name": domain.name,
            "version": domain.version,
            "chainId": chain_id,
            "verifyingContract": token_address,
        },
        "message": {
            "from": signed.sender,
            "to": signed.recipient,
            "value": str(signed.value),
            "validAfter": str(signed.valid_after),
            "validBefore": str(signed.valid_before),
            "nonce": f"0x{signed.nonce.hex()}",
        },
    }


def _members(fields: str) -> list[dict[str, str]]:
    pairs = (each.split() for each in fields.split(","))
    return [{"name": name, "type": kind} for kind, name in pairs]


def signer(digest: bytes, signature: bytes) -> str:
    """Return the address whose key signed a digest. ValueError for an invalid signature.

    As USDC does, it accepts only the lower half of `s` and a recovery id of 27 or 28.
    """
    if len(signature) != _SIGNATURE_BYTES or signature[-1] not in _RECOVERY_IDS:
        raise ValueError("not a signature of 65 bytes")
    r, s = abi.number_at(signature, 0), abi.number_at(signature, 32)
    if not (0 < r < secp256k1.N and 0 < s <= secp256k1.N // 2):
        raise ValueError("a number of the signature is out of range")
    # SEC 1, 4.1.6. An r above N - P, of which nobody knows a signature, is not tried.
    nonce_point = secp256k1.decompress(bytes([2 + signature[-1] - 27]) + signature[:32])
    inverse = pow(r, -1, secp256k1.N)
    hashed = abi.number_at(digest, 0)
    key = secp256k1.add_to_generator_multiple(
        -hashed * inverse % secp256k1.N,
        secp256k1.multiply(s * inverse, nonce_point),
    )
    return address.from_public_key(*key)
