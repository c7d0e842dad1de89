"""An event as schema.org data, for search engines (JSON-LD)."""

from collections.abc import Sequence
from typing import Any

from ticketing import places
from ticketing.constants import Availability, EventType, Publication
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services import images
from ticketing.services.catalog import descriptions

_SCHEMA = "https://schema.org/"
_ATTENDANCE = {
    EventType.ONLINE: "OnlineEventAttendanceMode",
    EventType.IN_PERSON: "OfflineEventAttendanceMode",
    EventType.HYBRID: "MixedEventAttendanceMode",
}
_STATUS = {
    Publication.PUBLISHED: "EventScheduled",
    Publication.CANCELED: "EventCancelled",
}
_AVAILABILITY = {
    Availability.ON_SALE: "InStock",
    Availability.NOT_STARTED: "PreSale",
    Availability.SOLD_OUT: "SoldOut",
    Availability.HELD: "Reserved",
}


def event(
    of: Event, ticket_types: Sequence[TicketType], tenant: Tenant, origin: str
) -> dict[str, Any] | None:
    """Return an event as a schema.org `Event`, with an `Offer` for each ticket type.

    `of` is published, or was canceled after that. When it is over, no offer is valid any more.
    None if it is unlisted: it is not for search engines.
    """
    if of.is_unlisted:
        return None
    url = f"{origin}/{tenant.slug}/{of.slug}"
    found: dict[str, Any] = {
        "@context": _SCHEMA,
        "@type": "Event",
        "name": of.title,
        "url": url,
        "startDate": of.start_at.isoformat(),
        "eventStatus": _SCHEMA + _STATUS[Publication(of.status)],
        "eventAttendanceMode": _SCHEMA + _ATTENDANCE[EventType(of.type)],
        "organizer": {"@type": "Organization", "name": tenant.name},
        "location": _locations(of, url),
        "offers": [_offer(each, of, url) for each in ticket_types if not each.requires_key],
    }
    if ticket_types and not any(each.price_amount or each.free_price for each in ticket_types):
        found["isAccessibleForFree"] = True
    if of.doors_open_at is not None:
        found["doorTime"] = of.doors_open_at.isoformat()
    if of.end_at is not None:
        found["endDate"] = of.end_at.isoformat()
    if of.description:
        found["description"] = descriptions.plain(of)
    if of.image_digest is not None:
        found["image"] = [origin + images.path(tenant.slug, of.image_digest)]
    return found


def _locations(of: Event, url: str) -> list[dict[str, Any]]:
    """Return where it is. The join URL is only for those who have a ticket."""
    online = {"@type": "VirtualLocation", "url": url}
    found = []
    if of.venue and of.type != EventType.ONLINE:
        name, address = places.of(of.venue)
        found.append({"@type": "Place", "name": name, "address": address or name})
    return found if of.type == EventType.IN_PERSON else [*found, online]


def _offer(ticket_type: TicketType, event: Event, url: str) -> dict[str, Any]:
    """Return an offer without its price: USDC has no ISO 4217 code, and a wrong one would lie."""
    availability = _AVAILABILITY.get(ticket_type.availability, "OutOfStock")
    found = {
        "@type": "Offer",
        "name": ticket_type.name,
        "url": url,
        "availability": _SCHEMA + availability,
        "validThrough": min(ticket_type.sales_end_at or event.over_at, event.over_at).isoformat(),
    }
    if ticket_type.description:
        found["description"] = ticket_type.description
    if ticket_type.sales_start_at is not None:
        found["validFrom"] = ticket_type.sales_start_at.isoformat()
    return found
