"""Issue an address for each order, from the tenant's wallet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peewee import ModelSelect, ModelUpdate

from ticketing import clock
from ticketing.chain import receivers
from ticketing.chain.registry import Chain
from ticketing.db.connection import write_transaction
from ticketing.errors import NotPayable
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.unassigned_money import SkippedIndexes
from ticketing.models.wallets import Wallet


@dataclass(frozen=True)
class IssuedAddress:
    """A new payment address, with its wallet and index."""

    wallet_id: str
    index: int
    address: str


@dataclass(frozen=True)
class SkippedAddresses:
    """Indexes of a wallet that are not issued: from `first` to before `next_index`.

    `owner`: its address. `tenants`: the tenants that use it now.
    """

    owner: str
    first: int
    next_index: int
    tenants: Sequence[str]


_ISSUING = (
    Wallet.id,
    Wallet.owner,
    Wallet.secret,
    Wallet.chain_ids,
    Wallet.code_on,
    Wallet.no_code_on,
    Wallet.contract_is_mine,
    Wallet.next_index,
)
"""The columns from which an address is issued."""


def _next_index(tenant_id: Any) -> ModelUpdate:
    return (
        Wallet.update(next_index=Wallet.next_index + 1)
        .where(Wallet.id == Tenant.select(Tenant.wallet).where(Tenant.id == tenant_id))
        .returning(*_ISSUING)
    )


_take_address: Prepared[Wallet] = Prepared(_next_index, _ISSUING)


@Prepared
def _by_id(wallet_id: Any) -> ModelSelect[Wallet]:
    return Wallet.select().where(Wallet.id == wallet_id)


@Prepared
def _of_tenant(tenant_id: Any) -> ModelSelect[Wallet]:
    of_tenant = Tenant.select(Tenant.wallet).where(Tenant.id == tenant_id)
    return Wallet.select(*_ISSUING).where(Wallet.id == of_tenant)


def current(tenant: Tenant) -> Wallet | None:
    """Return the wallet of a tenant. None: it has none."""
    if tenant.wallet_id is None:
        return None
    wallet: Wallet | None = _by_id.first(wallet_id=tenant.wallet_id)
    return wallet


def usable(tenant_id: str, found: Sequence[Chain]) -> Sequence[Chain]:
    """Return the chains among `found` on which orders of a tenant get addresses."""
    wallet: Wallet | None = _of_tenant.first(tenant_id=tenant_id)
    if wallet is None:
        return ()
    return [each for each in found if wallet.takes(each.chain_id) and each.has_receivers]


def issue_address(tenant_id: str, chain: Chain) -> IssuedAddress:
    """Issue the next address of the tenant's wallet, for an order on `chain`.

    Call it in the transaction that stores the intent, so that both happen or neither. NotPayable
    without a wallet, or if the wallet is not for this chain.
    """
    wallet: Wallet | None = _take_address.first(tenant_id=tenant_id)
    if wallet is None:
        raise NotPayable("The organizer has not set a wallet yet.")
    return _issued(wallet, wallet.next_index - 1, chain)


def issue_named(tenant_id: str, wallet_id: str, index: int, chain: Chain) -> IssuedAddress:
    """Issue an address that the buyer was told before the order. See named_addresses.py.

    NotPayable, also if the tenant has another wallet meanwhile.
    """
    of_tenant = Tenant.select(Tenant.wallet).where(Tenant.id == tenant_id)
    found = Wallet.select().where(Wallet.id == of_tenant, Wallet.id == wallet_id)
    wallet: Wallet | None = found.first()
    if wallet is None:
        raise NotPayable("The organizer has another wallet since. Nothing was paid: start again.")
    return _issued(wallet, index, chain)


def _issued(wallet: Wallet, index: int, chain: Chain) -> IssuedAddress:
    if not wallet.takes(chain.chain_id):
        raise NotPayable("The organizer does not take payments on this network.")
    if not chain.has_receivers:
        raise NotPayable("This network cannot be used for payments yet.")
    return IssuedAddress(wallet.id, index, address_of(wallet, index))


def address_of(wallet: Wallet, index: int) -> str:
    """Return the address of a wallet's order with this index."""
    salt = receivers.order_salt(bytes.fromhex(wallet.secret), index)
    return receivers.receiver_address(wallet.owner, salt)


def gathering_address(owner: str) -> str:
    """Return the address of an owner's gathering receiver."""
    return receivers.receiver_address(owner, receivers.GATHERING_SALT)


def skip(count: int) -> list[SkippedAddresses]:
    """Skip the next `count` addresses of every wallet, and return them.

    A recovery file finds what was paid to them.
    """
    with write_transaction():
        now = clock.now()
        wallets = list(Wallet.select().order_by(Wallet.id))
        rows = [
            {
                SkippedIndexes.wallet: wallet.id,
                SkippedIndexes.first: wallet.next_index,
                SkippedIndexes.next: wallet.next_index + count,
                SkippedIndexes.skipped_at: now,
            }
            for wallet in wallets
        ]
        if rows:
            SkippedIndexes.insert_many(rows).execute()
        Wallet.update(next_index=Wallet.next_index + count).execute()
        return [
            SkippedAddresses(
                wallet.owner,
                wallet.next_index,
                wallet.next_index + count,
                [each.id for each in Tenant.select(Tenant.id).where(Tenant.wallet == wallet.id)],
            )
            for wallet in wallets
        ]
