"""The console's page of a member's own account: the browsers in which they are signed in."""

from flask import g, redirect
from werkzeug import Response as AnyResponse

from schemas.forms import PasswordChangeForm
from ticketing.constants import Role
from ticketing.errors import TicketingError
from ticketing.pages import forms
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.sign_in import signed_in_as
from ticketing.pages.console.words import ROLES, browser
from ticketing.pages.forms import Form
from ticketing.services.access import sessions
from ticketing.web import sign_in
from ticketing.web.context import caller

PATH = "/console/account"

blp = ConsoleBlueprint("account", __name__, reads=Role.READ, writes=Role.READ)


@blp.get(PATH)
def show_account() -> str:
    """Show who is signed in, and where."""
    return _page(Form())


def _page(form: Form) -> str:
    me = caller()
    return page(
        "account.html",
        "account",
        form=form,
        role=ROLES[me.role],
        open_sessions=sessions.list_of(me.credential_id),
        this_one=g.session_id,
        browser=browser,
    )


@blp.post(f"{PATH}/password")
def change_password() -> AnyResponse:
    """Set another password. All other browsers are signed out, this one is signed in again."""
    try:
        sent = forms.read(PasswordChangeForm)
        member = sign_in.change_password(sent["password"], sent["new_password"])
    except TicketingError as error:
        return forms.shown_again(_page(forms.refused(error)), error)
    return signed_in_as(member, f"{PATH}#password-changed")


@blp.post(f"{PATH}/sessions/<session_id>/end")
def end_session(session_id: str) -> AnyResponse:
    """End a session: that browser has to sign in again."""
    sessions.end(caller().credential_id, session_id)
    return redirect(f"{PATH}#ended", 303)
