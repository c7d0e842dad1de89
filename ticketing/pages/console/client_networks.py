"""The console's page of the networks from which people take what an event has, unpaid."""

from functools import partial

from werkzeug import Response

from schemas.forms import ClientNetworkForm
from ticketing.pages import forms
from ticketing.pages.console import paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services import client_networks
from ticketing.services.catalog import events
from ticketing.web.audited import noted
from ticketing.web.context import caller, config
from ticketing.web.event_scope import ONE_EVENT

blp = ConsoleBlueprint(
    "client_networks",
    __name__,
    reads={Role.READ, Role.FINANCE},
    writes={Role.WRITE},
    scope=ONE_EVENT,
)


@blp.get(paths.event("<event_id>", "networks"))
def list_networks(event_id: str) -> str:
    """List who holds, was offered and waits for most of an event, by network."""
    return _page(event_id, Form())


@blp.post(paths.event("<event_id>", "networks/cancel"))
def cancel_network(event_id: str) -> Response:
    """Cancel what a network holds of an event and did not pay, and its places."""

    def cancel() -> str:
        network_id = forms.read(ClientNetworkForm)["network"]
        name = client_networks.ClientNetwork(network_id).name
        # Before the change, which has many transactions: if it is interrupted, the log has it.
        noted(
            event_id,
            partial(events.get, caller().tenant_id, event_id),
            lambda _: {"network": name},
            action="client_networks_cancel",
        )
        tenant_id = caller().tenant_id
        done = client_networks.cancel(tenant_id, event_id, network_id, config().keyring)
        return f"{paths.event(event_id, 'networks')}#{'left' if done.left else 'canceled'}"

    return forms.carried_out(cancel, partial(_page, event_id))


def _page(event_id: str, form: Form) -> str:
    tenant_id = caller().tenant_id
    return page(
        "client_networks.html",
        "events",
        event=events.get(tenant_id, event_id),
        networks=client_networks.of_event(tenant_id, event_id, config()),
        most=client_networks.MOST_SHOWN,
        form=form,
    )
