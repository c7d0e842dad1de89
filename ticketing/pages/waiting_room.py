"""The page of somebody who waits in the waiting room of an event."""

from ticketing.models.tenants import Tenant
from ticketing.pages import render
from ticketing.services.catalog import public_listing
from ticketing.web import waiting_room
from ticketing.web.context import config
from ticketing.web.waiting_room import Waits


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
