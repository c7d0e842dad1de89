"""The console's page of the deposits of an event: what came back, and what is due."""

from functools import partial

from werkzeug import Response

from schemas.deposits import ReleaseSchema
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.catalog import events
from ticketing.services.payments import deposits
from ticketing.web.audited import noted
from ticketing.web.context import caller
from ticketing.web.event_scope import ONE_EVENT

blp = ConsoleBlueprint(
    "deposits", __name__, reads={Role.READ, Role.FINANCE}, writes={Role.ADMIN}, scope=ONE_EVENT
)


@blp.get(paths.event("<event_id>", "deposits"))
def show_deposits(event_id: str) -> str:
    """Show how much of the deposits came back, and what a release of now would add."""
    return _page(event_id, Form())


@blp.post(paths.event("<event_id>", "deposits"))
def release_deposits(event_id: str) -> Response:
    """Make the deposits of who came owed to their orders."""

    def act() -> str:
        sent = typed_forms.read(ReleaseSchema)
        noted(
            event_id,
            partial(deposits.release, caller().tenant_id, event_id, **sent),
            lambda _: {"deposits": "released", **sent},
            action="deposits_release_deposits",
        )
        return f"{paths.event(event_id, 'deposits')}#released"

    return forms.carried_out(act, partial(_page, event_id))


def _page(event_id: str, form: Form) -> str:
    tenant_id = caller().tenant_id
    return page(
        "deposits.html",
        "events",
        event=events.get(tenant_id, event_id),
        outlook=deposits.outlook(tenant_id, event_id),
        may_release=caller().role.holds(Role.ADMIN),
        form=form,
    )
