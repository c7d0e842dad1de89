"""The wallet of a tenant: the extended public key its payment addresses come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peewee import ModelUpdate

from ticketing import clock, ids
from ticketing.chain import xpub as xpubs
from ticketing.conflicts import NotPayable
from ticketing.db.connection import write_transaction
from ticketing.errors import Invalid, NotFound
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant, Wallet
from ticketing.services import catalog_version


@dataclass(frozen=True)
class WalletView:
    """A wallet, with its first address to be compared with what the organizer's own one shows."""

    xpub: str
    first_address: str
    next_index: int


@dataclass(frozen=True)
class IssuedAddress:
    """An address that no intent had before, and where in the wallet it is."""

    wallet_id: str
    index: int
    address: str


@dataclass(frozen=True)
class SkippedAddresses:
    """Indexes of a wallet that no intent will get: from `first` to before `next_index`.

    `tenants` are paid into it.
    """

    xpub: str
    first: int
    next_index: int
    tenants: Sequence[str]


INDEXES = 2**31
"""How many receiving addresses an account has (BIP-32: higher ones would need its private key)."""


@Prepared
def _take_address(tenant_id: Any) -> ModelUpdate:
    return (
        Wallet.update(next_index=Wallet.next_index + 1)
        .where(Wallet.id == Tenant.select(Tenant.wallet).where(Tenant.id == tenant_id))
        .returning(Wallet)
    )


def of_tenant(tenant_id: str) -> Wallet:
    """Return the wallet a tenant is paid into. NotFound before there is one."""
    wallet: Wallet | None = Wallet.select().join(Tenant).where(Tenant.id == tenant_id).first()
    if wallet is None:
        raise NotFound("This tenant has no wallet yet.")
    return wallet


def replace(tenant_id: str, xpub: str) -> Wallet:
    """Pay the tenant into the account `xpub` from now on.

    Addresses issued before stay with their intents and stay watched. A key that was used before,
    by whomever, goes on after its last address. Invalid for what is not an account's public key.
    """
    try:
        key = xpubs.parse(xpub)
    except xpubs.InvalidXpub as error:
        raise Invalid({"xpub": [str(error)]}) from None
    public_key = (key.public_key + key.chain_code).hex()
    with write_transaction():
        (
            Wallet.insert(
                id=ids.new(ids.WALLET), xpub=xpub, public_key=public_key, created_at=clock.now()
            )
            .on_conflict_ignore()
            .execute()
        )
        wallet: Wallet = Wallet.get(Wallet.public_key == public_key)
        Tenant.update(wallet=wallet.id).where(Tenant.id == tenant_id).execute()
        catalog_version.advance(tenant_id)
    return wallet


def view(wallet: Wallet) -> WalletView:
    """Return the wallet as its organizer sees it."""
    return WalletView(wallet.xpub, xpubs.derive_address(wallet.xpub, 0), wallet.next_index)


def issue_address(tenant_id: str) -> IssuedAddress:
    """Take the next address of the tenant's wallet. NotPayable without a wallet.

    Call it inside the transaction that stores the intent: an address is issued with its intent
    or not at all.
    """
    wallet = _take_address.first(tenant_id=tenant_id)
    if wallet is None:
        raise NotPayable("The organizer has not set a wallet yet.")
    index = wallet.next_index - 1
    return IssuedAddress(wallet.id, index, xpubs.derive_address(wallet.xpub, index))


def skip(count: int) -> list[SkippedAddresses]:
    """Pass over the next `count` addresses of every wallet, and return which these are.

    Invalid, and nothing changes, if a wallet has not as many left.
    """
    with write_transaction():
        if Wallet.select().where(Wallet.next_index + count > INDEXES).exists():
            raise Invalid({"skip": ["A wallet has fewer addresses left than that."]})
        Wallet.update(next_index=Wallet.next_index + count).execute()
        return [
            SkippedAddresses(
                wallet.xpub,
                wallet.next_index - count,
                wallet.next_index,
                [each.id for each in Tenant.select(Tenant.id).where(Tenant.wallet == wallet.id)],
            )
            for wallet in Wallet.select().order_by(Wallet.id)
        ]
