"""The console's page of messages to the people of an event: write one, see what became of each."""

from functools import partial
from typing import Any

from flask import Response, redirect
from werkzeug import Response as AnyResponse

from schemas.forms import MessageForm
from schemas.messages import MessageSchema
from ticketing.constants import MAX_PAGE, Publication
from ticketing.limits import MESSAGES_PER_EVENT
from ticketing.notification_types import Audience
from ticketing.pages import forms, typed_forms
from ticketing.pages.console import list_filters, paths
from ticketing.pages.console.blueprint import ConsoleBlueprint
from ticketing.pages.console.layout import page
from ticketing.pages.console.words import AUDIENCES, MESSAGES
from ticketing.pages.forms import Form
from ticketing.roles import Role
from ticketing.services.access import actors
from ticketing.services.catalog import events, ticket_types
from ticketing.services.mail import messages
from ticketing.web.audited import recorded
from ticketing.web.context import caller, config
from ticketing.web.event_scope import ONE_EVENT
from ticketing.web.idempotency import once

SECTION = "events"

blp = ConsoleBlueprint(
    "messages", __name__, reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=ONE_EVENT
)


@blp.get(paths.messages("<event_id>"))
def show_messages(event_id: str) -> str:
    """Show the messages of an event, and the form for a new one."""
    return _page(event_id, Form())


@blp.post(paths.messages("<event_id>"))
def write_message(event_id: str) -> AnyResponse:
    """Mail a message to its writer, say how many people it goes to, or send it."""
    event = events.get(caller().tenant_id, event_id)

    def answer() -> AnyResponse:
        sent = typed_forms.read(MessageForm, zone=event.timezone)
        is_preview, is_confirmed = sent.pop("preview"), sent.pop("confirmed")
        if is_preview:
            known, found = caller(), {name: sent[name] for name in ("subject", "text")}
            messages.preview(known.tenant_id, event_id, found, known.credential_id, config())
            return Response(_page(event_id, Form(values=forms.sent()), was_previewed=True))
        if not is_confirmed:
            count = messages.audience_of(event, sent["audience"], sent["ticket_ids"])
            return Response(_page(event_id, Form(values=forms.sent()), count=count))
        once(forms.key(), partial(_create, event_id, sent))
        return redirect(f"{paths.messages(event_id)}#written", 303)

    return forms.answered(answer, partial(_page, event_id))


@blp.post(paths.messages("<event_id>", "<message_id>"))
def cancel_message(event_id: str, message_id: str) -> AnyResponse:
    """Cancel a message that was not sent to everybody yet."""

    def cancel() -> str:
        tenant_id = caller().tenant_id
        recorded(
            MessageSchema,
            partial(messages.cancel, tenant_id, event_id, message_id),
            partial(messages.read, tenant_id, event_id, message_id),
            action="messages_cancel_message",
        )
        return f"{paths.messages(event_id)}#canceled"

    return forms.carried_out(cancel, partial(_page, event_id))


def _create(event_id: str, sent: dict[str, Any]) -> str:
    known = caller()
    made = recorded(
        MessageSchema,
        partial(messages.create, known.tenant_id, event_id, sent, known.credential_id, config()),
        action="messages_create_message",
    )
    return str(made.id)


def _page(
    event_id: str, form: Form, *, count: int | None = None, was_previewed: bool = False
) -> str:
    tenant_id = caller().tenant_id
    event = events.get(tenant_id, event_id)
    found = messages.list_page(tenant_id, event_id, list_filters.page_request())
    is_canceled = event.status == Publication.CANCELED
    return page(
        "messages.html",
        SECTION,
        event=event,
        form=form,
        count=count,
        was_previewed=was_previewed,
        messages=found.data,
        next_page=list_filters.next_page(found, {}),
        writers=actors.names(tenant_id, {each.created_by for each in found.data}),
        statuses=MESSAGES,
        audiences=[
            (value, label)
            for value, label in AUDIENCES.items()
            if (value == Audience.CANCELED) == is_canceled
        ],
        words=AUDIENCES,
        types=[(each.id, each.name) for each in ticket_types.names(event_id)][:MAX_PAGE],
        chosen_types=typed_forms.chosen("ticket_ids"),
        writes_mail=config().smtp is not None,
        most=MESSAGES_PER_EVENT,
    )
