"""The console's page of connected apps: a member's own, and for administrators, everybody's."""

from flask import redirect
from werkzeug import Response

from ticketing.pages.console import words
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.roles import Role
from ticketing.services.oauth import connected_apps
from ticketing.services.oauth.metadata import RESOURCES
from ticketing.web import origin
from ticketing.web.audited import noted
from ticketing.web.context import caller
from ticketing.web.event_scope import EVERY_VIEW

PATH = "/console/apps"

blp = ConsoleBlueprint("connected_apps", __name__, reads={*Role}, writes={*Role}, scope=EVERY_VIEW)


@blp.get(PATH)
def list_apps() -> str:
    """List the apps that are in use."""
    me = caller()
    return page(
        "connected_apps.html",
        "connected_apps",
        apps=connected_apps.list_of(me.tenant_id, _only()),
        me=me.credential_id,
        words=words,
        url=origin.origin() + RESOURCES[1],
    )


@blp.post(f"{PATH}/<app_id>/end")
def end_app(app_id: str) -> Response:
    """End an app at once, with all its tokens."""
    tenant_id = caller().tenant_id
    noted(
        app_id,
        lambda: connected_apps.end(tenant_id, app_id, _only()),
        lambda app: {"name": app.name, "host": app.host, "role": app.role},
        action="connected_apps_end",
    )
    return redirect(f"{PATH}#ended", 303)


def _only() -> str | None:
    """Return the member whose apps these are. None: an administrator sees all of them."""
    me = caller()
    return None if me.role.holds(Role.ADMIN) else me.credential_id
