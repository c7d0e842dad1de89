"""The console's pages of events: the list, and one event."""

from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from werkzeug import Response

from schemas.events import SORTS, EventSchema, StatusSchema
from ticketing import clock
from ticketing.constants import MAX_PAGE, EventType, Publication, Visibility
from ticketing.pages import embed, forms, typed_forms
from ticketing.pages.console import list_filters, obstacles, paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.charts import asked_range, sales_chart
from ticketing.pages.console.layout import page
from ticketing.pages.console.words import (
    DAYS,
    EVENT_TYPES,
    MEASURES,
    PUBLICATIONS,
    ROOM_MODES,
    VISIBILITIES,
)
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services import chains, images
from ticketing.services.catalog import events, sales_by, sales_figures, ticket_types
from ticketing.services.pagination import PageRequest
from ticketing.services.waiting_room import figures as room_figures
from ticketing.web import origin
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config
from ticketing.web.event_scope import filtered

SECTION = "events"
_SORT_NAMES = {
    "-start_at": "Latest start first",
    "start_at": "Earliest start first",
    "-created_at": "Newest first",
    "created_at": "Oldest first",
}

blp = ConsoleBlueprint(
    "events",
    __name__,
    reads={Role.READ, Role.FINANCE},
    writes={Role.WRITE},
    scope=filtered("list_events"),
)


@blp.get(paths.EVENTS)
def list_events() -> str:
    """List the events, with the filters that the API has."""
    chosen: dict[str, Any] = {
        "status": list_filters.choice("status", Publication),
        "type": list_filters.choice("type", EventType),
        "q": list_filters.text("q"),
        "sort": list_filters.one_of("sort", SORTS, "-start_at"),
    }
    asked = list_filters.page_request()
    of_caller = caller().event_ids
    found = events.list_page(caller().tenant, asked, config(), event_ids=of_caller, **chosen)
    return page(
        "events.html",
        SECTION,
        events=found.data,
        next_page=list_filters.next_page(found, chosen),
        chosen=chosen,
        statuses=PUBLICATIONS,
        types=EVENT_TYPES,
        sorts=_SORT_NAMES,
    )


@blp.get(paths.event("<event_id>"))
def show_event(event_id: str) -> str:
    """Show one event, with what keeps people from buying."""
    return event_page(event_id, Form())


@blp.post(paths.event("<event_id>", "status"))
def set_status(event_id: str) -> Response:
    """Publish an event, or take it back to draft."""

    def change() -> str:
        status = typed_forms.read(StatusSchema)["status"]
        tenant = caller().tenant
        recorded(
            EventSchema,
            partial(events.change_status, tenant, event_id, status, config(), refund=None),
            partial(events.get, tenant.id, event_id),
            action="events_set_event_status",
        )
        return f"{paths.event(event_id)}#changed"

    return forms.carried_out(change, partial(event_page, event_id))


def event_page(event_id: str, form: Form) -> str:
    """Render the page of an event, with what a form of it was refused for. NotFound."""
    tenant, role = caller().tenant, caller().role
    event = events.read(tenant, event_id, config())
    everything = PageRequest(MAX_PAGE, None, config().keyring)
    types = ticket_types.list_page(tenant, event_id, everything, config()).data
    shown = asked_range()
    sold = sales_figures.by_day(tenant.id, event_id, last=shown.most)
    today = clock.now().astimezone(ZoneInfo(event.timezone)).date()
    return page(
        "event.html",
        SECTION,
        event=event,
        image=images.picture(event.image_digest),
        figures=sales_figures.of_event(event),
        shown=shown,
        day_words=DAYS,
        measures=MEASURES,
        chart=sales_chart(sold, today, shown),
        has_sales=bool(sold) or any(each.sold for each in types),
        sold_by_type=sales_by.by_ticket_type(tenant.id, event_id),
        sold_by_voucher=sales_by.by_voucher(
            tenant.id, event_id, shows_codes=role.holds(Role.WRITE)
        ),
        sold_by_tag=sales_by.by_tag(tenant.id, event_id),
        status=PUBLICATIONS[Publication(event.status)],
        type=EVENT_TYPES[EventType(event.type)],
        visibility=VISIBILITIES[Visibility(event.visibility)],
        frame=embed.frame(tenant, event, origin.origin()),
        button=embed.button(tenant, event, origin.origin(), "Tickets"),
        reasons=obstacles.of_event(event, types, role),
        ticket_types=types,
        statuses=PUBLICATIONS,
        networks={
            each.id: [chains.name_of(chain_id, config()) for chain_id in each.chain_ids]
            for each in types
        },
        room=room_figures.of_event(event),
        room_modes=list(ROOM_MODES.items()),
        room_form=Form(values={"waiting_room": event.waiting_room}),
        form=form,
    )
