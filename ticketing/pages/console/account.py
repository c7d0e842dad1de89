"""The console's page of a member's own account: the browsers in which they are signed in."""

from flask import g, redirect
from werkzeug import Response

from ticketing.constants import Role
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.words import ROLES, browser
from ticketing.services.access import sessions
from ticketing.web.context import caller

PATH = "/console/account"

blp = ConsoleBlueprint("account", __name__, reads=Role.READ, writes=Role.READ)


@blp.get(PATH)
def show_account() -> str:
    """Show who is signed in, and where."""
    me = caller()
    return page(
        "account.html",
        "account",
        role=ROLES[me.role],
        open_sessions=sessions.list_of(me.credential_id),
        this_one=g.session_id,
        browser=browser,
    )


@blp.post(f"{PATH}/sessions/<session_id>/end")
def end_session(session_id: str) -> Response:
    """End a session: that browser has to sign in again."""
    sessions.end(caller().credential_id, session_id)
    return redirect(f"{PATH}#ended", 303)
