"""The public listing: published events and their published ticket types.

An unlisted event is in no list. Its id, its slug and its page work as those of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peewee import ModelSelect

from ticketing import clock, ids
from ticketing.config import Config
from ticketing.constants import (
    MAX_PAGE,
    OVER_AFTER_START,
    Availability,
    Obstacle,
    Publication,
    Visibility,
)
from ticketing.db.connection import snapshot
from ticketing.errors import NotFound
from ticketing.models.events import Event
from ticketing.models.prepared import Prepared
from ticketing.models.series import Series
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import EventStock, TicketType, VoucherPrice
from ticketing.models.vouchers import Voucher
from ticketing.services import catalog_version, chains, images
from ticketing.services.access import tenants
from ticketing.services.catalog import obstacles, scarcity, series, ticket_types
from ticketing.services.catalog.obstacles import Circumstances
from ticketing.services.catalog_version import Versioned
from ticketing.services.orders import questions, stock, vouchers, waiting_rules
from ticketing.services.pagination import Page, PageRequest, paginate
from ticketing.services.wallets import issuing


def _published_events(tenant_id: Any) -> ModelSelect[Event]:
    return Event.select().where(Event.tenant == tenant_id, Event.status == Publication.PUBLISHED)


def _listed_events(tenant_id: Any) -> ModelSelect[Event]:
    return _published_events(tenant_id).where(Event.visibility == Visibility.PUBLIC)


@dataclass(frozen=True)
class Listing:
    """A published event with its questions, and its published ticket types."""

    event: Event
    is_over: bool
    ticket_types: Page[TicketType]


@dataclass(frozen=True)
class SeriesListing:
    """A series, and its events that are still to come."""

    series: Series
    events: Sequence[Event]


@Prepared
def _published_by_id(tenant_id: Any, event_id: Any) -> ModelSelect[Event]:
    return _published_events(tenant_id).where(Event.id == event_id)


@Prepared
def _published_by_slug(tenant_id: Any, slug: Any) -> ModelSelect[Event]:
    return _published_events(tenant_id).where(Event.slug == slug)


@Prepared
def _canceled_by_slug(tenant_id: Any, slug: Any) -> ModelSelect[Event]:
    return Event.select().where(
        Event.tenant == tenant_id,
        Event.slug == slug,
        Event.status == Publication.CANCELED,
        Event.was_published,
    )


def list_events(
    tenant: Tenant, page: PageRequest, config: Config, of_series: str | None = None
) -> Versioned[Page[Event]]:
    """Return a page of a tenant's published events that are listed, the earliest first.

    `of_series`: only those of this series.
    """
    version = catalog_version.of_tenant(tenant, clock.now())
    order = [Event.start_at, Event.id]
    query, scope = _listed_events(tenant.id), f"public {tenant.id}"
    if of_series is not None:
        query, scope = query.where(Event.series == of_series), f"{scope} {of_series}"
    found = paginate(query, order, page, scope=scope)
    images.add_urls(tenant, found.data, config)
    return Versioned(found, version)


def list_coming(tenant: Tenant, page: PageRequest, of_series: str | None = None) -> Page[Event]:
    """Return a page of a tenant's listed events that are not over, the earliest first.

    `of_series`: only those of this series.
    """
    now = clock.now()
    is_coming = (Event.end_at > now) | (
        Event.end_at.is_null() & (Event.start_at > now - OVER_AFTER_START)
    )
    query, scope = _listed_events(tenant.id).where(is_coming), f"coming {tenant.id}"
    if of_series is not None:
        query, scope = query.where(Event.series == of_series), f"{scope} {of_series}"
    return paginate(query, [Event.start_at, Event.id], page, scope=scope)


def get_series(tenant: Tenant, slug: str, config: Config) -> Versioned[SeriesListing]:
    """Return a series with its listed events that are not over, the earliest first. NotFound.

    It is public if one of its events is listed, also a past one.
    """
    now = clock.now()
    version = catalog_version.of_tenant(tenant, now)
    of_series = _listed_events(tenant.id).where(Event.series == slug)
    if (last := of_series.order_by(Event.start_at.desc()).first()) is None:
        raise NotFound("This event does not exist.")
    coming = list_coming(tenant, PageRequest(MAX_PAGE, None, config.keyring), slug).data
    for event in coming:
        event.tenant = tenant
    written = series.read(tenant.id, slug)
    written.title = written.title or (coming[0] if coming else last).title
    if coming:
        version = version.at_most_until(min(each.over_at for each in coming))
    return Versioned(SeriesListing(written, coming), version)


def page_of(event: Event, config: Config) -> str | None:
    """Return the URL of the page of an event. None if it is not published, or has no address."""
    is_published = event.status == Publication.PUBLISHED
    if config.public_url is None or not is_published:
        return None
    return f"{config.public_url}/{event.tenant.slug}/{event.slug}"


def get_event(tenant: Tenant, event_reference: str, config: Config) -> Versioned[Event]:
    """Return one published event by id or slug, with its questions. NotFound."""
    version = catalog_version.of_tenant(tenant, clock.now())
    event = find_event(tenant, event_reference)
    event.questions = questions.for_public(event)
    images.add_urls(tenant, [event], config)
    return Versioned(event, version)


def find_event(tenant: Tenant, event_reference: str) -> Event:
    """Return a tenant's published event by id or slug. NotFound."""
    if ids.is_id(ids.EVENT, event_reference):
        event = _published_by_id.first(tenant_id=tenant.id, event_id=event_reference)
    elif tenants.SLUG.fullmatch(event_reference):
        event = _published_by_slug.first(tenant_id=tenant.id, slug=event_reference)
    else:
        event = None
    return _existing(event)


def _existing(event: Event | None) -> Event:
    if event is None:
        raise NotFound("This event does not exist.")
    return event


def get_canceled_event(tenant: Tenant, slug: str) -> Versioned[Event]:
    """Return an event that was canceled after it was published. NotFound."""
    version = catalog_version.of_tenant(tenant, clock.now())
    event = _canceled_by_slug.first(tenant_id=tenant.id, slug=slug)
    return Versioned(_existing(event), version)


def list_with_code(
    tenant: Tenant, event_reference: str, page: PageRequest, config: Config, code: str
) -> Page[TicketType]:
    """Return the same as `list_ticket_types` for somebody who has a voucher's code.

    Each ticket type that the voucher is for has the `voucher` with its price.
    VoucherInvalid: count it (web/guesses.py). NotFound.
    """
    find_event(tenant, event_reference)  # that an event does not exist is no secret
    voucher = vouchers.find(tenant.id, event_reference, code)
    return get_listing(tenant, event_reference, page, config, voucher).value.ticket_types


def list_ticket_types(
    tenant: Tenant, event_reference: str, page: PageRequest, config: Config
) -> Versioned[Page[TicketType]]:
    """Return a page of a published event's published ticket types, by position. NotFound."""
    found = get_listing(tenant, event_reference, page, config)
    return Versioned(found.value.ticket_types, found.version)


def get_listing(
    tenant: Tenant,
    event_reference: str,
    page: PageRequest,
    config: Config,
    voucher: Voucher | None = None,
) -> Versioned[Listing]:
    """Return a published event with a page of its published ticket types. NotFound.

    With a voucher of this event, ticket types that it opens are there too, and can be bought; the
    others are as without it. Do not cache what is made from that.
    """
    now = clock.now()
    with snapshot():
        event = find_event(tenant, event_reference)
        published = TicketType.select().where(
            TicketType.event == event,
            TicketType.status == Publication.PUBLISHED,
            vouchers.shown(voucher),
        )
        scope = f"public tickets {event.id} {voucher.id if voucher else ''}".rstrip()
        found = paginate(published, ticket_types.ORDER, page, scope=scope)
        event_stock = stock.of_event(event)
        version = catalog_version.of_event(tenant, event, found.data, now)
        payable = chains.payable(config.chains, chains.states())
        wallet = issuing.current(tenant)
        circumstances = Circumstances(wallet, payable, now, frozenset())
        _add_availability(found.data, event, event_stock, voucher, circumstances)
        event.questions = questions.for_public(event)
    if any(each.availability is Availability.HELD for each in found.data):
        ends = [each.held_until for each in found.data if each.held_until is not None]
        version = version.at_most_until(min([*ends, now + scarcity.LOOK_AGAIN]))
    return Versioned(Listing(event, now >= event.over_at, found), version)


def listing_of(tenant: Tenant, event: Event, found: Page[TicketType], config: Config) -> Listing:
    """Return an event and its ticket types as the public would see them if they were published."""
    circumstances = obstacles.circumstances(tenant, config)
    _add_availability(found.data, event, stock.of_event(event), None, circumstances)
    event.questions = questions.for_public(event)
    return Listing(event, circumstances.now >= event.over_at, found)


def _add_availability(
    found: Sequence[TicketType],
    event: Event,
    event_stock: EventStock | None,
    voucher: Voucher | None,
    circumstances: Circumstances,
) -> None:
    """Set what the public learns about the stock and the networks of an event's ticket types.

    Or somebody with a voucher, which opens some of them, and lowers their prices.
    """
    left = None if event_stock is None else event_stock.buyable
    for each in found:
        why_not = obstacles.of_ticket_type(each, event, left, circumstances)
        if voucher is not None and vouchers.applies_to(voucher, each):
            why_not = [reason for reason in why_not if reason is not Obstacle.VOUCHER_ONLY]
            each.voucher = VoucherPrice(vouchers.price(voucher, each.price_amount))
        each.availability = obstacles.availability(why_not)
        if each.availability is Availability.SOLD_OUT and scarcity.is_held(each, event_stock):
            each.availability = Availability.HELD
        each.usable_chains = obstacles.usable_chains(each, circumstances)
        each.few_left = scarcity.few_left(each, event_stock)
        each.held_until = None
        counted_in = event_stock if each.admission else None
        each.waiting_list = waiting_rules.is_open(
            each, event, circumstances.now
        ) and waiting_rules.is_needed(each, counted_in, stock.in_pool(each, event))
    held = [each for each in found if each.availability is Availability.HELD]
    scarcity.add_held_until(held, event.id, circumstances.now)
