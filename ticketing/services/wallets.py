"""The wallet of a tenant: the extended public key its payment addresses come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import ModelUpdate

from ticketing import clock, ids
from ticketing.chain import xpub as xpubs
from ticketing.chain.registry import Chain
from ticketing.conflicts import NotPayable, WalletInUse
from ticketing.db.connection import write_transaction
from ticketing.errors import Invalid, NotFound
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant, Wallet
from ticketing.services import account_use, catalog_version


@dataclass(frozen=True)
class WalletView:
    """A wallet. `first_address`, 0/0, is the organizer's own: for comparing, never issued.

    `unchecked_chains` are those that could not be seen when the wallet was set.
    """

    xpub: str
    first_address: str
    next_index: int
    unchecked_chains: Sequence[int] = ()


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


def ensure_unused(xpub: str, enabled: Mapping[int, Chain]) -> list[int]:
    """Make sure that an account is used for nothing else; return the chains that cannot be seen.

    An account that orders got addresses from before is not asked about. Call it outside of a write
    transaction: it may take some seconds. Invalid for what is not an account's public key;
    WalletInUse; ChainUnavailable while this process looks at another account.
    """
    public_key = _public_key(xpub)
    known: Wallet | None = Wallet.get_or_none(Wallet.public_key == public_key)
    if known and PaymentIntent.select().where(PaymentIntent.wallet == known.id).exists():
        return []
    found = account_use.used_on(xpub, enabled)
    if used := [chain_id for chain_id, is_used in found.items() if is_used]:
        raise WalletInUse(
            f"This account is already in use on chain {used[0]}. Orders need an account of their"
            " own: choose one that nothing was sent to or from."
        )
    return [chain_id for chain_id, is_used in found.items() if is_used is None]


def replace(tenant_id: str, xpub: str) -> Wallet:
    """Pay the tenant into the account `xpub` from now on.

    Addresses issued before stay with their intents and stay watched. A key that was used before,
    by any tenant, continues after its last address. Invalid for what is not an account's public
    key.
    """
    public_key = _public_key(xpub)
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


def _public_key(xpub: str) -> str:
    try:
        key = xpubs.parse(xpub)
    except xpubs.InvalidXpub as error:
        raise Invalid({"xpub": [str(error)]}) from None
    return (key.public_key + key.chain_code).hex()


def view(wallet: Wallet, unchecked_chains: Sequence[int] = ()) -> WalletView:
    """Return the wallet as its organizer sees it."""
    first_address = xpubs.derive_address(wallet.xpub, 0)
    return WalletView(wallet.xpub, first_address, wallet.next_index, unchecked_chains)


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
