"""The console's page of an event's crowds: networks from which many people order."""

from collections.abc import Callable
from functools import partial

from werkzeug import Response

from schemas.crowds import CrowdSchema, CrowdsSchema
from schemas.forms import CrowdRemovalForm
from ticketing.models.events import Crowd, Event
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.catalog import event_crowds, events
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config
from ticketing.web.event_scope import ONE_EVENT

SECTION = "events"

blp = ConsoleBlueprint("crowds", __name__, reads={Role.WRITE}, writes={Role.WRITE}, scope=ONE_EVENT)


@blp.get(paths.event("<event_id>", "crowds"))
def show_crowds(event_id: str) -> str:
    """Show the crowds of an event, and the form for another one."""
    return _page(event_id, Form())


@blp.post(paths.event("<event_id>", "crowds"))
def add_crowd(event_id: str) -> Response:
    """Let the people of a network order more tickets of an event. One of the same is replaced."""

    def add() -> str:
        sent = typed_forms.read(CrowdSchema)
        crowd = Crowd(network=sent["network"], seats=sent["seats"])
        return _recorded(
            event_id, partial(event_crowds.add, caller().tenant_id, event_id, crowd, config())
        )

    return forms.carried_out(add, partial(_page, event_id))


@blp.post(paths.event("<event_id>", "crowds/remove"))
def remove_crowd(event_id: str) -> Response:
    """Let the people of a network order what one client may order again."""

    def remove() -> str:
        network = typed_forms.read(CrowdRemovalForm)["network"]
        return _recorded(
            event_id, partial(event_crowds.remove, caller().tenant_id, event_id, network)
        )

    return forms.carried_out(remove, partial(_page, event_id))


def _recorded(event_id: str, change: Callable[[], Event]) -> str:
    before = partial(events.get, caller().tenant_id, event_id)
    recorded(CrowdsSchema, change, before, action="crowds_put_crowds")
    return f"{paths.event(event_id, 'crowds')}#saved"


def _page(event_id: str, form: Form) -> str:
    return page(
        "crowds.html",
        SECTION,
        event=events.get(caller().tenant_id, event_id),
        most=config().crowd_most,
        free_most=config().free_per_client,
        form=form,
    )
