"""The surface on which organizers release the deposits of who came to an event."""

from typing import Any

from schemas.deposits import DepositsSchema, ReleaseSchema
from ticketing.errors import DoorsUnsynced, NotFound
from ticketing.roles import Role
from ticketing.services.payments import deposits
from ticketing.services.payments.deposits import Outlook
from ticketing.web import auth
from ticketing.web.audited import noted
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller
from ticketing.web.event_scope import ONE_EVENT
from ticketing.web.idempotency import idempotent

blp = ApiBlueprint(
    "deposits",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/events/<event_id>/deposits/release",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes={Role.ADMIN}, scope=ONE_EVENT),
    description="What comes back to those who came.",
)


@blp.get("")
@blp.response(200, DepositsSchema)
@blp.raises(NotFound)
def get_deposits(tenant: str, event_id: str) -> Outlook:
    """Read how much of an event's deposits was released, and what a release of now would add."""
    return deposits.outlook(caller().tenant_id, event_id)


@blp.post("")
@idempotent
@blp.arguments(ReleaseSchema)
@blp.response(202, DepositsSchema)
@blp.raises(NotFound, DoorsUnsynced)
def release_deposits(body: dict[str, Any], tenant: str, event_id: str) -> Outlook:
    """Make the deposits of who came owed to their orders. Nothing is released twice.

    The worker goes through the orders. They are refunds then, which the organizer pays back. Who
    did not come gets nothing.
    """
    return noted(
        event_id,
        lambda: deposits.release(caller().tenant_id, event_id, **body),
        lambda _: {"deposits": "released", **body},
    )
