"""The page for people who lost the links of their orders."""

from datetime import datetime

from flask import Response, redirect
from werkzeug import Response as AnyResponse

from schemas.forms import EmailForm
from ticketing.limits import LINKS_HOURS, CallClass
from ticketing.notification_types import MailKind
from ticketing.pages import forms, render
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.forms import Form
from ticketing.pages.guards import Visitor
from ticketing.services.mail import asked_mails
from ticketing.web.context import client, config, tenant_of_path

_PATH = "/_f/<tenant:tenant>"

blp = PageBlueprint("lost_links", __name__, guard=Visitor(posts_as=CallClass.PREFLIGHT))


@blp.get(_PATH)
def show_form(tenant: str) -> str:
    """Ask for the email address of the orders."""
    return _page(Form())


@blp.post(_PATH)
def ask_for_links(tenant: str) -> AnyResponse:
    """Plan a mail with the links. The answer is the same for every address."""

    def ask() -> AnyResponse:
        sent = forms.read(EmailForm)
        kind = MailKind.LOST_LINKS
        lately = asked_mails.plan(kind, tenant_of_path(), sent["email"], client(), config())
        if lately is not None:
            return Response(_page(Form(), lately))
        return redirect(f"/_f/{tenant}{render.chosen_query()}#sent", 303)

    return forms.answered(ask, _page)


def _page(form: Form, lately: datetime | None = None) -> str:
    return render.page(
        "lost_links.html",
        tenant=tenant_of_path(),
        form=form,
        lately=lately,
        every=LINKS_HOURS,
        writes_mail=config().smtp is not None,
    )
