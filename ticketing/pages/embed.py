"""The card of an event for other websites, in a frame: what it costs, and a link to its page.

Nothing is ever sent in a frame: no form, no script, no cookie. Browsers keep breaking these there.
"""

from typing import Any

from flask import Response
from markupsafe import Markup

from ticketing import accents, links
from ticketing.constants import MAX_PAGE
from ticketing.errors import NotFound
from ticketing.limits import CallClass
from ticketing.models.events import Event
from ticketing.models.tenants import Tenant
from ticketing.pages import render
from ticketing.pages.blueprint import HEADERS, NOT_SEARCHED, PageBlueprint
from ticketing.pages.guards import Visitor
from ticketing.services.catalog import public_listing
from ticketing.services.catalog_version import Version
from ticketing.services.orders import vouchers
from ticketing.services.pagination import PageRequest
from ticketing.web import response_cache
from ticketing.web.context import config, tenant_of_path

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors *"
)
TYPES_SHOWN = 5

_OWN = {"Content-Security-Policy": CONTENT_SECURITY_POLICY, "Cache-Control": "private, no-cache"}
_HEADERS = (*{**dict(HEADERS), **_OWN}.items(), NOT_SEARCHED)

_FRAME = Markup(
    '<iframe src="{}" title="{}" width="100%" height="420" loading="lazy" style="border:0">'
    "</iframe>"
)
_BUTTON = Markup(
    '<a href="{}" target="_blank" rel="noopener" style="display:inline-block;padding:.75em 1.5em;'
    'border-radius:8px;background:{};color:{};font-weight:600;text-decoration:none">{}</a>'
)
_COLOR = "#17181b"

blp = PageBlueprint("embed", __name__, guard=Visitor(posts_as=CallClass.PUBLIC), headers=_OWN)


@blp.get(f"{links.EMBED}<tenant:tenant>/<slug:event>")
def show_card(tenant: str, event: str) -> Response:
    """Show a published event, or one that was canceled, in few words."""
    of = tenant_of_path()
    try:
        found = public_listing.get_listing(
            of, event, PageRequest(MAX_PAGE, None, config().keyring), config()
        )
    except NotFound:
        canceled = public_listing.get_canceled_event(of, event)
        return _card(canceled.version, of, canceled.value)
    types = [each for each in found.value.ticket_types.data if vouchers.is_shown(each, None)]
    return _card(
        found.version,
        of,
        found.value.event,
        is_over=found.value.is_over,
        ticket_types=types[:TYPES_SHOWN],
        has_more=len(types) > TYPES_SHOWN,
    )


def _card(version: Version, tenant: Tenant, event: Event, **more: Any) -> Response:
    page = render.page("embed.html", tenant=tenant, event=event, **more)
    return response_cache.page(version, page, _HEADERS, tenant.slug)


def frame(tenant: Tenant, event: Event, origin: str) -> str:
    """Return the line of HTML that shows the card on another website."""
    # The templates of the console escape it once more: it is shown there as text.
    return str(_FRAME.format(f"{origin}{links.EMBED}{tenant.slug}/{event.slug}", event.title))


def button(tenant: Tenant, event: Event, origin: str, label: str) -> str:
    """Return the line of HTML of a plain link to the event's page that looks like a button."""
    color = tenant.accent_color or _COLOR
    light = accents.of(color).light
    url = f"{origin}/{tenant.slug}/{event.slug}"
    return str(_BUTTON.format(url, light.accent, light.on_accent, label))
