"""Wallets of an extended public key, from which payment addresses are derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ticketing import clock, ids
from ticketing.chain import xpub as xpubs
from ticketing.chain.registry import Chain
from ticketing.errors import FieldMessage, Invalid, WalletInUse
from ticketing.models.payment_intents import PaymentIntent
from ticketing.models.wallets import Wallet
from ticketing.services import account_use
from ticketing.services.wallets import refusals


@dataclass(frozen=True)
class XpubSettings:
    """An account as a wallet. `unchecked_chains` could not be asked whether it is in use."""

    xpub: str
    unchecked_chains: Sequence[int] = ()


def stated(xpub: str, enabled: Mapping[int, Chain]) -> XpubSettings:
    """Check that an account has no other use.

    An account that this service already uses is not checked. Call it outside of a write
    transaction, because it may take some seconds. Invalid if `xpub` is not an account's public key;
    WalletInUse; ChainUnavailable while too many requests wait for nodes.
    """
    public_key = key_of(xpub)
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


def first_address(xpub: str) -> str:
    """Return the first address of an account, for comparison. No order gets it.

    Invalid if `xpub` is not an account's public key.
    """
    key_of(xpub)
    return xpubs.derive_address(xpub, 0)
