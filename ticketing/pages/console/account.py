"""The console's page of a member's own account: the browsers in which they are signed in."""

from flask import g, redirect
from werkzeug import Response as AnyResponse

from schemas.forms import PasswordChangeForm
from ticketing.errors import TicketingError
from ticketing.pages import forms
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.sign_in import signed_in_as
from ticketing.pages.console.words import ROLES, browser
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.access import second_factors, sessions
from ticketing.services.catalog import titles
from ticketing.web import sign_in
from ticketing.web.context import caller
from ticketing.web.event_scope import EVERY_VIEW

PATH = "/console/account"

blp = ConsoleBlueprint(
    "account",
    __name__,
    reads={*Role},
    writes={*Role},
    scope=EVERY_VIEW,
    before_second_factor=True,
)


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
        has_second_factor=second_factors.of(me.credential_id).exist,
        events=None if me.event_ids is None else titles.latest_events(me.tenant_id, me.event_ids),
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
