"""What a voucher's code opens. Not on the public surface, whose responses proxies may keep."""

from typing import Any

from schemas.base import page_of
from schemas.vouchers import VoucherTicketsQuery, VoucherTicketTypeSchema
from ticketing.errors import NotFound, TooManyGuesses, VoucherHeld, VoucherInvalid
from ticketing.limits import CallClass
from ticketing.models.ticket_types import TicketType
from ticketing.services.catalog import public_listing
from ticketing.services.pagination import Page
from ticketing.web import auth, cors, guesses
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import config, page_request, tenant_of_path

blp = ApiBlueprint(
    "voucher_tickets",
    __name__,
    url_prefix="/v1/checkout/tenants/<tenant>/events",
    guard=auth.Open(CallClass.CHECKOUT),
    description="What somebody with a voucher's code can buy.",
)
cors.open_to_all(blp)


@blp.get("/<event_id>/tickets")
@blp.arguments(VoucherTicketsQuery, location="query")
@blp.response(200, page_of(VoucherTicketTypeSchema))
@blp.raises(NotFound, VoucherInvalid, VoucherHeld, TooManyGuesses)
def list_voucher_tickets(query: dict[str, Any], tenant: str, event_id: str) -> Page[TicketType]:
    """List the ticket types of an event with a voucher: also hidden ones, and its prices.

    The event is an id or a slug. Ten wrong codes a minute, then none is looked up.
    """
    code, page = query.pop("voucher"), page_request(query)
    with guesses.counted(code):
        return public_listing.list_with_code(tenant_of_path(), event_id, page, config(), code)
