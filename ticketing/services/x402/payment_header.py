"""Parse what an x402 client (version 2) sends as its payment: in PAYMENT-SIGNATURE, or by MCP."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from ticketing import nesting
from ticketing.chain import address
from ticketing.chain.eip3009 import Authorization
from ticketing.errors import InvalidPayment

VERSION = 2
SCHEME = "exact"
MAX_BYTES = 8 * 1024

_NUMBER = re.compile(r"[0-9]{1,78}")
_NONCE = re.compile(r"0x[0-9a-fA-F]{64}")
_SIGNATURE = re.compile(r"0x(?:[0-9a-fA-F]{2}){1,2048}")
_MOST, _LATEST = 2**256 - 1, 2**63 - 1


@dataclass(frozen=True)
class Payment:
    """What a client has sent: the requirements that it accepted, and the signed transfer."""

    network: str
    amount: int
    asset: str
    pay_to: str
    name: str
    version: str
    claim: str
    authorization: Authorization
    signature: bytes


def parse(header: str) -> Payment:
    """Return the payment in the header. InvalidPayment."""
    if len(header) > MAX_BYTES:
        raise InvalidPayment
    try:
        message = _decoded(header)
    except (TypeError, ValueError):
        raise InvalidPayment from None
    return of_message(message)


def of_message(message: Any) -> Payment:
    """Return the payment in the message itself, which was JSON. InvalidPayment."""
    try:
        return _payment(message)
    except (KeyError, TypeError, ValueError):
        raise InvalidPayment from None


def _decoded(header: str) -> Any:
    text = base64.b64decode(header, validate=True)
    if nesting.is_too_deep(text):
        raise ValueError("nested too deep")
    return json.loads(text.decode(), object_pairs_hook=_members, parse_constant=_refuse)


def _payment(message: Any) -> Payment:
    accepted, payload = message["accepted"], message["payload"]
    extra, signed = accepted["extra"], payload["authorization"]
    if message["x402Version"] != VERSION or accepted["scheme"] != SCHEME:
        raise ValueError("another version or scheme")
    return Payment(
        network=_text(accepted, "network"),
        amount=_number(accepted["amount"]),
        asset=address.checksum(_text(accepted, "asset")),
        pay_to=address.checksum(_text(accepted, "payTo")),
        name=_text(extra, "name"),
        version=_text(extra, "version"),
        claim=_text(extra, "claim"),
        authorization=Authorization(
            sender=address.checksum(_text(signed, "from")),
            recipient=address.checksum(_text(signed, "to")),
            value=_number(signed["value"]),
            valid_after=_number(signed["validAfter"], _LATEST),
            valid_before=_number(signed["validBefore"], _LATEST),
            nonce=_nonce(_text(signed, "nonce")),
        ),
        signature=_signature(_text(payload, "signature")),
    )


def _text(members: Mapping[str, Any], name: str) -> str:
    text = members[name]
    if not isinstance(text, str):
        raise TypeError(f"{name} is no text")
    # A lone surrogate cannot be hashed or stored.
    text.encode()
    return text


def _number(text: Any, most: int = _MOST) -> int:
    if not isinstance(text, str) or not _NUMBER.fullmatch(text) or int(text) > most:
        raise ValueError("not a number of atomic units or seconds")
    return int(text)


def _nonce(text: str) -> bytes:
    if not _NONCE.fullmatch(text):
        raise ValueError("not 32 bytes in hex")
    return bytes.fromhex(text[2:])


def _signature(text: str) -> bytes:
    if not _SIGNATURE.fullmatch(text):
        raise ValueError("not a signature in hex")
    return bytes.fromhex(text[2:])


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is repeated")
    return members


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
