"""Obstacles: the reasons why nobody can buy right now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from peewee import ModelSelect

from ticketing import clock
from ticketing.chain.registry import REGISTRY, Chain
from ticketing.config import Config
from ticketing.constants import (
    Availability,
    EventType,
    Obstacle,
    Publication,
    TicketTypeWarning,
)
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.models.wallets import Wallet
from ticketing.services import chains
from ticketing.services.orders import stock
from ticketing.services.wallets import issuing

_PUBLIC_NAMES = {
    Obstacle.SALES_NOT_STARTED: Availability.NOT_STARTED,
    Obstacle.SALES_ENDED: Availability.ENDED,
    Obstacle.EVENT_OVER: Availability.ENDED,
    Obstacle.SOLD_OUT: Availability.SOLD_OUT,
}


@dataclass(frozen=True)
class Circumstances:
    """What the obstacles depend on, besides the event and its ticket types."""

    wallet: Wallet | None
    payable_chains: Mapping[int, Chain]
    now: datetime
    without_x402: frozenset[int]
    """Chains whose facilitator cannot be used, as the worker found."""


def add_to_events(tenant: Tenant, found: Sequence[Event], config: Config) -> None:
    """Set `obstacles` on events of a tenant, and how many seats are held and sold."""
    around = circumstances(tenant, config)
    by_event = _ticket_types_of(found)
    for event in found:
        seats = [each for each in by_event[event.id] if each.admission]
        event.held = sum(each.held for each in seats)
        event.sold = sum(each.sold for each in seats)
        event.obstacles = of_event(event, by_event[event.id], around)


def add_to_ticket_types(
    tenant: Tenant, event: Event, found: Sequence[TicketType], config: Config
) -> None:
    """Set `obstacles` and `warnings` on an event's ticket types."""
    around = circumstances(tenant, config)
    left = stock.left_of_event(event)
    for ticket_type in found:
        ticket_type.obstacles = of_ticket_type(ticket_type, event, left, around)
        ticket_type.warnings = _warnings(ticket_type, config, around)


def of_ticket_type(
    ticket_type: TicketType, event: Event, left_of_event: int | None, circumstances: Circumstances
) -> list[Obstacle]:
    """Return why nobody can buy this ticket type. Empty if it is on sale.

    `left_of_event`: how much of the event's own capacity is left. None: it has none. Only a ticket
    type of admission needs it.
    """
    now = circumstances.now
    paid = ticket_type.price_amount > 0 or ticket_type.free_price
    wallet, payable = circumstances.wallet, circumstances.payable_chains
    taken = [each for each in ticket_type.chain_ids if wallet is None or wallet.takes(each)]
    # One network that can be used is enough.
    enabled = [payable[each] for each in taken or ticket_type.chain_ids if each in payable]
    limits = (ticket_type.buyable, left_of_event if ticket_type.admission else None)
    left = [each for each in limits if each is not None]
    found = {
        Obstacle.NOT_PUBLISHED: ticket_type.status != Publication.PUBLISHED,
        Obstacle.EVENT_NOT_PUBLISHED: event.status != Publication.PUBLISHED,
        Obstacle.WALLET_MISSING: paid and wallet is None,
        Obstacle.CHAIN_NOT_ENABLED: paid and not enabled,
        Obstacle.WALLET_NOT_ON_CHAIN: paid and wallet is not None and not taken,
        Obstacle.RECEIVERS_UNAVAILABLE: (
            paid
            and wallet is not None
            and bool(enabled)
            and not any(chain.has_receivers for chain in enabled)
        ),
        Obstacle.SALES_NOT_STARTED: (
            ticket_type.sales_start_at is not None and now < ticket_type.sales_start_at
        ),
        Obstacle.SALES_ENDED: (
            ticket_type.sales_end_at is not None and now >= ticket_type.sales_end_at
        ),
        Obstacle.EVENT_OVER: now >= event.over_at,
        Obstacle.SOLD_OUT: (
            any(each < ticket_type.min_per_order for each in left)
            and stock.in_pool(ticket_type, event) < ticket_type.min_per_order
        ),
        # The last one, and for information: those who have a voucher can buy.
        Obstacle.VOUCHER_ONLY: ticket_type.require_voucher,
    }
    return [obstacle for obstacle, applies in found.items() if applies]


def usable_chains(ticket_type: TicketType, circumstances: Circumstances) -> Sequence[int]:
    """Return the chains on which a ticket type can be paid now, the proposed one first."""
    wallet, payable = circumstances.wallet, circumstances.payable_chains
    if wallet is None:
        return ()
    return [
        chain_id
        for chain_id in ticket_type.chain_ids
        if chain_id in payable and wallet.takes(chain_id) and payable[chain_id].has_receivers
    ]


def of_event(
    event: Event, of_it: Sequence[TicketType], circumstances: Circumstances
) -> list[Obstacle]:
    """Return why nobody can buy any ticket of this event.

    If one published ticket type is on sale, the obstacles of the others are ignored. If some are on
    sale with a voucher only, that is the one obstacle.
    """
    found: set[Obstacle] = set()
    if event.status != Publication.PUBLISHED:
        found.add(Obstacle.NOT_PUBLISHED)
    if event.type != EventType.IN_PERSON and event.online_join_url is None:
        found.add(Obstacle.JOIN_URL_MISSING)
    if circumstances.now >= event.over_at:
        found.add(Obstacle.EVENT_OVER)
    published = [each for each in of_it if each.status == Publication.PUBLISHED]
    of_types = [
        set(of_ticket_type(each, event, event.available, circumstances))
        - {Obstacle.EVENT_NOT_PUBLISHED}
        for each in published
    ]
    if not of_types:
        found.add(Obstacle.NO_PUBLISHED_TICKET_TYPE)
    elif all(of_types):
        only = {Obstacle.VOUCHER_ONLY}
        found.update(*([only] if only in of_types else of_types))
    return [obstacle for obstacle in Obstacle if obstacle in found]


def _warnings(
    ticket_type: TicketType, config: Config, around: Circumstances
) -> list[TicketTypeWarning]:
    """Return what the organizer may want to change, though the ticket type may be on sale."""
    found = [config.chains.get(each) or REGISTRY.get(each) for each in ticket_type.chain_ids]
    least = max((chain.least_sensible_price for chain in found if chain is not None), default=0)
    warnings = {
        TicketTypeWarning.FEE_EXCEEDS_PRICE: 0 < ticket_type.price_amount < least,
        TicketTypeWarning.MAIL_NOT_CONFIGURED: (
            ticket_type.allow_waitinglist and config.smtp is None
        ),
        TicketTypeWarning.FACILITATOR_UNAVAILABLE: bool(
            around.without_x402.intersection(ticket_type.chain_ids)
        ),
    }
    return [warning for warning, applies in warnings.items() if applies]


def availability(obstacles: Sequence[Obstacle]) -> Availability:
    """Return one word for the public, from the detailed obstacles."""
    if not obstacles:
        return Availability.ON_SALE
    return _PUBLIC_NAMES.get(obstacles[0], Availability.UNAVAILABLE)


@Prepared
def _of_event(event_id: Any) -> ModelSelect[TicketType]:
    return TicketType.select().where(TicketType.event == event_id).order_by(TicketType.id)


def _ticket_types_of(found: Sequence[Event]) -> dict[str, list[TicketType]]:
    """Return the ticket types of events by event id, the oldest first."""
    if len(found) == 1:
        return {found[0].id: _of_event.rows(event_id=found[0].id)}
    by_event: dict[str, list[TicketType]] = {event.id: [] for event in found}
    query = TicketType.select().where(TicketType.event.in_(list(by_event)))
    for ticket_type in query.order_by(TicketType.id):
        by_event[ticket_type.event_id].append(ticket_type)
    return by_event


def circumstances(tenant: Tenant, config: Config) -> Circumstances:
    """Return what obstacles of this tenant depend on now."""
    states = chains.states()
    payable = chains.payable(config.chains, states)
    without_x402 = frozenset(
        chain_id
        for chain_id, chain in payable.items()
        if chain.facilitator is not None and not chains.has_facilitator(states.get(chain_id))
    )
    return Circumstances(issuing.current(tenant), payable, clock.now(), without_x402)
