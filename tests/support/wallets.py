"""Give a tenant another wallet at once, without the checks and facts of a change."""

from ticketing.db.connection import write_transaction
from ticketing.models.tenants import Tenant
from ticketing.models.wallets import Wallet
from ticketing.services.wallets import owners, xpubs


def use_xpub(tenant_id: str, xpub: str) -> None:
    """Let new orders get addresses of an extended public key."""
    with write_transaction():
        _use(tenant_id, xpubs.stored(xpubs.XpubSettings(xpub)))


def use_address(tenant_id: str, owner: str, *chain_ids: int) -> None:
    """Let new orders get receivers of an ordinary address without code."""
    here = frozenset(chain_ids)
    settings = owners.OwnerSettings(owner, here, no_code_on=here)
    with write_transaction():
        _use(tenant_id, owners.stored(tenant_id, settings))


def _use(tenant_id: str, wallet: Wallet) -> None:
    Tenant.update(wallet=wallet.id).where(Tenant.id == tenant_id).execute()
