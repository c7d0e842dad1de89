"""What keeps people from buying right now."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import datetime

from ticketing import clock
from ticketing.config import Config
from ticketing.constants import Availability, EventType, Obstacle, Publication
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.services import chains
from ticketing.services.access import tenants
from ticketing.services.catalog import ticket_types

_PUBLIC_NAMES = {
    Obstacle.SALES_NOT_STARTED: Availability.NOT_STARTED,
    Obstacle.SALES_ENDED: Availability.ENDED,
    Obstacle.SOLD_OUT: Availability.SOLD_OUT,
}


@dataclass(frozen=True)
class Circumstances:
    """What the answer depends on besides the event and its ticket types."""

    has_wallet: bool
    payable_chains: Container[int]
    now: datetime


def tell_events(tenant_id: str, found: Sequence[Event], config: Config) -> None:
    """Set the `obstacles` of a tenant's events."""
    circumstances = _circumstances(tenants.find(tenant_id), config)
    by_event = ticket_types.of_events(found)
    for event in found:
        event.obstacles = of_event(event, by_event[event.id], circumstances)


def tell_event(event: Event, config: Config) -> None:
    """Set the `obstacles` of one event."""
    circumstances = _circumstances(event.tenant, config)
    event.obstacles = of_event(event, ticket_types.of_event(event), circumstances)


def tell_ticket_types(event: Event, found: Sequence[TicketType], config: Config) -> None:
    """Set the `obstacles` of an event's ticket types."""
    circumstances = _circumstances(event.tenant, config)
    for ticket_type in found:
        ticket_type.obstacles = of_ticket_type(ticket_type, event, circumstances)


def of_ticket_type(
    ticket_type: TicketType, event: Event, circumstances: Circumstances
) -> list[Obstacle]:
    """Return why nobody can buy this ticket type; empty when it is on sale."""
    now = circumstances.now
    paid = ticket_type.price_amount > 0
    available = ticket_type.available
    found = {
        Obstacle.NOT_PUBLISHED: ticket_type.status != Publication.PUBLISHED,
        Obstacle.EVENT_NOT_PUBLISHED: event.status != Publication.PUBLISHED,
        Obstacle.WALLET_MISSING: paid and not circumstances.has_wallet,
        Obstacle.CHAIN_NOT_ENABLED: (
            paid and ticket_type.chain_id not in circumstances.payable_chains
        ),
        Obstacle.SALES_NOT_STARTED: (
            ticket_type.sales_start_at is not None and now < ticket_type.sales_start_at
        ),
        Obstacle.SALES_ENDED: (
            ticket_type.sales_end_at is not None and now >= ticket_type.sales_end_at
        ),
        Obstacle.SOLD_OUT: available is not None and available < ticket_type.min_per_order,
    }
    return [obstacle for obstacle, stands in found.items() if stands]


def of_event(
    event: Event, of_it: Sequence[TicketType], circumstances: Circumstances
) -> list[Obstacle]:
    """Return why nobody can buy anything of this event.

    As long as one published ticket type is on sale, the others' obstacles do not count.
    """
    found: set[Obstacle] = set()
    if event.status != Publication.PUBLISHED:
        found.add(Obstacle.NOT_PUBLISHED)
    if event.type != EventType.IN_PERSON and event.online_join_url is None:
        found.add(Obstacle.JOIN_URL_MISSING)
    published = [each for each in of_it if each.status == Publication.PUBLISHED]
    of_types = [
        set(of_ticket_type(each, event, circumstances)) - {Obstacle.EVENT_NOT_PUBLISHED}
        for each in published
    ]
    if not of_types:
        found.add(Obstacle.NO_PUBLISHED_TICKET_TYPE)
    elif all(of_types):
        found.update(*of_types)
    return [obstacle for obstacle in Obstacle if obstacle in found]


def availability(obstacles: Sequence[Obstacle]) -> Availability:
    """Say to the public in one word what the organizer is told in detail."""
    if not obstacles:
        return Availability.ON_SALE
    return _PUBLIC_NAMES.get(obstacles[0], Availability.UNAVAILABLE)


def _circumstances(tenant: Tenant, config: Config) -> Circumstances:
    payable = chains.payable(config.chains, chains.states())
    return Circumstances(tenant.wallet_id is not None, payable, clock.now())
