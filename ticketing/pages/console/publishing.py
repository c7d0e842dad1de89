"""The console's page that publishes an event with its ticket types, and the preview of its page."""

from functools import partial

from werkzeug import Response

from schemas.events import EventSchema
from schemas.forms import PublishForm
from ticketing.models.ticket_types import TicketType
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import obstacles, paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.event_pages import render_event
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services import chains
from ticketing.services.catalog import events, publishing
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config
from ticketing.web.event_scope import ONE_EVENT

SECTION = "events"
_PREVIEW = "This is a preview. Only you see it, and nothing can be ordered here."

FREE_FOR_MANY = 50
"""With more free seats than that, people of one network may well need a higher limit."""

blp = ConsoleBlueprint(
    "publishing", __name__, reads={Role.WRITE}, writes={Role.WRITE}, scope=ONE_EVENT
)


@blp.get(paths.event("<event_id>", "preview"))
def preview_event(event_id: str) -> str:
    """Show the page of an event as buyers will see it, with all of its ticket types."""
    tenant = caller().tenant
    listing = publishing.preview(tenant, event_id, config())
    return render_event(tenant, listing, Form(), preview_note=_PREVIEW)


@blp.get(paths.event("<event_id>", "publish"))
def ask_to_publish(event_id: str) -> str:
    """Show what goes on sale, and what is still missing."""
    return _page(event_id, Form())


@blp.post(paths.event("<event_id>", "publish"))
def publish_event(event_id: str) -> Response:
    """Publish an event and the chosen ticket types, and go to its page."""

    def publish() -> str:
        tenant, chosen = caller().tenant, typed_forms.read(PublishForm)["ticket_id"]
        recorded(
            EventSchema,
            partial(publishing.publish, tenant, event_id, chosen, config()),
            partial(events.get, tenant.id, event_id),
            action="events_set_event_status",
            details={"ticket_ids": chosen},
        )
        return f"{paths.event(event_id)}#changed"

    return forms.carried_out(publish, partial(_page, event_id))


def _page(event_id: str, form: Form) -> str:
    tenant, role = caller().tenant, caller().role
    found = publishing.outlook(tenant, event_id, config())
    return page(
        "publish.html",
        SECTION,
        event=found.event,
        ticket_types=found.ticket_types,
        drafts=found.drafts,
        reasons=obstacles.of_event(found.event, found.ticket_types, role),
        reasons_of={
            each.id: obstacles.of_ticket_type(each, found.event, role)
            for each in found.ticket_types
        },
        networks={
            each.id: [chains.name_of(chain_id, config()) for chain_id in each.chain_ids]
            for each in found.ticket_types
        },
        has_free_crowd=config().free_per_client > 0
        and not found.event.crowds
        and any(_is_free_for_many(each) for each in found.ticket_types),
        free_most=config().free_per_client,
        form=form,
    )


def _is_free_for_many(ticket_type: TicketType) -> bool:
    is_free = not ticket_type.price_amount and not ticket_type.free_price
    return is_free and (ticket_type.capacity is None or ticket_type.capacity > FREE_FOR_MANY)
