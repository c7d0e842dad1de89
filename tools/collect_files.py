"""For tools.collect: read the files of the service that say which receivers belong to whom."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ticketing.chain import address, nesting, receivers

COLLECTIONS = "ticketing-collections"
RECOVERY = "ticketing-recovery"
RECOVERY_VERSION = 2
MOST_BYTES = 512 * 1024 * 1024

_WORD = re.compile(r"0x[0-9a-fA-F]{64}")
_KEY = re.compile(r"(?:0x)?([0-9a-fA-F]{64})")
_MOST_KEY_BYTES = 200

T = TypeVar("T")


class Refused(Exception):
    """Nothing more is sent. The message is one sentence with the reason, never a secret."""


@dataclass(frozen=True)
class ListedOrder:
    """An order with its receiver's salt. `amount`: what it must hold, 0 if that is not known."""

    name: str
    salt: bytes
    amount: int


@dataclass(frozen=True)
class OwnerWallet:
    """A wallet of an address. `chain_ids`: where the organizer says to control the address.

    It has either `orders`, or a `secret` from which all salts follow. `other_chain_ids`: where its
    orders may hold money, besides. `tokens` are (chain id, address).
    `least_collected`: an exchange's minimum deposit, in micro-units.
    """

    owner: str
    chain_ids: frozenset[int]
    orders: Sequence[ListedOrder] = ()
    least_collected: int | None = None
    secret: bytes | None = field(default=None, repr=False)
    next_index: int = 1
    is_exchange: bool = False
    other_chain_ids: frozenset[int] = frozenset()
    tokens: frozenset[tuple[int, str]] = frozenset()


@dataclass(frozen=True)
class CollectFile:
    """What a file says. A recovery file has neither chain nor token."""

    wallets: Sequence[OwnerWallet]
    chain_id: int | None = None
    token_address: str | None = None

    @property
    def is_recovery(self) -> bool:
        """Whether it is a recovery file."""
        return self.chain_id is None

    @property
    def chain_ids(self) -> frozenset[int]:
        """All networks on which orders of its wallets may hold money."""
        every = (each.chain_ids | each.other_chain_ids for each in self.wallets)
        return frozenset().union(*every)


def read_json(path: Path) -> Any:
    """Read a file of JSON. Refused if it is none, or larger than MOST_BYTES."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise Refused(f"{path} is too large")
        text = path.read_bytes()
        return None if nesting.is_too_deep(text) else json.loads(text)
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise Refused(f"{path} is not JSON") from None


def read_file(path: Path) -> CollectFile:
    """Read a file of `wallet collections`, or a recovery file. Refused if it is neither."""
    found = read_json(path)
    kind = found.get("kind") if isinstance(found, dict) else None
    try:
        if kind == COLLECTIONS:
            wallets = [_listed(each) for each in _list(found, "wallets")]
            token = address.parse(_get(found, "token_address", str))
            return CollectFile(wallets, _get(found, "chain_id", int), token)
        if kind == RECOVERY:
            version = _get(found, "version", int)
            if version != RECOVERY_VERSION:
                raise ValueError(f"version {version} is not known: update this program")
            return CollectFile([_recovered(each) for each in _list(found, "wallets")])
    except ValueError as error:
        # These messages are ours, and name fields only: the values may be secrets.
        raise Refused(f"{path} is not a valid file: {error}") from None
    raise Refused(f"{path} is neither a file of 'wallet collections' nor a recovery file")


def read_key(path: Path) -> str:
    """Read the private key that pays for gas, 64 hex digits. Refused if others may read the file.

    The message never has what is in the file.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(_MOST_KEY_BYTES).decode("ascii", "replace").strip()
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from None
    if not stat.S_ISREG(mode) or mode & 0o077:
        raise Refused(f"others can read {path}: run chmod 600 {path}")
    match = _KEY.fullmatch(text)
    if match is None:
        raise Refused(f"{path} does not have a private key of 64 hexadecimal characters")
    return "0x" + match[1]


def _listed(row: Any) -> OwnerWallet:
    orders = [
        ListedOrder(
            _get(each, "intent_id", str), _word(each, "salt"), _get(each, "atomic_amount", int)
        )
        for each in _list(row, "orders")
    ]
    least = row.get("least_collected")
    return OwnerWallet(*_owner_of(row), orders, least if type(least) is int else None)


def _recovered(row: Any) -> OwnerWallet:
    next_index = _get(row, "next_index", int)
    if not 0 < next_index <= receivers.MOST_INDEX:
        raise ValueError("a next_index is out of range")
    least = row.get("minimum_deposit")
    return OwnerWallet(
        *_owner_of(row),
        secret=_word(row, "secret"),
        next_index=next_index,
        is_exchange=_get(row, "exchange", bool),
        least_collected=None if least is None else _get(row, "minimum_deposit", int),
        other_chain_ids=_chain_ids(row, "other_chain_ids"),
        tokens=frozenset(
            (_get(each, "chain_id", int), address.parse(_get(each, "token_address", str)))
            for each in _list(row, "tokens")
        ),
    )


def _owner_of(row: Any) -> tuple[str, frozenset[int]]:
    version = _get(row, "contract_version", int)
    if version != receivers.CONTRACT_VERSION:
        raise ValueError(f"contract version {version} is not known: update this program")
    try:
        owner = address.parse(_get(row, "owner", str))
    except ValueError:
        raise ValueError("an owner is not an address") from None
    return owner, _chain_ids(row, "chain_ids")


def _chain_ids(row: Any, name: str) -> frozenset[int]:
    chain_ids = _list(row, name)
    if not all(type(each) is int for each in chain_ids):
        raise ValueError(f"{name} are not numbers")
    return frozenset(chain_ids)


def _word(row: Any, name: str) -> bytes:
    text = _get(row, name, str)
    if not _WORD.fullmatch(text):
        raise ValueError(f"a {name} is not 0x and 64 hexadecimal characters")
    return bytes.fromhex(text[2:])


def _list(row: Any, name: str) -> list[Any]:
    return _get(row, name, list)


def _get(row: Any, name: str, kind: type[T]) -> T:
    value: Any = row.get(name) if isinstance(row, dict) else None
    is_negative = type(value) is int and value < 0
    if type(value) is not kind or is_negative:
        raise ValueError(f"'{name}' is missing or wrong")
    found: T = value
    return found
