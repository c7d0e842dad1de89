"""The surface of the wallet that a tenant is paid into."""

from typing import Any

from schemas.wallets import WalletSchema, WalletSetSchema
from ticketing.constants import Role
from ticketing.errors import NotFound
from ticketing.services import wallets
from ticketing.services.wallets import WalletView
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller

blp = ApiBlueprint(
    "wallets",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/wallet",
    guard=auth.TenantRole(reads=Role.ADMIN, writes=Role.ADMIN),
    description="The account that payments go to. Its private key never comes here.",
)


def _wallet_of(tenant_id: str) -> WalletView:
    return wallets.view(wallets.of_tenant(tenant_id))


@blp.get("")
@blp.response(200, WalletSchema)
@blp.raises(NotFound)
def get_wallet(tenant: str) -> WalletView:
    """Read the wallet."""
    return _wallet_of(caller().tenant_id)


@blp.put("")
@blp.arguments(WalletSetSchema)
@blp.response(200, WalletSchema)
@audited(WalletSchema, before=_wallet_of)
def set_wallet(body: dict[str, Any], tenant: str) -> WalletView:
    """Set or replace the wallet. Addresses issued before stay watched."""
    return wallets.view(wallets.replace(caller().tenant_id, body["xpub"]))
