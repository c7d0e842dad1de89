"""The surface on which organizers read what to sign to collect their money."""

from typing import Any

from schemas.collections import CollectionsQuery, CollectionsSchema
from ticketing.errors import ChainUnavailable, Invalid, OwnerNotConfirmed
from ticketing.roles import Role
from ticketing.services.money import collecting
from ticketing.services.money.collecting import Proposal
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config

blp = ApiBlueprint(
    "collections",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/collections",
    guard=auth.TenantRole(reads={Role.ADMIN, Role.FINANCE}, writes={Role.ADMIN, Role.FINANCE}),
    description="What to sign to collect what orders hold. The service has no key.",
)


@blp.get("")
@blp.arguments(CollectionsQuery, location="query")
@blp.response(200, CollectionsSchema)
@blp.raises(Invalid, OwnerNotConfirmed, ChainUnavailable)
def list_collections(query: dict[str, Any], tenant: str) -> Proposal:
    """Read what to sign so that what orders hold is sent to the wallet's address.

    At most ten transactions of 100 orders. Each other order that holds something is in `blocked`
    with a reason, or counted in `left`. An order that got more after its payment was final is
    collected with all it holds.
    """
    return collecting.propose(
        caller().tenant_id,
        config().chains,
        query["chain_id"],
        query["token"],
        after=query["after"],
        is_owner_confirmed=query["owner_confirmed"],
    )
