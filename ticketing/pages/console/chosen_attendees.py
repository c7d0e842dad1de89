"""Several tickets at once: mail or download them, write to their holders, or take them back.

Each ticket that is changed is a change of its own, with its entry in the audit log, as if it was
made on the page of the ticket. One that is refused keeps no other from being done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import quote

from flask import Response, request
from werkzeug import Response as AnyResponse

from schemas.forms import ChosenVoidForm
from ticketing import ids
from ticketing.constants import DEFAULT_PAGE
from ticketing.errors import TicketingError
from ticketing.models.admissions import Admission
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import attendees, words
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.catalog import titles
from ticketing.services.exports import files
from ticketing.services.orders import admissions
from ticketing.web.context import caller, config
from ticketing.web.download import download
from ticketing.web.event_scope import EVERY_VIEW

_PATH = f"{attendees.PATH}/chosen"

Refused = Sequence[tuple[Admission, TicketingError]]

blp = ConsoleBlueprint(
    "chosen_attendees", __name__, reads={Role.WRITE}, writes={Role.WRITE}, scope=EVERY_VIEW
)


@blp.post(_PATH)
def choose_attendees() -> str:
    """Show the chosen tickets, and what can be done with them."""
    return _page(Form())


@blp.post(f"{_PATH}/send")
def send_chosen_tickets() -> str:
    """Mail each ticket to its holder once more, as it is."""
    return _done("sent", attendees.send)


@blp.post(f"{_PATH}/export")
def export_chosen_tickets() -> Response:
    """Download the chosen tickets for a spreadsheet, with words and local times."""
    labels = {str(status): word.label for status, word in words.TICKET_STATUSES.items()}
    return download(files.chosen_attendees(_chosen(), labels))


@blp.post(f"{_PATH}/void")
def void_chosen_tickets() -> AnyResponse:
    """Take each ticket back, with or without a refund."""

    def void() -> Response:
        fields = typed_forms.read(ChosenVoidForm)
        del fields["chosen"]
        return Response(_done("void", partial(attendees.void, fields=fields)))

    return forms.answered(void, _page)


def _done(what: str, act: Callable[[str], object]) -> str:
    """Do it with each chosen ticket, and say which were refused, and why."""
    refused = []
    for each in _chosen():
        try:
            act(each.id)
        except TicketingError as error:
            refused.append((each, error))
    return _page(Form(), what, refused)


def _chosen() -> Sequence[Admission]:
    """Return the tickets that were chosen on a page of the list: at most as many as it shows."""
    listed = "listed" if "all" in request.form else "chosen"
    chosen = request.form.getlist(listed)[:DEFAULT_PAGE]
    known = [each for each in chosen if ids.is_id(ids.ADMISSION, each)]
    found = admissions.some(caller().tenant_id, known, caller().event_ids)
    titles.add_to(found)
    titles.add_types_to(found)
    return found


def _page(form: Form, done: str | None = None, refused: Refused = ()) -> str:
    tickets = _chosen()
    emails = sorted({each.holder_email for each in tickets if each.holder_email})
    return page(
        "chosen_attendees.html",
        "attendees",
        form=form,
        tickets=tickets,
        # RFC 6068. None of them sees the others.
        mail_to="mailto:?bcc=" + ",".join(map(quote, emails)) if emails else None,
        writes_mail=config().smtp is not None,
        words=words,
        done=done,
        refused=refused,
    )
