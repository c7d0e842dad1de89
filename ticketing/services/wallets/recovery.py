"""The recovery file: what finds all receivers of a tenant, without the database.

It cannot spend. It reveals all addresses, past and future, so it is in no log, audit log or
notification.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ticketing import clock
from ticketing.chain import address as addresses
from ticketing.chain import receivers
from ticketing.constants import COLLECTING_GAP, MAX_SAFE_INTEGER
from ticketing.db.connection import write_transaction
from ticketing.errors import FieldMessage, Invalid, NotFound
from ticketing.models.tenants import Tenant
from ticketing.models.wallets import Wallet

_KIND = "ticketing-recovery"
_SECRET = re.compile(r"0x[0-9a-f]{64}", re.ASCII)
_MALFORMED = FieldMessage("recovery", "This is not a recovery file of this service.")
_OTHER_ADDRESS = FieldMessage("recovery_address", "This file is for another address.")


@dataclass(frozen=True)
class Continued:
    """The secret of a wallet of another installation, and the first index to issue here."""

    secret: str = field(repr=False)
    next_index: int


def file_of(tenant: Tenant) -> dict[str, Any]:
    """Return the recovery file of all addresses that a tenant ever had, and note that it was saved.

    NotFound if the tenant never had a wallet of an address.
    """
    with write_transaction():
        # One statement: no address is issued between what is noted and what is returned.
        saved = (
            Wallet.update(recovery_index=Wallet.next_index)
            .where(Wallet.tenant_id == tenant.id, Wallet.owner.is_null(False))
            .returning(Wallet)
        )
        found = sorted(saved.execute(), key=lambda wallet: str(wallet.id))
    if not found:
        raise NotFound("This tenant has no wallet of an address.")
    return {
        "kind": _KIND,
        "tenant": tenant.slug,
        "created_at": clock.rfc3339(clock.now()),
        "wallets": [_entry(wallet) for wallet in found],
    }


def continued(file: Mapping[str, Any], owner: str) -> Continued:
    """Return how a wallet of `owner` continues with a recovery file. Invalid.

    The installation that wrote the file may have issued more addresses since then. Those that a
    search with the file can find are skipped: see COLLECTING_GAP.

    Example: the file says 17. The wallet continues at 1,000,017.
    """
    if file.get("kind") != _KIND or not isinstance(file.get("wallets"), list):
        raise _invalid(_MALFORMED)
    of_owner = [each for each in map(_read, file["wallets"]) if each[0] == owner]
    if not of_owner:
        raise _invalid(_OTHER_ADDRESS)
    if len(of_owner) > 1:
        raise _invalid(_MALFORMED)
    _, secret, next_index = of_owner[0]
    return Continued(secret, next_index + COLLECTING_GAP)


def _entry(wallet: Wallet) -> dict[str, Any]:
    return {
        "contract_version": wallet.contract_version,
        "owner": wallet.owner,
        "secret": f"0x{wallet.secret}",
        "chain_ids": sorted(wallet.chain_ids),
        "next_index": wallet.next_index,
        "created_at": clock.rfc3339(wallet.created_at),
    }


def _read(entry: Any) -> tuple[str, str, int]:
    """Return owner, secret and next index of an entry. Invalid."""
    if not isinstance(entry, dict):
        raise _invalid(_MALFORMED)
    owner, secret, next_index = (entry.get(name) for name in ("owner", "secret", "next_index"))
    is_version = entry.get("contract_version") == receivers.CONTRACT_VERSION
    if not is_version or not isinstance(owner, str) or not isinstance(secret, str):
        raise _invalid(_MALFORMED)
    if type(next_index) is not int or not 1 <= next_index <= MAX_SAFE_INTEGER - COLLECTING_GAP:
        raise _invalid(_MALFORMED)
    try:
        owner = addresses.parse(owner)
    except ValueError:
        raise _invalid(_MALFORMED) from None
    if not _SECRET.fullmatch(secret):
        raise _invalid(_MALFORMED)
    return owner, secret.removeprefix("0x"), next_index


def _invalid(message: FieldMessage) -> Invalid:
    return Invalid({"recovery": [message]})
