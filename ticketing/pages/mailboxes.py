"""The page behind the buttons of mails that tell of another email address of an order."""

from flask import g
from werkzeug import Response as AnyResponse

from schemas.forms import EmptyForm
from ticketing import clock
from ticketing.models.order_emails import EmailPlace
from ticketing.pages import forms, render
from ticketing.pages.blueprint import PageBlueprint
from ticketing.pages.forms import Form
from ticketing.pages.guards import MailboxLink
from ticketing.services.orders import buyer_emails, intents, mailboxes

_PATH = "/_m/<link>"

blp = PageBlueprint("mailboxes", __name__, guard=MailboxLink(), is_secret=True)


@blp.get(_PATH)
def show_address(link: str) -> str:
    """Ask whether the buyer changed the address of the order. This changes nothing."""
    return _page(link, Form())


@blp.post(_PATH)
def answer_for_address(link: str) -> AnyResponse:
    """Confirm the new address, or put the former one back: a mail has a link for each."""

    def answer() -> str:
        forms.read(EmptyForm)
        if g.address.place == EmailPlace.PRESENT:
            buyer_emails.confirm(g.changed)
        else:
            buyer_emails.put_back(g.changed, EmailPlace(g.address.place))
        return f"/_m/{link}{render.chosen_query()}"

    return forms.carried_out(answer, lambda form: _page(link, form))


def _page(link: str, form: Form) -> str:
    intent, address = intents.find(g.changed), g.address
    is_new = address.place == EmailPlace.PRESENT
    is_back = address.put_back_at is not None and address.email == intent.buyer_email
    return render.page(
        "mailbox.html",
        tenant=intent.tenant,
        event=intent.event,
        intent=intent,
        address=address,
        path=f"/_m/{link}",
        is_new=is_new,
        is_done=mailboxes.counts(address, clock.now()) if is_new else is_back,
        form=form,
    )
