"""Wallets of an extended public key, from which payment addresses are derived."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ticketing import clock, ids
from ticketing.chain import xpub as xpubs
from ticketing.chain.registry import Chain
from ticketing.errors import FieldMessage, Invalid, WalletInUse
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.wallets import Wallet
from ticketing.services import account_use
from ticketing.services.wallets import refusals

FIRST_ADDRESSES = 1000
"""How many addresses of an account must differ from the tenant's own. They take 0.2 s of CPU."""


@dataclass(frozen=True)
class XpubSettings:
    """An account as a wallet. `unchecked_chains` could not be asked whether it is in use."""

    xpub: str
    unchecked_chains: Sequence[int] = ()


def stated(tenant_id: str | None, xpub: str, enabled: Mapping[int, Chain]) -> XpubSettings:
    """Check that an account has no other use. `tenant_id` None: a new tenant.

    Chains are not asked about an account that this service already uses. Call it outside of a write
    transaction, because it may take some seconds. Invalid if `xpub` is not an account's public key;
    WalletInUse; ChainUnavailable while too many requests wait for nodes.
    """
    public_key = key_of(xpub)
    _check_owners(tenant_id, xpub)
    known: Wallet | None = Wallet.get_or_none(Wallet.public_key == public_key)
    if known and PaymentIntent.select().where(PaymentIntent.wallet == known.id).exists():
        return XpubSettings(xpub)
    found = account_use.used_on(xpub, enabled)
    if used := [chain_id for chain_id, is_used in found.items() if is_used]:
        raise WalletInUse(
            f"This account is already in use on chain {used[0]}. Use a new account, which has no"
            " transactions, for orders only."
        )
    return XpubSettings(xpub, [chain_id for chain_id, is_used in found.items() if is_used is None])


def stored(settings: XpubSettings) -> Wallet:
    """Store an account as a wallet, and return it. Call it in a write transaction.

    An account that was used before, by any tenant, continues after its last address. Invalid if
    it is not an account's public key.
    """
    public_key = key_of(settings.xpub)
    row = {"xpub": settings.xpub, "public_key": public_key, "created_at": clock.now()}
    Wallet.insert(id=ids.new(ids.WALLET), **row).on_conflict_ignore().execute()
    wallet: Wallet = Wallet.get(Wallet.public_key == public_key)
    return wallet


def key_of(xpub: str) -> str:
    """Return the public key and chain code of an account, in hex: they are its identity. Invalid.

    Other parts of an xpub, such as the fingerprint of its parent, change no address.
    """
    refusals.check_xpub_text(xpub)
    try:
        key = xpubs.parse(xpub)
    except xpubs.InvalidXpub as error:
        raise Invalid({"xpub": [FieldMessage(error.code, str(error))]}) from None
    return (key.public_key + key.chain_code).hex()


def would_issue(xpub: str, addresses: Collection[str]) -> str | None:
    """Return which of some addresses is among the first that an account issues, or None.

    No order gets the address with index 0.
    """
    if not addresses:
        return None
    issued = (xpubs.derive_address(xpub, index) for index in range(1, FIRST_ADDRESSES + 1))
    return next((each for each in issued if each in addresses), None)


def _check_owners(tenant_id: str | None, xpub: str) -> None:
    """Check that an account does not issue an address that is, or was, the tenant's wallet.

    WalletInUse. Other income of that address would pay for the order that gets it.
    """
    of_tenant = (Wallet.tenant_id == tenant_id) & Wallet.owner.is_null(False)
    rows: Iterable[Any] = Wallet.select(Wallet.owner).where(of_tenant).tuples()
    if (found := would_issue(xpub, {owner for (owner,) in rows})) is not None:
        raise WalletInUse(
            f"This account has your own address {found}, and an order would get it. Use a new"
            " account for orders only."
        )


def first_address(xpub: str) -> str:
    """Return the first address of an account, for comparison. No order gets it.

    Invalid if `xpub` is not an account's public key.
    """
    key_of(xpub)
    return xpubs.derive_address(xpub, 0)
