"""The vouchers surface: codes that lower a price or open a ticket type of one event.

Codes are money. A credential with the role `read` sees everything else.
"""

from typing import Any

from flask import Response

from schemas.base import page_of
from schemas.vouchers import (
    AuditedVoucherBatchSchema,
    AuditedVoucherSchema,
    VoucherBatchCreateSchema,
    VoucherBatchSchema,
    VoucherChangeSchema,
    VoucherCreateSchema,
    VoucherListQuery,
    VoucherSchema,
)
from ticketing.errors import CodeTaken, MaxUsagesTooLow, NotFound, TooManyRequests
from ticketing.models.vouchers import Voucher
from ticketing.roles import Role
from ticketing.services.catalog import vouchers
from ticketing.services.catalog.vouchers import Batch
from ticketing.services.exports import files, tables
from ticketing.services.pagination import Page
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, page_request
from ticketing.web.download import download
from ticketing.web.event_scope import ONE_EVENT
from ticketing.web.idempotency import idempotent, never_stored
from ticketing.web.repeated import batch_again, voucher_again

blp = ApiBlueprint(
    "vouchers",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/events/<event_id>",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=ONE_EVENT),
    description="Codes that lower the price of an event's tickets, or open a ticket type."
    " With the role `read`, `code` is null.",
)


def _sees_codes() -> bool:
    return caller().role.holds(Role.WRITE)


@blp.get("/vouchers")
@blp.arguments(VoucherListQuery, location="query")
@blp.response(200, page_of(VoucherSchema))
@blp.raises(NotFound)
def list_vouchers(query: dict[str, Any], tenant: str, event_id: str) -> Page[Voucher]:
    """List the vouchers of an event, the oldest first."""
    page = page_request(query)
    return vouchers.list_page(
        caller().tenant_id, event_id, page, shows_codes=_sees_codes(), **query
    )


@blp.post("/vouchers")
@idempotent
@blp.arguments(VoucherCreateSchema)
@blp.response(201, VoucherSchema)
@audited(AuditedVoucherSchema)
@blp.raises(NotFound, CodeTaken)
@never_stored("code", shown_again=voucher_again)
def create_voucher(body: dict[str, Any], tenant: str, event_id: str) -> Voucher:
    """Create a voucher, with a code of your own or a random one."""
    return vouchers.create(caller().tenant_id, event_id, body)


@blp.post("/vouchers/batch")
@idempotent
@blp.arguments(VoucherBatchCreateSchema)
@blp.response(201, VoucherBatchSchema)
@audited(AuditedVoucherBatchSchema)
@blp.raises(NotFound, CodeTaken)
@never_stored("vouchers.code", shown_again=batch_again)
def create_vouchers(body: dict[str, Any], tenant: str, event_id: str) -> Batch:
    """Create up to 500 vouchers with random codes, all or none."""
    count, prefix = body.pop("count"), body.pop("prefix")
    return vouchers.create_batch(caller().tenant_id, event_id, body, count=count, prefix=prefix)


@blp.get("/vouchers/<voucher_id>")
@blp.response(200, VoucherSchema)
@blp.raises(NotFound)
def get_voucher(tenant: str, event_id: str, voucher_id: str) -> Voucher:
    """Read one voucher."""
    found = vouchers.get(caller().tenant_id, event_id, voucher_id)
    return found if _sees_codes() else vouchers.without_code(found)


@blp.patch("/vouchers/<voucher_id>")
@blp.arguments(VoucherChangeSchema)
@blp.response(200, VoucherSchema)
@audited(AuditedVoucherSchema, before=vouchers.get)
@blp.raises(NotFound, MaxUsagesTooLow)
def change_voucher(body: dict[str, Any], tenant: str, event_id: str, voucher_id: str) -> Voucher:
    """Change some fields of a voucher. Orders that exist keep their price."""
    return vouchers.change(caller().tenant_id, event_id, voucher_id, body)


@blp.post("/vouchers/<voucher_id>/disable")
@idempotent
@blp.response(200, VoucherSchema)
@audited(AuditedVoucherSchema, before=vouchers.get)
@blp.raises(NotFound)
@never_stored("code", shown_again=voucher_again)
def disable_voucher(tenant: str, event_id: str, voucher_id: str) -> Voucher:
    """Let nobody use a voucher any more. Orders that exist keep it."""
    return vouchers.disable(caller().tenant_id, event_id, voucher_id)


@blp.get("/vouchers.csv")
@blp.text(
    files.CONTENT_TYPE,
    example=",".join(tables.VOUCHERS.columns) + "\r\n",
    description="Columns: " + ", ".join(f"`{name}`" for name in tables.VOUCHERS.columns),
)
@blp.raises(NotFound, TooManyRequests)
def export_vouchers(tenant: str, event_id: str) -> Response:
    """Download all vouchers of an event. With the role `read`, the codes are empty."""
    return download(files.vouchers(caller().tenant_id, event_id, shows_codes=_sees_codes()))
