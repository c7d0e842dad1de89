"""Give a tenant a wallet at once, without the checks and facts of a change."""

import secrets
from collections.abc import Mapping

from ticketing.chain.address import checksum
from ticketing.chain.registry import REGISTRY, Chain
from ticketing.db.connection import write_transaction
from ticketing.models.chains import ChainState
from ticketing.models.tenants import Tenant
from ticketing.services.wallets import issuing, owners


def new_address() -> str:
    """Return a new address, with its checksum. Nobody has its private key."""
    return checksum("0x" + secrets.token_hex(20))


def give_wallet(tenant_id: str, enabled: Mapping[int, Chain]) -> None:
    """Let a tenant sell on all chains before a worker has looked.

    Its wallet is a new address without code on any chain. The chains have receivers.
    """
    prove_receivers(*enabled.values())
    use_address(tenant_id, new_address(), *{*REGISTRY, *enabled})


def prove_receivers(*chains: Chain) -> None:
    """Let chains have receivers, and facts about their tokens, as the first look of a worker."""
    for chain in chains:
        facts = {
            "token_address": chain.token_address,
            "decimals": chain.decimals,
            "symbol": chain.symbol,
            "has_receivers": True,
        }
        insert = ChainState.insert(chain_id=chain.chain_id, **facts)
        insert.on_conflict(conflict_target=[ChainState.chain_id], update=facts).execute()


def use_address(tenant_id: str, owner: str, *chain_ids: int) -> None:
    """Let new orders get receivers of an ordinary address without code."""
    here = frozenset(chain_ids)
    settings = owners.OwnerSettings(owner, here, no_code_on=here)
    with write_transaction():
        wallet = owners.stored(tenant_id, settings)
        Tenant.update(wallet=wallet.id).where(Tenant.id == tenant_id).execute()


def issued(tenant_id: str, index: int) -> str:
    """Return the address that a tenant's wallet issues at an index."""
    wallet = Tenant.get_by_id(tenant_id).wallet
    return issuing.address_of(wallet, index)
