"""The chains surface: the chains on which buyers can pay."""

from typing import Any

from schemas.chains import ChainListSchema
from ticketing.limits import CallClass
from ticketing.services import chains
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config

blp = ApiBlueprint(
    "chains",
    __name__,
    guard=auth.Open(CallClass.PUBLIC),
    description="The chains and tokens that buyers can pay with.",
)


@blp.get("/v1/chains")
@blp.response(200, ChainListSchema)
def list_chains() -> dict[str, Any]:
    """List the chains on which buyers can pay."""
    return {
        "data": list(chains.payable(config().chains, chains.states()).values()),
        "next_cursor": None,
    }
