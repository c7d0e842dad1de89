"""The console's page of the waiting list of an event."""

from functools import partial

from werkzeug import Response

from schemas.forms import EmptyForm
from schemas.waiting_list import AuditedEntrySchema
from ticketing.models.waiting_list import WaitingListEntry
from ticketing.pages import forms
from ticketing.pages.console import list_filters, paths, words
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.catalog import events
from ticketing.services.waiting_list import entries, offers
from ticketing.waiting_list import EntryStatus
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config
from ticketing.web.event_scope import ONE_EVENT

blp = ConsoleBlueprint(
    "waiting_list",
    __name__,
    reads={Role.READ, Role.FINANCE},
    writes={Role.WRITE},
    scope=ONE_EVENT,
)


@blp.get(paths.waiting_list("<event_id>"))
def list_entries(event_id: str) -> str:
    """List who waits for tickets of an event, and what became of each."""
    return _page(event_id, Form())


@blp.post(paths.waiting_list("<event_id>", "<entry_id>", "offer"))
def offer_out_of_turn(event_id: str, entry_id: str) -> Response:
    """Offer free seats to somebody who waits, before those who came first."""

    def offer() -> str:
        forms.read(EmptyForm)
        read = partial(entries.get, caller().tenant_id, event_id, entry_id)

        def change() -> WaitingListEntry:
            read()
            offers.offer(entry_id, config())
            return read()

        recorded(AuditedEntrySchema, change, read, action="waiting_list_offer_out_of_turn")
        return f"{paths.waiting_list(event_id)}#offered"

    return forms.carried_out(offer, partial(_page, event_id))


@blp.post(paths.waiting_list("<event_id>", "<entry_id>", "cancel"))
def cancel_entry(event_id: str, entry_id: str) -> Response:
    """End a place, and the order that was offered, unless it is paid."""

    def cancel() -> str:
        forms.read(EmptyForm)
        read = partial(entries.get, caller().tenant_id, event_id, entry_id)
        read()
        offers.withdraw(entry_id, config())
        recorded(
            AuditedEntrySchema,
            partial(entries.end, entry_id),
            read,
            action="waiting_list_cancel_entry",
        )
        return f"{paths.waiting_list(event_id)}#canceled"

    return forms.carried_out(cancel, partial(_page, event_id))


def _page(event_id: str, form: Form) -> str:
    tenant_id = caller().tenant_id
    event = events.get(tenant_id, event_id)
    chosen = {"status": list_filters.choice("status", EntryStatus)}
    asked = list_filters.page_request()
    found = entries.list_page(tenant_id, event_id, asked, chosen["status"])
    return page(
        "waiting_list.html",
        "events",
        event=event,
        entries=found.data,
        next_page=list_filters.next_page(found, chosen),
        chosen=chosen,
        has_list=entries.has_list(event_id),
        writes_mail=config().smtp is not None,
        words=words,
        form=form,
    )
