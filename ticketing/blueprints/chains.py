"""The chains that can be paid on."""

from typing import Any

from schemas.chains import ChainListSchema
from ticketing.blueprints import guards
from ticketing.blueprints.context import config
from ticketing.blueprints.surface import Surface
from ticketing.constants import CallClass
from ticketing.services import chains

blp = Surface(
    "chains",
    __name__,
    guard=guards.Open(CallClass.PUBLIC),
    description="What can be paid with.",
)


@blp.get("/v1/chains")
@blp.answers(200, ChainListSchema)
def list_chains() -> dict[str, Any]:
    """List the chains that can be paid on."""
    return {
        "data": list(chains.payable(config().chains, chains.states()).values()),
        "next_cursor": None,
    }
