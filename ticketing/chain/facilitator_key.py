"""The key of a hosted facilitator that wants a new token for each request, as Coinbase's CDP does.

The token is a JWT (RFC 7519), signed with EdDSA (RFC 8037) or ES256, for one method, host and path.
"""

from __future__ import annotations

import base64
import binascii
import secrets
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

_GOOD_FOR_SECONDS = 120
_SEED_BYTES, _PAIR_BYTES = 32, 64


@dataclass(frozen=True)
class FacilitatorKey:
    """The id of a key, and its private part. Make it with `parse`."""

    id: str = field(repr=False)
    private: Any = field(repr=False, compare=False)

    def bearer(self, method: str, url: str) -> str:
        """Return the token for one request."""
        now, parts = int(time.time()), urlsplit(url)
        claims = {
            "iss": "cdp",
            "sub": self.id,
            "iat": now,
            "nbf": now,
            "exp": now + _GOOD_FOR_SECONDS,
            "uris": [f"{method} {parts.netloc}{parts.path}"],
        }
        is_ed25519 = isinstance(self.private, Ed25519PrivateKey)
        headers = {"kid": self.id, "nonce": secrets.token_hex(16)}
        algorithm = "EdDSA" if is_ed25519 else "ES256"
        return jwt.encode(claims, self.private, algorithm=algorithm, headers=headers)


def parse(key_id: str, secret: str) -> FacilitatorKey:
    """Return the key of a secret, as the facilitator's console shows it. ValueError.

    Either base64 of the 64 bytes of an Ed25519 key pair, or a PEM of a P-256 key. In the PEM, `\\n`
    may stand for a new line, because a variable has one line.
    """
    private: Any
    if secret.startswith("-----BEGIN"):
        private = load_pem_private_key(secret.replace("\\n", "\n").encode(), None)
        is_p256 = isinstance(private, EllipticCurvePrivateKey) and isinstance(
            private.curve, SECP256R1
        )
        if not is_p256:
            raise ValueError("not a P-256 key")
        return FacilitatorKey(key_id, private)
    try:
        pair = base64.b64decode(secret, validate=True)
    except binascii.Error:
        raise ValueError("not base64") from None
    if len(pair) != _PAIR_BYTES:
        raise ValueError("not an Ed25519 key pair")
    private = Ed25519PrivateKey.from_private_bytes(pair[:_SEED_BYTES])
    if private.public_key().public_bytes_raw() != pair[_SEED_BYTES:]:
        raise ValueError("not an Ed25519 key pair")
    return FacilitatorKey(key_id, private)
