"""The surface on which everybody can wait for a ticket type that is sold out."""

from typing import Any

from schemas.waiting_list import JoinedSchema, JoinSchema
from ticketing import clock
from ticketing.errors import (
    AboveMaximum,
    BelowMinimum,
    Invalid,
    MailNotConfigured,
    NotFound,
    NotSoldOut,
    TooManyJoins,
    TooManyMails,
    TooManyPlaces,
    WaitingListClosed,
    WaitingListFull,
)
from ticketing.services.access import tenants
from ticketing.services.waiting_list import entries
from ticketing.web import cors, secret_guards
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config, limited_client
from ticketing.web.idempotency import idempotent

blp = ApiBlueprint(
    "waiting",
    __name__,
    url_prefix="/v1/checkout/tenants/<tenant>",
    guard=secret_guards.Shopper(),
    description="Wait for a ticket type that is sold out.",
)
cors.open_to_all(blp)


@blp.post("/waiting-list")
@idempotent
@blp.arguments(JoinSchema)
@blp.response(202, JoinedSchema)
@blp.raises(
    NotFound,
    Invalid,
    NotSoldOut,
    WaitingListClosed,
    WaitingListFull,
    TooManyPlaces,
    BelowMinimum,
    AboveMaximum,
    MailNotConfigured,
    TooManyJoins,
    TooManyMails,
)
def join_waiting_list(body: dict[str, Any], tenant: str) -> dict[str, Any]:
    """Ask for a place on the waiting list. It counts once its address is confirmed, by mail.

    The first who confirmed gets the first seats that become free, as an order that is held for
    some hours, and a mail with its link. The answer is the same for an address that waits already.
    A mail that went in the last four hours is not sent again: `mailed_at` says when it was planned.
    """
    wanted = dict(body)
    event_id, ticket_id = wanted.pop("event_id"), wanted.pop("ticket_id")
    mailed_at = entries.join(
        tenants.find(tenant), event_id, ticket_id, wanted, limited_client(), config()
    )
    return {**body, "mailed_at": mailed_at or clock.now()}
