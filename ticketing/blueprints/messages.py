"""The surface on which organizers write to the people of an event."""

from typing import Any

from schemas.base import PageQuery, page_of
from schemas.messages import MessageCreateSchema, MessagePreviewSchema, MessageSchema
from ticketing.errors import (
    InsufficientRole,
    InvalidTransition,
    MailNotConfigured,
    NotFound,
    TooManyMessages,
)
from ticketing.models.messages import Message
from ticketing.roles import Role
from ticketing.services.mail import messages
from ticketing.services.pagination import Page
from ticketing.web import auth
from ticketing.web.audited import audited
from ticketing.web.blueprint import ApiBlueprint
from ticketing.web.context import caller, config, page_request
from ticketing.web.event_scope import ONE_EVENT
from ticketing.web.idempotency import idempotent

blp = ApiBlueprint(
    "messages",
    __name__,
    url_prefix="/v1/admin/tenants/<tenant>/events/<event_id>/messages",
    guard=auth.TenantRole(reads={Role.READ, Role.FINANCE}, writes={Role.WRITE}, scope=ONE_EVENT),
    description="Messages to the people of an event.",
)


@blp.get("")
@blp.arguments(PageQuery, location="query")
@blp.response(200, page_of(MessageSchema))
@blp.raises(NotFound)
def list_messages(query: dict[str, Any], tenant: str, event_id: str) -> Page[Message]:
    """List the messages of an event, the latest first."""
    return messages.list_page(caller().tenant_id, event_id, page_request(query))


@blp.post("")
@idempotent
@blp.arguments(MessageCreateSchema)
@blp.response(201, MessageSchema)
@audited(MessageSchema)
@blp.raises(NotFound, MailNotConfigured, TooManyMessages)
def create_message(body: dict[str, Any], tenant: str, event_id: str) -> Message:
    """Write to the people of an event: at most 3 times a day. Each address gets one mail.

    Administrators learn of the first message of each member and of each key.
    """
    known = caller()
    return messages.create(known.tenant_id, event_id, body, known.credential_id, config())


@blp.post("/preview")
@idempotent
@blp.arguments(MessagePreviewSchema)
@blp.response(204)
@blp.raises(NotFound, MailNotConfigured, InsufficientRole)
def preview_message(body: dict[str, Any], tenant: str, event_id: str) -> None:
    """Mail a message to the member who calls, and to nobody else. A key has no address."""
    known = caller()
    messages.preview(known.tenant_id, event_id, body, known.credential_id, config())


@blp.get("/<message_id>")
@blp.response(200, MessageSchema)
@blp.raises(NotFound)
def get_message(tenant: str, event_id: str, message_id: str) -> Message:
    """Read one message."""
    return messages.read(caller().tenant_id, event_id, message_id)


@blp.post("/<message_id>/cancel")
@idempotent
@blp.response(200, MessageSchema)
@audited(MessageSchema, before=messages.read)
@blp.raises(NotFound, InvalidTransition)
def cancel_message(tenant: str, event_id: str, message_id: str) -> Message:
    """Cancel a message that is scheduled or being sent. What was sent cannot be taken back."""
    return messages.cancel(caller().tenant_id, event_id, message_id)
