"""Wallets of an extended public key, from which payment addresses are derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ticketing import clock, ids
from ticketing.chain import xpub as xpubs
from ticketing.chain.registry import Chain
from ticketing.db.connection import write_transaction
from ticketing.errors import FieldMessage, Invalid, NotFound, WalletInUse
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.tenants import Tenant
from ticketing.models.wallets import Wallet
from ticketing.services import account_use, catalog_version


@dataclass(frozen=True)
class WalletView:
    """A wallet for its organizer. `first_address`, 0/0, is for comparison and never issued.

    `unchecked_chains` could not be read when the wallet was set.
    """

    xpub: str
    first_address: str
    next_index: int
    unchecked_chains: Sequence[int] = ()


def read(tenant_id: str) -> WalletView:
    """Return the tenant's wallet. NotFound if it has none."""
    wallet: Wallet | None = Wallet.select().join(Tenant).where(Tenant.id == tenant_id).first()
    if wallet is None:
        raise NotFound("This tenant has no wallet yet.")
    return _view(wallet)


def ensure_unused(xpub: str, enabled: Mapping[int, Chain]) -> list[int]:
    """Check that an account has no other use. Return the chains that could not be read.

    An account that this service already uses is not checked. Call it outside of a write
    transaction, because it may take some seconds. Invalid if `xpub` is not an account's public key;
    WalletInUse; ChainUnavailable while too many requests wait for nodes.
    """
    public_key = _public_key(xpub)
    known: Wallet | None = Wallet.get_or_none(Wallet.public_key == public_key)
    if known and PaymentIntent.select().where(PaymentIntent.wallet == known.id).exists():
        return []
    found = account_use.used_on(xpub, enabled)
    if used := [chain_id for chain_id, is_used in found.items() if is_used]:
        raise WalletInUse(
            f"This account is already in use on chain {used[0]}. Use a new account, which has no"
            " transactions, for orders only."
        )
    return [chain_id for chain_id, is_used in found.items() if is_used is None]


def replace(tenant_id: str, xpub: str, unchecked_chains: Sequence[int] = ()) -> WalletView:
    """Set the account `xpub` as the tenant's wallet. `unchecked_chains` as of `ensure_unused`.

    Addresses of the old wallet stay with their intents and are still watched. An account that was
    used before, by any tenant, continues after its last address. Invalid if `xpub` is not an
    account's public key.
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
    return _view(wallet, unchecked_chains)


def _public_key(xpub: str) -> str:
    try:
        key = xpubs.parse(xpub)
    except xpubs.InvalidXpub as error:
        raise Invalid({"xpub": [FieldMessage(error.code, str(error))]}) from None
    return (key.public_key + key.chain_code).hex()


def _view(wallet: Wallet, unchecked_chains: Sequence[int] = ()) -> WalletView:
    return WalletView(wallet.xpub, first_address(wallet.xpub), wallet.next_index, unchecked_chains)


def first_address(xpub: str) -> str:
    """Return the first address of an account, for comparison. No order gets it.

    Invalid if `xpub` is not an account's public key.
    """
    _public_key(xpub)
    return xpubs.derive_address(xpub, 0)
