"""The page of a series: its coming events, each with whether it can be bought."""

from ticketing.models.tenants import Tenant
from ticketing.pages import render
from ticketing.services import images
from ticketing.services.catalog import obstacles, public_listing
from ticketing.web.context import config


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
