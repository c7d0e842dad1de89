"""The payouts surface: what an account must sign to pay refunds back."""

from typing import Any

from schemas.payouts import PayoutCreateSchema, PayoutListSchema
from ticketing.errors import ChainUnavailable, Invalid
from ticketing.roles import Role
from ticketing.services.money import payouts
from ticketing.services.money.payout_lists import PayoutList
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


@blp.post("")
@idempotent_outside_transaction
@blp.arguments(PayoutCreateSchema)
@blp.response(200, PayoutListSchema)
@blp.raises(Invalid, ChainUnavailable)
def create_payout(body: dict[str, Any], tenant: str) -> PayoutList:
    """List the refunds that an account pays back, and what it signs for that.

    The list is stored, and what the account pays is booked without further calls. An order is on
    no list of two accounts at once. The same account gets the same ids again, and the factory pays
    each id once. Refunds of orders of an extended public key are not here.
    """
    return payouts.propose(caller().tenant_id, **body, enabled=config().chains, by=actor())
