"""Wallets of an ordinary address: each order is paid to a receiver that can only pay its owner."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ticketing import clock, ids
from ticketing.chain import address as addresses
from ticketing.chain import receivers
from ticketing.chain.registry import Chain
from ticketing.db.connection import write_transaction
from ticketing.errors import FieldMessage, Invalid
from ticketing.models.tenants import Tenant
from ticketing.models.wallets import Wallet
from ticketing.services import account_use, catalog_version


@dataclass(frozen=True)
class OwnerSettings:
    """An ordinary address as a wallet, as the organizer states it. See models/wallets.py."""

    owner: str
    chain_ids: Collection[int]
    code_on: Collection[int] = ()
    no_code_on: Collection[int] = ()
    is_exchange: bool = False
    least_collected: int | None = None


def stated(
    address: str,
    chain_ids: Collection[int],
    enabled: Mapping[int, Chain],
    *,
    is_exchange: bool = False,
    least_collected: int | None = None,
) -> OwnerSettings:
    """Check an address as a wallet, and ask the chains about it.

    Call it outside of a write transaction, because it may take some seconds. Invalid;
    ChainUnavailable while too many requests wait for nodes.
    """
    try:
        owner = addresses.parse(address)
    except ValueError as error:
        raise Invalid({"address": [FieldMessage("address", str(error))]}) from None
    code = account_use.code_on(owner, enabled)
    return OwnerSettings(
        owner,
        frozenset(chain_ids),
        frozenset(chain_id for chain_id, is_there in code.items() if is_there),
        frozenset(chain_id for chain_id, is_there in code.items() if is_there is False),
        is_exchange,
        least_collected,
    )


def replace(tenant_id: str, settings: OwnerSettings) -> Wallet:
    """Set an address as the tenant's wallet, and return it.

    A former address of this tenant continues with its secret, after its last index. Addresses of
    the old wallet stay with their intents and are still watched.
    """
    columns = {
        Wallet.chain_ids: settings.chain_ids,
        Wallet.code_on: settings.code_on,
        Wallet.no_code_on: settings.no_code_on,
        Wallet.is_exchange: settings.is_exchange,
        Wallet.least_collected: settings.least_collected,
    }
    of_owner = (Wallet.tenant_id == tenant_id) & (Wallet.owner == settings.owner)
    with write_transaction():
        wallet: Wallet | None = Wallet.get_or_none(of_owner)
        if wallet is None:
            wallet_id = ids.new(ids.WALLET)
            Wallet.insert(
                {
                    Wallet.id: wallet_id,
                    Wallet.xpub: "",
                    Wallet.public_key: wallet_id,
                    Wallet.tenant_id: tenant_id,
                    Wallet.owner: settings.owner,
                    Wallet.secret: secrets.token_hex(32),
                    Wallet.contract_version: receivers.CONTRACT_VERSION,
                    Wallet.created_at: clock.now(),
                }
            ).execute()
        Wallet.update(columns).where(of_owner).execute()
        wallet = Wallet.get(of_owner)
        Tenant.update(wallet=wallet.id).where(Tenant.id == tenant_id).execute()
        catalog_version.advance(tenant_id)
        return wallet
