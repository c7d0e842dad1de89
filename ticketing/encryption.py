"""Secrets that the service must read again, as the database stores them: AES-256-GCM.

The key is derived from SECRET_KEY and the purpose. The id of the row is authenticated too, so a
stored secret is of no use in another row.
"""

import base64
import secrets
from typing import Any

from Crypto.Cipher import AES

from ticketing import credentials
from ticketing.credentials import Keyring

_NONCE_BYTES, _TAG_BYTES = 12, 16


class SecretUnreadable(Exception):
    """No accepted SECRET_KEY decrypts the stored secret. A new one must be made."""


def encrypt(secret: str, purpose: str, row_id: str, keyring: Keyring) -> str:
    """Return a secret as the database stores it: base64 of nonce, tag and ciphertext."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    cipher = _cipher(keyring.current, purpose, row_id, nonce)
    text, tag = cipher.encrypt_and_digest(secret.encode())
    return base64.b64encode(nonce + tag + text).decode()


def decrypt(stored: str, purpose: str, row_id: str, keyring: Keyring) -> str:
    """Return the secret. SecretUnreadable if neither SECRET_KEY nor the previous one opens it."""
    for secret_key in keyring.accepted:
        try:
            data = base64.b64decode(stored)
            nonce, rest = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
            tag, text = rest[:_TAG_BYTES], rest[_TAG_BYTES:]
            cipher = _cipher(secret_key, purpose, row_id, nonce)
            secret: bytes = cipher.decrypt_and_verify(text, tag)
            return secret.decode()
        except ValueError:
            continue
    raise SecretUnreadable


def _cipher(secret_key: str, purpose: str, row_id: str, nonce: bytes) -> Any:
    key = bytes.fromhex(credentials.keyed_digest(secret_key, purpose, ""))
    cipher = AES.new(key, AES.MODE_GCM, nonce=nonce, mac_len=_TAG_BYTES)
    cipher.update(row_id.encode())
    return cipher
