"""The surface on which an administrator ends a doubt about an id of a payout."""

from typing import Any

from schemas.refunds import RefundPassOverSchema, RefundSchema
from ticketing.errors import Invalid, NoRefundDue, NotFound, RefundListed
from ticketing.roles import Role
from ticketing.services.payments import passed_ids
from ticketing.services.payments.refunds import RefundOwed
from ticketing.web import auth
from ticketing.web.audited import actor
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller
from ticketing.web.idempotency import idempotent

blp = ApiBlueprint(
    "passed_ids",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/refunds",
    guard=auth.TenantRole(reads={Role.ADMIN}, writes={Role.ADMIN}),
    description="Ids of payouts that were used for something else.",
)


@blp.post("/<intent_id>/pass-over")
@idempotent
@blp.arguments(RefundPassOverSchema)
@blp.response(200, RefundSchema)
@blp.raises(NotFound, NoRefundDue, RefundListed, Invalid)
def pass_over_id(body: dict[str, Any], tenant: str, intent_id: str) -> RefundOwed:
    """Say that an id of an order was used for something else, after you have checked it.

    It ends `already_paid` and `paid_elsewhere`: the refund can be listed again, with the next id.
    While a list with this id can still be paid: 409 `refund_listed`.
    """
    return passed_ids.pass_over(caller().tenant_id, intent_id, **body, by=actor())
