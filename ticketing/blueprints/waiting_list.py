"""The surface on which organizers see who waits for tickets, and offer or take places."""

from typing import Any

from schemas.base import page_of
from schemas.waiting_list import (
    AuditedEntrySchema,
    EntryListQuery,
    EntrySchema,
)
from ticketing.errors import (
    AboveMaximum,
    BelowMinimum,
    ChainUnavailable,
    EntryEnded,
    EventOver,
    IntentNotCancelable,
    NetworkUnavailable,
    NoCommonNetwork,
    NotFound,
    NotPayable,
    OfferMade,
    SalesEnded,
    SalesNotStarted,
    SoldOut,
    TooManyFree,
    WaitingListClosed,
)
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.roles import Role
from ticketing.services.pagination import Page
from ticketing.services.waiting_list import entries, offers
from ticketing.web import auth
from ticketing.web.audited import audited, recorded
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, page_request
from ticketing.web.event_scope import ONE_EVENT
from ticketing.web.idempotency import idempotent, idempotent_outside_transaction

blp = ApiBlueprint(
    "waiting_list",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/events/<event_id>/waiting-list",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=ONE_EVENT),
    description="Who waits for tickets of an event.",
)


@blp.get("")
@blp.arguments(EntryListQuery, location="query")
@blp.response(200, page_of(EntrySchema))
@blp.raises(NotFound)
def list_waiting(query: dict[str, Any], tenant: str, event_id: str) -> Page[WaitingListEntry]:
    """List the places on the waiting list of an event, the oldest first."""
    page = page_request(query)
    return entries.list_page(caller().tenant_id, event_id, page, **query)


@blp.post("/<entry_id>/offer")
@idempotent
@blp.response(200, EntrySchema)
@audited(AuditedEntrySchema, before=entries.get)
@blp.raises(
    NotFound,
    EntryEnded,
    WaitingListClosed,
    SoldOut,
    SalesNotStarted,
    SalesEnded,
    EventOver,
    BelowMinimum,
    AboveMaximum,
    NotPayable,
    NetworkUnavailable,
    NoCommonNetwork,
    TooManyFree,
)
def offer_out_of_turn(tenant: str, event_id: str, entry_id: str) -> WaitingListEntry:
    """Offer free seats to somebody who waits, before those who came first."""
    entries.get(caller().tenant_id, event_id, entry_id)
    offers.offer(entry_id, config())
    return entries.get(caller().tenant_id, event_id, entry_id)


@blp.post("/<entry_id>/cancel")
@idempotent_outside_transaction
@blp.response(200, EntrySchema)
@blp.raises(NotFound, EntryEnded, OfferMade, IntentNotCancelable, ChainUnavailable)
def cancel_entry(tenant: str, event_id: str, entry_id: str) -> WaitingListEntry:
    """End a place, and the order that was offered, unless it is paid. The person is erased."""
    tenant_id = caller().tenant_id
    entries.get(tenant_id, event_id, entry_id)
    offers.withdraw(entry_id, config())
    ended: WaitingListEntry = recorded(
        AuditedEntrySchema,
        lambda: entries.end(entry_id),
        lambda: entries.get(tenant_id, event_id, entry_id),
    )
    return ended
