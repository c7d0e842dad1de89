"""A new password for who forgot theirs, by a link that is mailed."""

from datetime import datetime

from flask import Response, redirect
from werkzeug import Response as AnyResponse

from schemas.forms import ForgottenForm, NewPasswordForm
from ticketing.errors import NotFound, TicketingError
from ticketing.limits import CallClass
from ticketing.notification_types import MailKind
from ticketing.pages import forms, render
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.console.sign_in import CONSOLE, go_on
from ticketing.pages.forms import Form
from ticketing.pages.guards import Visitor
from ticketing.services.access import password_resets, tenants
from ticketing.services.mail import asked_mails
from ticketing.web import origin, sign_in
from ticketing.web.context import client, config

FORGOTTEN = "/console/forgotten"
_RESET = "/console/reset/<reset>"

blp = PageBlueprint("passwords", __name__, guard=Visitor(posts_as=CallClass.TOKEN), is_secret=True)


@blp.get(FORGOTTEN)
def show_forgotten() -> str:
    """Ask whose password is forgotten."""
    origin.check_transport()
    return _forgotten_page(Form())


@blp.post(FORGOTTEN)
def ask_for_reset() -> AnyResponse:
    """Plan a mail with a link. The answer is the same for every organizer and address."""
    origin.check_transport()

    def ask() -> AnyResponse:
        sent = forms.read(ForgottenForm)
        try:
            tenant = tenants.named(sent["tenant"])
            kind = MailKind.PASSWORD_RESET
            lately = asked_mails.plan(kind, tenant, sent["email"], client(), config())
        except NotFound:
            lately = None  # who asks is not told
        if lately is not None:
            return Response(_forgotten_page(Form(), lately))
        return redirect(f"{FORGOTTEN}#sent", 303)

    return forms.answered(ask, _forgotten_page)


@blp.get(_RESET)
def show_reset(reset: str) -> str:
    """Show the form at which a member sets a new password."""
    origin.check_transport()
    return _reset_page(reset, Form())


@blp.post(_RESET)
def set_password(reset: str) -> AnyResponse:
    """Set the password of a member who forgot theirs, and sign in."""
    origin.check_transport()
    try:
        member = sign_in.reset(reset, forms.read(NewPasswordForm)["password"])
    except NotFound:
        raise
    except TicketingError as error:
        return forms.shown_again(_reset_page(reset, forms.refused(error)), error)
    return go_on(member, CONSOLE)


def _forgotten_page(form: Form, lately: datetime | None = None) -> str:
    return render.page(
        "forgotten.html",
        folder="console",
        form=form,
        lately=lately,
        only=tenants.only(),
        writes_mail=config().smtp is not None,
    )


def _reset_page(reset: str, form: Form) -> str:
    member = password_resets.find(reset, config().keyring)
    return render.page(
        "reset.html", folder="console", form=form, member=member, tenant=member.tenant
    )
