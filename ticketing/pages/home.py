"""The pages of a tenant's events, and of the service."""

from flask import request

from ticketing.constants import MAX_PAGE
from ticketing.limits import CallClass
from ticketing.models.tenants import Tenant
from ticketing.pages import render
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.guards import Visitor
from ticketing.services import images
from ticketing.services.access import tenants
from ticketing.services.catalog import public_listing
from ticketing.services.pagination import PageRequest
from ticketing.web.context import config, tenant_of_path

blp = PageBlueprint("home", __name__, guard=Visitor(posts_as=CallClass.PUBLIC))


@blp.get("/")
def show_home() -> str:
    """Show the events of the only tenant. With several tenants, show where to go."""
    only = tenants.only()
    return render.page("home.html") if only is None else _events_of(only)


@blp.get("/<tenant:tenant>")
def show_tenant(tenant: str) -> str:
    """Show the published events of a tenant that are not over, the earliest first."""
    return _events_of(tenant_of_path())


def _events_of(tenant: Tenant) -> str:
    page = PageRequest(MAX_PAGE, request.args.get("cursor"), config().keyring)
    found = public_listing.list_coming(tenant, page)
    pictures = images.pictures(event.image_digest for event in found.data)
    return render.page(
        "tenant.html",
        tenant=tenant,
        events=found.data,
        images=pictures,
        cursor=found.next_cursor,
        writes_mail=config().smtp is not None,
    )
