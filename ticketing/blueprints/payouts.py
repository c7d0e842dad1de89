"""The payouts surface: what an account signs to pay refunds back, and what to look at first."""

from typing import Any

from schemas.payouts import (
    PayoutCreateSchema,
    PayoutListSchema,
    PayoutPreviewQuery,
    PayoutPreviewSchema,
)
from ticketing.errors import ChainUnavailable, Invalid
from ticketing.roles import Role
from ticketing.services.money import payouts
from ticketing.services.money.payout_lists import PayoutList, PayoutPreview
from ticketing.web import auth
from ticketing.web.audited import actor
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config
from ticketing.web.idempotency import idempotent_outside_transaction

blp = ApiBlueprint(
    "payouts",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/payouts",
    guard=auth.TenantRole(reads={Role.ADMIN, Role.FINANCE}, writes={Role.ADMIN, Role.FINANCE}),
    description="Refunds that the organizer signs. The service never sends money.",
)


@blp.get("/preview")
@blp.arguments(PayoutPreviewQuery, location="query")
@blp.response(200, PayoutPreviewSchema)
@blp.raises(Invalid, ChainUnavailable)
def preview_payout(query: dict[str, Any], tenant: str) -> PayoutPreview:
    """Show what a list of an account would have, and what to look at before. Nothing is stored.

    Of each order: who decided where its refund goes, cautions, the payments that no second node has
    seen, and the ids of earlier lists. Ask a node that you trust for these payments, and whether
    one of the ids is used. Then list the orders that are right with `only`.
    """
    return payouts.preview(caller().tenant_id, **query, enabled=config().chains)


@blp.post("")
@idempotent_outside_transaction
@blp.arguments(PayoutCreateSchema)
@blp.response(200, PayoutListSchema)
@blp.raises(Invalid, ChainUnavailable)
def create_payout(body: dict[str, Any], tenant: str) -> PayoutList:
    """List the refunds that an account pays back, and what it signs for that.

    The list is stored, and what the account pays is booked without further calls. An order is on
    no list of two accounts at once. The same account gets the same ids again, and the factory pays
    each id once.

    Orders that need a look first are left out, and named in `blocked`: see the preview.
    """
    return payouts.propose(caller().tenant_id, **body, enabled=config().chains, by=actor())
