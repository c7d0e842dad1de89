"""A tenant's wallet for its organizer: what it is, what waits, and what is still to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ticketing.constants import RECOVERY_FILE_TOO_OLD, WalletWarning
from ticketing.errors import NotFound
from ticketing.models.tenants import Tenant
from ticketing.models.wallets import PendingWallet, Wallet


@dataclass(frozen=True)
class WantedView:
    """What a wallet consists of.

    `address` has its EIP-55 checksum. `minimum_deposit` is in micro-units.
    """

    address: str
    chain_ids: Sequence[int]
    contract_is_mine: bool
    exchange: bool
    minimum_deposit: int | None


@dataclass(frozen=True)
class PendingView:
    """A change of the wallet that waits. `by` is the id of the key or member that asked."""

    wallet: WantedView
    effective_at: datetime
    by: str


@dataclass(frozen=True, kw_only=True)
class WalletView(WantedView):
    """A tenant's wallet. `unchecked_chains`: no worker has asked them about the address yet."""

    next_index: int
    contract_version: int
    unchecked_chains: Sequence[int]
    credited_at: datetime | None = None
    warnings: Sequence[WalletWarning] = ()
    pending: PendingView | None = None


def read(tenant_id: str) -> WalletView:
    """Return the tenant's wallet. NotFound if it has none."""
    wallet: Wallet | None = Wallet.select().join(Tenant).where(Tenant.id == tenant_id).first()
    if wallet is None:
        raise NotFound("This tenant has no wallet yet.")
    pending: PendingWallet | None = PendingWallet.get_or_none(PendingWallet.tenant_id == tenant_id)
    return WalletView(
        **vars(wanted(wallet)),
        next_index=wallet.next_index,
        contract_version=wallet.contract_version,
        unchecked_chains=sorted(wallet.unchecked_chains),
        credited_at=wallet.credited_at,
        warnings=_warnings(wallet),
        pending=None if pending is None else pending_view(pending),
    )


def pending_view(pending: PendingWallet) -> PendingView:
    """Return a change that waits."""
    return PendingView(wanted(pending), pending.effective_at, pending.asked_by)


def wanted(wallet: Wallet | PendingWallet) -> WantedView:
    """Return what a wallet consists of."""
    return WantedView(
        wallet.owner,
        sorted(wallet.chain_ids),
        wallet.contract_is_mine,
        wallet.is_exchange,
        wallet.least_collected,
    )


def _warnings(wallet: Wallet) -> list[WalletWarning]:
    saved, next_index = wallet.recovery_index, wallet.next_index
    found = {
        WalletWarning.CONTRACT_UNCONFIRMED: wallet.is_unconfirmed_contract,
        WalletWarning.WALLET_UNTESTED: wallet.is_exchange and wallet.credited_at is None,
        WalletWarning.RECOVERY_FILE_NOT_SAVED: saved is None,
        WalletWarning.RECOVERY_FILE_OUTDATED: (
            saved is not None and next_index - saved >= RECOVERY_FILE_TOO_OLD
        ),
    }
    return [warning for warning, applies in found.items() if applies]
