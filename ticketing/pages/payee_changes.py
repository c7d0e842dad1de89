"""The page behind the buttons of a mail: confirm where a refund goes, or stop it.

Mail programs open links by themselves. So only the buttons of the page change something.
"""

from collections.abc import Callable

from flask import g, redirect
from werkzeug import Response as AnyResponse

from schemas.forms import EmptyForm
from ticketing import links
from ticketing.errors import TicketingError
from ticketing.models.refunds import RefundAddress
from ticketing.pages import forms, render
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.forms import Form
from ticketing.pages.guards import PayeeChangeLink
from ticketing.services import chains
from ticketing.services.orders import intents
from ticketing.services.payments import payee_changes, payee_rows
from ticketing.web.context import config

blp = PageBlueprint("payee_changes", __name__, guard=PayeeChangeLink(), is_secret=True)


@blp.get("/_r/<link>")
def show_change(link: str) -> str:
    """Show where the refund shall go, and ask for a confirmation."""
    return _page(Form(), stops=False)


@blp.get("/_r/<link>/stop")
def show_stop(link: str) -> str:
    """Show where the refund shall go, and ask whether to stop that."""
    return _page(Form(), stops=True)


@blp.post("/_r/<link>")
def confirm(link: str) -> AnyResponse:
    """Let the refund go there from now on."""
    return _carried_out(payee_changes.confirm, stops=False)


@blp.post("/_r/<link>/stop")
def stop(link: str) -> AnyResponse:
    """Stop the change, and every further one that only the order's link makes."""
    return _carried_out(payee_changes.stop, stops=True)


def _carried_out(act: Callable[[RefundAddress], None], *, stops: bool) -> AnyResponse:
    try:
        forms.read(EmptyForm)
        act(g.payee_change)
    except TicketingError as error:
        return forms.shown_again(_page(forms.refused(error), stops=stops), error)
    return redirect(_path() + ("/stop" if stops else ""), 303)


def _path() -> str:
    change = g.payee_change
    salt = str(change.confirm_salt)
    return links.payee_change(change.intent_id, change.id, salt, config().keyring)


def _page(form: Form, *, stops: bool) -> str:
    change: RefundAddress = g.payee_change
    intent = intents.find(change.intent_id)
    account = payee_rows.account_of(change, intent)
    return render.page(
        "payee_change.html",
        tenant=intent.tenant,
        intent=intent,
        event=intent.event,
        network=chains.name_of(account.chain_id, config()),
        account=account,
        change=change,
        path=_path(),
        stops=stops,
        form=form,
    )
