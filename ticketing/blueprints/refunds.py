"""The refunds surface: list refunds that are due, and mark them as paid."""

from typing import Any

from schemas.base import PageQuery, page_of
from schemas.refunds import RefundSchema, RefundSettleSchema
from ticketing.conflicts import NoRefundDue, RefundNotSeen
from ticketing.constants import Role
from ticketing.errors import ChainUnavailable, NotFound
from ticketing.services.pagination import Page
from ticketing.services.payments import refunds
from ticketing.services.payments.refunds import RefundOwed
from ticketing.web import auth
from ticketing.web.audited import actor
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, page_request
from ticketing.web.idempotency import idempotent_outside_transaction

blp = ApiBlueprint(
    "refunds",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/refunds",
    guard=auth.TenantRole(reads=Role.READ, writes=Role.ADMIN),
    description="Refunds that the organizer owes. The service never sends money.",
)


@blp.get("")
@blp.arguments(PageQuery, location="query")
@blp.response(200, page_of(RefundSchema))
def list_refunds(query: dict[str, Any], tenant: str) -> Page[RefundOwed]:
    """List the refunds that are due."""
    return refunds.list_page(caller().tenant_id, page_request(query))


@blp.post("/<intent_id>/settle")
@idempotent_outside_transaction
@blp.arguments(RefundSettleSchema)
@blp.response(200, RefundSchema)
@blp.raises(NotFound, NoRefundDue, RefundNotSeen, ChainUnavailable)
def settle_refund(body: dict[str, Any], tenant: str, intent_id: str) -> RefundOwed:
    """Mark a refund as paid. Its transfer must be final on the chain."""
    return refunds.settle(caller().tenant_id, intent_id, body["tx_hash"], config().chains, actor())
