"""The chains that can be paid on."""

from typing import Any

from schemas.chains import ChainListSchema
from ticketing.constants import CallClass
from ticketing.services import chains
from ticketing.web import auth
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config

blp = ApiBlueprint(
    "chains",
    __name__,
    guard=auth.Open(CallClass.PUBLIC),
    description="What can be paid with.",
)


@blp.get("/v1/chains")
@blp.response(200, ChainListSchema)
def list_chains() -> dict[str, Any]:
    """List the chains that can be paid on."""
    return {
        "data": list(chains.payable(config().chains, chains.states()).values()),
        "next_cursor": None,
    }
