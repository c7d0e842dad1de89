"""Publish an event together with its ticket types, and see before what that would be like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ticketing.config import Config
from ticketing.constants import MAX_PAGE, Publication
from ticketing.db.connection import write_transaction
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services.catalog import events, obstacles, public_listing, ticket_types
from ticketing.services.catalog.public_listing import Listing
from ticketing.services.orders import vouchers
from ticketing.services.pagination import Page, PageRequest


@dataclass(frozen=True)
class Outlook:
    """An event and its ticket types as they would be after a publication of all. Never save them.

    `drafts`: the ids of the ticket types that are drafts now.
    """

    event: Event
    ticket_types: Sequence[TicketType]
    drafts: frozenset[str]


def outlook(tenant: Tenant, event_id: str, config: Config) -> Outlook:
    """Return what would be on sale, and what would still keep people from buying. NotFound."""
    event = events.read(tenant, event_id, config)
    everything = PageRequest(MAX_PAGE, None, config.keyring)
    listed = ticket_types.list_page(tenant, event_id, everything, config).data
    found = [each for each in listed if each.status != Publication.CANCELED]
    drafts = frozenset(each.id for each in found if each.status == Publication.DRAFT)
    event.status = Publication.PUBLISHED
    for each in found:
        each.status = Publication.PUBLISHED
    obstacles.add_to_ticket_types(tenant, event, found, config)
    event.obstacles = obstacles.of_event(event, found, obstacles.circumstances(tenant, config))
    return Outlook(event, found, drafts)


def preview(tenant: Tenant, event_id: str, config: Config) -> Listing:
    """Return the event as the public would see it after a publication of all. NotFound."""
    found = outlook(tenant, event_id, config)
    shown = [each for each in found.ticket_types if vouchers.is_shown(each, None)]
    return public_listing.listing_of(tenant, found.event, Page(shown, None), config)


def publish(tenant: Tenant, event_id: str, ticket_ids: Sequence[str], config: Config) -> Event:
    """Publish an event and these ticket types of it, in one transaction.

    NotFound; InvalidTransition if one of them was canceled.
    """
    with write_transaction():
        # Before its ticket types: a cancelation of the event at the same time locks it first, too.
        events.lock(tenant.id, event_id)
        for ticket_id in ticket_ids:
            ticket_types.set_status(tenant, event_id, ticket_id, Publication.PUBLISHED, config)
        return events.change_status(tenant, event_id, Publication.PUBLISHED, config, refund=None)
