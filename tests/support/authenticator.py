"""A passkey's authenticator, written from WebAuthn: it makes a key, and signs with it.

tests/pages/test_passkeys.py has a real browser's. This one is for tests without a browser.
"""

import base64
import hashlib
import html
import json
import re
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

_OPTIONS = re.compile(r'data-options="([^"]+)"')
_ID = b"a credential's id"
_PRESENT_AND_VERIFIED, _HAS_KEY = 0x05, 0x40


@dataclass
class Authenticator:
    """An authenticator at one site, with one key on the curve P-256."""

    origin: str
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    def make(self, page: str) -> str:
        """Answer the form of a page that asks for a new passkey."""
        options = options_of(page)
        point = self.key.public_key().public_numbers()
        # COSE (RFC 9053): an EC2 key, ES256, P-256.
        public = {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32), -3: point.y.to_bytes(32)}
        credential = bytes(16) + len(_ID).to_bytes(2) + _ID + cbor2.dumps(public)
        data = self._data(options["rp"]["id"], _PRESENT_AND_VERIFIED | _HAS_KEY) + credential
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client_data = self._client_data("webauthn.create", options["challenge"])
        return _credential({"clientDataJSON": client_data, "attestationObject": attestation})

    def prove(self, page: str) -> str:
        """Answer the form of a page that asks for the passkey."""
        options = options_of(page)
        data = self._data(options["rpId"], _PRESENT_AND_VERIFIED)
        client_data = self._client_data("webauthn.get", options["challenge"])
        signed = data + hashlib.sha256(client_data).digest()
        signature = self.key.sign(signed, ec.ECDSA(hashes.SHA256()))
        sent = {"clientDataJSON": client_data, "authenticatorData": data, "signature": signature}
        return _credential(sent)

    def _data(self, host: str, flags: int) -> bytes:
        return hashlib.sha256(host.encode()).digest() + bytes([flags]) + bytes(4)

    def _client_data(self, kind: str, challenge: str) -> bytes:
        sent = {"type": kind, "challenge": challenge, "origin": self.origin}
        return json.dumps(sent).encode()


def options_of(page: str) -> dict[str, Any]:
    """Return the options that a page has for the browser."""
    found: dict[str, Any] = json.loads(html.unescape(_OPTIONS.findall(page)[0]))
    return found


def _credential(response: dict[str, bytes]) -> str:
    sent = {name: _text(value) for name, value in response.items()}
    its_id = _text(_ID)
    return json.dumps({"id": its_id, "rawId": its_id, "type": "public-key", "response": sent})


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")
