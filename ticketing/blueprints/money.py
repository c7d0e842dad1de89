"""The surface on which organizers read what their money did."""

from schemas.money import MoneySchema
from ticketing.roles import Role
from ticketing.services.money import figures
from ticketing.services.money.figures import Money
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config

blp = ApiBlueprint(
    "money",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/money",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes={Role.ADMIN, Role.FINANCE}),
    description="What was received, kept, paid back and moved.",
)


@blp.get("")
@blp.response(200, MoneySchema)
def read_money(tenant: str) -> Money:
    """Read what was received, kept, owed, paid back and moved, by network and token."""
    return figures.read(caller().tenant_id, config().chains)
