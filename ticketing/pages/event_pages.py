"""The pages at the address of an event: what each one shows."""

from collections.abc import Sequence
from typing import Any

from ticketing.constants import Ask, Availability
from ticketing.models.questions import Question
from ticketing.models.tenants import Tenant
from ticketing.models.ticket_types import TicketType
from ticketing.models.vouchers import Voucher
from ticketing.pages import event_networks, json_ld, render
from ticketing.pages.forms import Form
from ticketing.services import images
from ticketing.services.catalog import obstacles, public_listing
from ticketing.services.catalog import vouchers as all_vouchers
from ticketing.services.catalog.public_listing import Listing
from ticketing.services.orders import vouchers
from ticketing.web import origin, waiting_room
from ticketing.web.context import config
from ticketing.web.waiting_room import Waits


def is_before(question: Question) -> bool:
    """Return whether a question is asked in the order form."""
    return bool(question.ask == Ask.ORDER)


def render_event(
    tenant: Tenant,
    listing: Listing,
    form: Form,
    voucher: Voucher | None = None,
    preview_note: str | None = None,
) -> str:
    """Render the page of an event.

    `preview_note`: it is a draft, which only its organizer sees. Nothing can be ordered.
    """
    event, ticket_types = listing.event, listing.ticket_types.data
    # What others may not know is not for search engines either.
    public = [each for each in ticket_types if vouchers.is_shown(each, None)]
    settings = config()
    on_sale = [] if listing.is_over else _on_sale(ticket_types)
    networks = {each.id: event_networks.names(each, settings) for each in ticket_types}
    costing = [each for each in on_sale if each.free_price or _unit(each)]
    return render.page(
        "event.html",
        tenant=tenant,
        event=event,
        image=images.picture(event.image_digest),
        is_over=listing.is_over,
        ticket_types=ticket_types,
        on_sale=on_sale,
        networks=networks,
        same_networks=_same([networks[each.id] for each in costing]),
        network_choice=event_networks.choice(on_sale, settings),
        costs=bool(costing),
        lowest=min(map(_unit, on_sale), default=None),
        is_one_price=len({(each.free_price, _unit(each)) for each in on_sale}) == 1,
        sale_ends_at=_same([each.sales_end_at for each in on_sale]),
        questions=[each for each in event.questions if is_before(each)],
        json_ld=None if preview_note else json_ld.event(event, public, tenant, origin.origin()),
        preview_note=preview_note,
        hold_minutes=int(settings.hold.total_seconds()) // 60,
        writes_mail=settings.smtp is not None,
        has_vouchers=all_vouchers.exist(event.id),
        voucher=voucher,
        form=form,
    )


def _on_sale(ticket_types: Sequence[TicketType]) -> Sequence[TicketType]:
    is_on_sale = Availability.ON_SALE
    return [
        each for each in ticket_types if each.availability is is_on_sale and not each.requires_key
    ]


def _unit(ticket_type: TicketType) -> int:
    """Return the price of one seat, with the voucher of the page."""
    voucher = ticket_type.voucher
    return ticket_type.price_amount if voucher is None else voucher.price_amount


def _same(values: Sequence[Any]) -> Any:
    """Return the one value of ticket types. None if they differ, or there is no type."""
    first = values[0] if values else None
    return first if all(each == first for each in values) else None


def render_series(tenant: Tenant, slug: str) -> str:
    """Render the page of a series. NotFound."""
    listing = public_listing.get_series(tenant, slug, config()).value
    obstacles.add_to_events(tenant, listing.events, config())
    return render.page(
        "series.html",
        tenant=tenant,
        series=listing.series,
        events=listing.events,
        availability={each.id: obstacles.availability(each.obstacles) for each in listing.events},
        images=images.pictures(event.image_digest for event in listing.events),
    )


def render_waiting_room(tenant: Tenant, event: str, waits: Waits) -> str:
    """Render the page for all who wait as long and for the same reason. NotFound."""
    found = public_listing.get_event(tenant, event, config()).value
    return render.page(
        "waiting_room.html",
        tenant=tenant,
        event=found,
        reason=waits.visit.reason,
        minutes=waits.minutes,
        sale_starts_at=waits.room.sale_starts_at,
        place=waiting_room.PLACE,
        retry=waiting_room.RETRY,
    )
