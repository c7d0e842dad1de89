"""The wallet surface: the account that receives a tenant's payments."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import Response

from schemas.wallets import WalletSchema, WalletSetAnswerSchema, WalletSetSchema
from ticketing.constants import Role
from ticketing.errors import ChainUnavailable, NotFound, WalletInUse
from ticketing.services.wallets import xpubs
from ticketing.services.wallets.xpubs import WalletView
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config

blp = ApiBlueprint(
    "wallets",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/wallet",
    guard=auth.TenantRole(reads=Role.ADMIN, writes=Role.ADMIN),
    description="The account that receives payments. The service never has its private key.",
)


@blp.get("")
@blp.response(200, WalletSchema)
@blp.raises(NotFound)
def get_wallet(tenant: str) -> WalletView:
    """Read the wallet."""
    return xpubs.read(caller().tenant_id)


def _unused_account(view: Callable[..., Response]) -> Callable[..., Response]:
    """Check the account on the chains before the view's write transaction begins."""

    @wraps(view)
    def wrapper(body: dict[str, Any], **path: str) -> Response:
        unchecked = xpubs.ensure_unused(body["xpub"], config().chains)
        return view({**body, "unchecked_chains": unchecked}, **path)

    return wrapper


@blp.put("")
@blp.arguments(WalletSetSchema)
@blp.response(200, WalletSetAnswerSchema)
@blp.raises(WalletInUse, ChainUnavailable)
@_unused_account
@audited(WalletSchema, before=xpubs.read)
def set_wallet(body: dict[str, Any], tenant: str) -> WalletView:
    """Set or replace the wallet.

    The account must have no other use. It is rejected if one of its first five addresses has a
    nonce or holds the token on an enabled chain. Addresses issued earlier are still watched.
    """
    return xpubs.replace(caller().tenant_id, body["xpub"], body["unchecked_chains"])
