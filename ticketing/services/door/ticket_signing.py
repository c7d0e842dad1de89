"""The QR code of an admission: its text, and the keys that sign it (docs/door.md).

A key pair belongs to a tenant and is derived from SECRET_KEY. Its public part is stored with a
number, so that QR codes outlive a changed SECRET_KEY. The private part is never stored.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from Crypto.PublicKey import ECC
from Crypto.Signature import eddsa
from peewee import ModelSelect, fn

from ticketing import clock, credentials, ids
from ticketing.credentials import Keyring
from ticketing.db.connection import write_transaction
from ticketing.models.admissions import Admission
from ticketing.models.door import TicketKey
from ticketing.models.prepared import Prepared
from ticketing.services.door import base45

PREFIX = "T1:"
VERSION = 1
MAX_KEYS = 255
"""The key number is one byte."""

_SIGNED = struct.Struct(">BB16s16sH")
_SIGNATURE_BYTES = 64


@dataclass(frozen=True)
class Ticket:
    """What the text of a QR code says. It is not checked yet: see `is_genuine`."""

    key_number: int
    admission_id: str
    event_id: str
    generation: int
    signed: bytes
    signature: bytes


@Prepared
def _keys_of(tenant_id: Any) -> ModelSelect[TicketKey]:
    return TicketKey.select().where(TicketKey.tenant == tenant_id).order_by(TicketKey.number)


@Prepared
def _set_qr(qr: Any, admission_id: Any, generation: Any) -> Any:
    this = (Admission.id == admission_id) & (Admission.generation == generation)
    # The manifest has a digest of it.
    changed = Admission.update(qr=qr, change_number=None)
    return changed.where(this, Admission.qr.is_null())


def qrs_of(admissions: Sequence[Admission], keyring: Keyring) -> list[str]:
    """Return the texts of the QR codes of one tenant's admissions. They are stored when first made.

    The text of one generation never changes. If an admission has a newer generation by now, the
    text of the older one is returned, but not stored.
    """
    unsigned = [admission for admission in admissions if admission.qr is None]
    if unsigned:
        number = keys_of(unsigned[0].tenant_id, keyring)[-1].number
        # Before the transaction: a signature takes milliseconds, and other writers wait.
        for admission in unsigned:
            admission.qr = _sign(admission, number, keyring.current)
        with write_transaction():
            for admission in unsigned:
                is_first = _set_qr.run(
                    qr=admission.qr, admission_id=admission.id, generation=admission.generation
                )
                if not is_first:
                    stored = Admission.get_by_id(admission.id)
                    if stored.generation == admission.generation and stored.qr is not None:
                        admission.qr = stored.qr
    return [str(admission.qr) for admission in admissions]


def stored_keys(tenant_id: str) -> Sequence[TicketKey]:
    """Return the public keys that a tenant has, by number."""
    return _keys_of.rows(tenant_id=tenant_id)


def keys_of(tenant_id: str, keyring: Keyring) -> Sequence[TicketKey]:
    """Return a tenant's public keys by number. The one of the current SECRET_KEY is the last.

    It is created if it does not exist yet.
    """
    if _find(stored_keys(tenant_id), keyring) is None:
        _create(tenant_id, keyring)
    current = credentials.secret_key_id(keyring.current)
    return sorted(stored_keys(tenant_id), key=lambda key: bool(key.secret_key_id == current))


def jwks(keys: Sequence[TicketKey]) -> list[dict[str, Any]]:
    """Return public keys as JWKs (RFC 8037). The last key signs new QR codes."""
    return [
        {
            "kty": "OKP",
            "crv": "Ed25519",
            "alg": "EdDSA",
            "use": "sig",
            "kid": str(key.number),
            "x": key.public_key,
            "newest": key.number == keys[-1].number,
        }
        for key in keys
    ]


def read(text: str) -> Ticket | None:
    """Return what the text of a QR code says. None if it is not one of ours."""
    if not text.startswith(PREFIX):
        return None
    try:
        data = base45.decode(text.removeprefix(PREFIX))
    except ValueError:
        return None
    if len(data) != _SIGNED.size + _SIGNATURE_BYTES:
        return None
    signed, signature = data[: _SIGNED.size], data[_SIGNED.size :]
    version, number, admission, event, generation = _SIGNED.unpack(signed)
    if version != VERSION:
        return None
    admission_id = ids.from_bytes(ids.ADMISSION, admission)
    event_id = ids.from_bytes(ids.EVENT, event)
    return Ticket(number, admission_id, event_id, generation, signed, signature)


def is_genuine(ticket: Ticket, keys: Sequence[TicketKey]) -> bool:
    """Return whether one of these keys has signed the ticket."""
    for key in keys:
        if key.number == ticket.key_number:
            public = eddsa.import_public_key(_decode(key.public_key))
            try:
                eddsa.new(public, "rfc8032").verify(_message(ticket.signed), ticket.signature)
            except ValueError:
                return False
            return True
    return False


def _sign(admission: Admission, number: int, secret_key: str) -> str:
    signed = _SIGNED.pack(
        VERSION,
        number,
        ids.to_bytes(admission.id),
        ids.to_bytes(admission.event_id),
        admission.generation,
    )
    private = _private_key(secret_key, admission.tenant_id)
    signature = eddsa.new(private, "rfc8032").sign(_message(signed))
    return PREFIX + base45.encode(signed + signature)


def _message(signed: bytes) -> bytes:
    return PREFIX.encode() + signed


def _private_key(secret_key: str, tenant_id: str) -> ECC.EccKey:
    seed = bytes.fromhex(credentials.keyed_digest(secret_key, "ticket-signing", tenant_id))
    # The stubs of pycryptodome know only curves whose seed is a number.
    return ECC.construct(curve="Ed25519", seed=seed)  # type: ignore[arg-type]


def _find(keys: Sequence[TicketKey], keyring: Keyring) -> TicketKey | None:
    current = credentials.secret_key_id(keyring.current)
    return next((key for key in keys if key.secret_key_id == current), None)


def _create(tenant_id: str, keyring: Keyring) -> None:
    """Store the public key of the current SECRET_KEY under the next number.

    Another process may store it, or take the number, at the same time.
    """
    public = _private_key(keyring.current, tenant_id).public_key()
    while _find(stored_keys(tenant_id), keyring) is None:
        last = TicketKey.select(fn.MAX(TicketKey.number)).where(TicketKey.tenant == tenant_id)
        number = (last.scalar() or 0) + 1
        if number > MAX_KEYS:
            raise RuntimeError(f"{tenant_id} has used all {MAX_KEYS} numbers of ticket keys")
        TicketKey.insert(
            tenant=tenant_id,
            number=number,
            public_key=_encode(public.export_key(format="raw")),
            secret_key_id=credentials.secret_key_id(keyring.current),
            created_at=clock.now(),
        ).on_conflict_ignore().as_rowcount().execute()


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
