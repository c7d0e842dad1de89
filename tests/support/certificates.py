"""Certificates for tests and measurements (RFC 5280): an authority, and servers' certificates."""

from __future__ import annotations

import base64
import secrets
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from Crypto.Hash import SHA1, SHA256
from Crypto.PublicKey import ECC
from Crypto.Signature import DSS
from Crypto.Util.asn1 import DerObjectId

BOOLEAN, INTEGER, BITS, OCTETS, UTF8, TIME = 0x01, 0x02, 0x03, 0x04, 0x0C, 0x18
SEQUENCE, SET, VERSION, EXTENSIONS = 0x30, 0x31, 0xA0, 0xA3
DNS_NAME, IP_ADDRESS, KEY_ID = 0x82, 0x87, 0x80
TRUE = b"\x01\x01\xff"


class Authority:
    """A certificate authority. Its certificate is in `path`, for SSL_CERT_FILE."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._key = folder, ECC.generate(curve="P-256")
        self._name = _name("Test authority")
        extensions = [
            _extension("2.5.29.19", _der(SEQUENCE, TRUE), is_critical=True),
            _extension("2.5.29.15", _der(BITS, b"\x01\x06"), is_critical=True),
            _extension("2.5.29.14", _der(OCTETS, _key_id(self._key))),
        ]
        self.path = folder / "authority.pem"
        self.path.write_text(self._signed(self._name, self._key, extensions, 7))

    def certificate(self, *names: str, days: int = 7) -> tuple[Path, Path]:
        """Make a server's certificate for names or IP addresses. Return its file and its key's.

        It begins 30 days ago, and ends in `days`.
        """
        key = ECC.generate(curve="P-256")
        extensions = [
            _extension("2.5.29.17", _der(SEQUENCE, *map(_general_name, names))),
            _extension("2.5.29.35", _der(SEQUENCE, _der(KEY_ID, _key_id(self._key)))),
        ]
        files = [self._folder / f"{names[0]}{days}.{each}" for each in ("pem", "key")]
        files[0].write_text(self._signed(_name(names[0]), key, extensions, days))
        files[1].write_text(key.export_key(format="PEM"))
        return files[0], files[1]

    def _signed(self, subject: bytes, key: ECC.EccKey, extensions: list[bytes], days: int) -> str:
        now = datetime.now(UTC)
        algorithm = _der(SEQUENCE, _oid("1.2.840.10045.4.3.2"))
        content = _der(
            SEQUENCE,
            _der(VERSION, _der(INTEGER, b"\x02")),
            _der(INTEGER, b"\x01" + secrets.token_bytes(8)),
            algorithm,
            self._name,
            _der(SEQUENCE, _time(now - timedelta(days=30)), _time(now + timedelta(days=days))),
            subject,
            _public(key),
            _der(EXTENSIONS, _der(SEQUENCE, *extensions)),
        )
        signature = DSS.new(self._key, "fips-186-3", encoding="der").sign(SHA256.new(content))
        data = _der(SEQUENCE, content, algorithm, _der(BITS, b"\x00", signature))
        text = base64.encodebytes(data).decode()
        return f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n"


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def _oid(text: str) -> bytes:
    return bytes(DerObjectId(text).encode())


def _name(text: str) -> bytes:
    pair = _der(SEQUENCE, _oid("2.5.4.3"), _der(UTF8, text.encode()))
    return _der(SEQUENCE, _der(SET, pair))


def _general_name(text: str) -> bytes:
    try:
        return _der(IP_ADDRESS, ip_address(text).packed)
    except ValueError:
        return _der(DNS_NAME, text.encode())


def _extension(identifier: str, value: bytes, *, is_critical: bool = False) -> bytes:
    flag = TRUE if is_critical else b""
    return _der(SEQUENCE, _oid(identifier), flag, _der(OCTETS, value))


def _public(key: ECC.EccKey) -> bytes:
    return bytes(key.public_key().export_key(format="DER"))


def _key_id(key: ECC.EccKey) -> bytes:
    return bytes(SHA1.new(_public(key)).digest())


def _time(moment: datetime) -> bytes:
    return _der(TIME, moment.strftime("%Y%m%d%H%M%SZ").encode())
