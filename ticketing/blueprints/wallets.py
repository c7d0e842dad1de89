"""The wallet surface: where a tenant's payments go."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import Response

from schemas.wallets import (
    RecoveryFileSchema,
    WalletSchema,
    WalletSetSchema,
)
from ticketing.errors import ChainUnavailable, NotFound
from ticketing.roles import Role
from ticketing.services.wallets import changes, recovery, views
from ticketing.services.wallets.views import WalletView
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, tenant_of_path
from ticketing.web.idempotency import idempotent

blp = ApiBlueprint(
    "wallets",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/wallet",
    guard=auth.TenantRole(reads={Role.ADMIN}, writes={Role.ADMIN}),
    description="Where payments go. The service never has a private key.",
)


@blp.get("")
@blp.response(200, WalletSchema)
@blp.raises(NotFound)
def get_wallet(tenant: str) -> WalletView:
    """Read the wallet."""
    return views.read(caller().tenant_id)


def _stated(view: Callable[..., Response]) -> Callable[..., Response]:
    """Check the wanted wallet on the chains before the view's write transaction begins."""

    @wraps(view)
    def wrapper(body: dict[str, Any], **path: str) -> Response:
        return view({"settings": changes.stated(caller().tenant_id, body, config().chains)}, **path)

    return wrapper


@blp.put("")
@blp.arguments(WalletSetSchema)
@blp.response(200, WalletSchema)
@blp.raises(ChainUnavailable)
@_stated
@audited(WalletSchema, before=views.read)
def set_wallet(body: dict[str, Any], tenant: str) -> WalletView:
    """Set or replace the wallet.

    Once the tenant was paid, another address or a further network waits: the answer has it in
    `pending`, and administrators get a mail and can cancel it. A new request replaces it, and the
    time starts again. Addresses issued earlier are still watched.
    """
    tenant_id, by = caller().tenant_id, caller().credential_id
    changes.put(tenant_id, body["settings"], by=by, wait=config().wallet_change)
    return views.read(tenant_id)


@blp.post("/pending/cancel")
@idempotent
@blp.response(200, WalletSchema)
@audited(WalletSchema, before=views.read)
@blp.raises(NotFound)
def cancel_wallet_change(tenant: str) -> WalletView:
    """Cancel the change of the wallet that waits."""
    tenant_id = caller().tenant_id
    changes.cancel(tenant_id, caller().credential_id)
    return views.read(tenant_id)


@blp.post("/credited")
@idempotent
@blp.response(200, WalletSchema)
@audited(WalletSchema, before=views.read)
@blp.raises(NotFound)
def note_wallet_credited(tenant: str) -> WalletView:
    """Say that an exchange credited a first collection. It ends the warning `wallet_untested`."""
    changes.note_credited(caller().tenant_id)
    return views.read(caller().tenant_id)


@blp.get("/recovery")
@blp.response(200, RecoveryFileSchema)
@blp.raises(NotFound)
def get_recovery_file(tenant: str) -> dict[str, Any]:
    """Read the recovery file: with it, all payments can be found without this service.

    It cannot spend, but reveals all addresses of orders: keep it secret. Reading it ends the
    warnings about it.
    """
    return recovery.file_of(tenant_of_path(), config().chains)
