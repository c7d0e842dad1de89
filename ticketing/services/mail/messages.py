"""Messages of organizers to the people of an event: write, preview, cancel; plan and end the mails.

A message is planned in many short transactions. A process that was killed begins again: a person
who has a mail of it already gets no second one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from peewee import ModelSelect, fn

from ticketing import clock, ids
from ticketing.config import Config
from ticketing.constants import Publication
from ticketing.credentials import Keyring
from ticketing.db.connection import locked, one_at_a_time, write_transaction
from ticketing.errors import (
    FieldMessage,
    InsufficientRole,
    Invalid,
    InvalidTransition,
    MailNotConfigured,
    NotFound,
    TooManyMessages,
)
from ticketing.limits import MESSAGES_PER_EVENT
from ticketing.models.base import literal
from ticketing.models.events import Event
from ticketing.models.messages import Message
from ticketing.models.notifications import Mail
from ticketing.models.prepared import Prepared
from ticketing.models.ticket_types import TicketType
from ticketing.notification_types import Audience, MailKind, MailStatus, MessageStatus
from ticketing.services import event_locks
from ticketing.services.catalog import events
from ticketing.services.mail import recipients
from ticketing.services.notifications import facts, feed, mail_queue
from ticketing.services.pagination import Page, PageRequest, paginate

_DAY = timedelta(days=1)
_PREVIEWS_KEPT = timedelta(days=3)
_OPEN = Message.status.in_(
    [literal(each) for each in (MessageStatus.SCHEDULED, MessageStatus.SENDING)]
)


def create(
    tenant_id: str, event_id: str, fields: dict[str, Any], by: str, config: Config
) -> Message:
    """Write a message, which is sent at `send_at`, by default now.

    `by`: the id of the member or the key. All administrators get a mail about the first message of
    each. NotFound; MailNotConfigured; TooManyMessages; Invalid for an audience that the event does
    not have, or a ticket type of another event.
    """
    events.get(tenant_id, event_id)
    if config.smtp is None:
        raise MailNotConfigured
    with write_transaction():
        event = event_locks.keep(tenant_id, event_id)
        one_at_a_time(f"messages of {tenant_id}")
        message = _new(event, by, **fields)
        _check(event, message)
        message.recipients = recipients.count(recipients.of_message(message))
        _refuse_too_many(message, config)
        if not _written(tenant_id).where(Message.created_by == by).exists():
            # Somebody may use a stolen key.
            mail_queue.add(
                mail_queue.new(
                    tenant_id, MailKind.MESSAGE_WRITTEN, member_id, message_id=message.id
                )
                for member_id in recipients.admins(tenant_id)
                if member_id != by
            )
        message.save(force_insert=True)
    return message


def audience_of(event: Event, audience: Audience, ticket_ids: Sequence[str] | None) -> int:
    """Return how many addresses these people of an event have."""
    message = _new(event, "", audience=audience, ticket_ids=ticket_ids)
    return recipients.count(recipients.of_message(message))


def preview(tenant_id: str, event_id: str, fields: dict[str, Any], by: str, config: Config) -> None:
    """Mail a message to the member who writes it, and to nobody else.

    NotFound; MailNotConfigured; InsufficientRole for a key, which has no address.
    """
    event = events.get(tenant_id, event_id)
    if not ids.is_id(ids.MEMBER, by):
        raise InsufficientRole("Only a member has an address to which a preview can go.")
    if config.smtp is None:
        raise MailNotConfigured
    message = _new(event, by, audience=Audience.HOLDERS, **fields)
    message.status, message.recipients = MessageStatus.PREVIEW, 1
    with write_transaction():
        message.save(force_insert=True)
        row = mail_queue.new(tenant_id, MailKind.MESSAGE_PREVIEW, by, message_id=message.id)
        mail_queue.add([row])


def list_page(tenant_id: str, event_id: str, page: PageRequest) -> Page[Message]:
    """Return a page of an event's messages, the latest first. NotFound."""
    events.get(tenant_id, event_id)
    query = _written(tenant_id).where(Message.event == event_id)
    found = paginate(query, [Message.id], page, scope=f"messages {event_id}", descending=True)
    _add_counts(found.data)
    return found


def read(tenant_id: str, event_id: str, message_id: str) -> Message:
    """Return one message. NotFound."""
    found = _one(_written(tenant_id).where(Message.event == event_id, Message.id == message_id))
    _add_counts([found])
    return found


def cancel(tenant_id: str, event_id: str, message_id: str) -> Message:
    """Cancel a message that was not sent yet. Mails that wait are not sent.

    NotFound; InvalidTransition if all were sent.
    """
    with write_transaction():
        query = _written(tenant_id).where(Message.event == event_id, Message.id == message_id)
        message = _one(locked(query))
        if message.status == MessageStatus.SENT:
            raise InvalidTransition
        if message.status != MessageStatus.CANCELED:
            mail_queue.drop_of_message(message.id)
            _end(message, MessageStatus.CANCELED)
    return message


def plan(keyring: Keyring) -> None:
    """Plan the mails of each message that is due."""
    due: list[Message] = _due.rows(now=clock.now())
    for message in due:
        _plan(message, keyring)


def end() -> None:
    """End each message whose mails have all ended, and forget old previews."""
    planned: list[Message] = _planned.rows()
    for message in planned:
        with write_transaction():
            found = locked(Message.select().where(Message.id == message.id)).get()
            waiting = Mail.select().where(
                Mail.message_id == found.id, Mail.status == literal(MailStatus.WAITING)
            )
            if found.status == MessageStatus.SENDING and not waiting.exists():
                _end(found, MessageStatus.SENT)
                feed.record(found.tenant_id, *facts.message_sent(found))
    is_old = Message.created_at < clock.now() - _PREVIEWS_KEPT
    Message.delete().where(Message.status == literal(MessageStatus.PREVIEW), is_old).execute()


@Prepared
def _due(now: Any) -> ModelSelect[Message]:
    return Message.select().where(_OPEN, Message.planned_at.is_null(), Message.send_at <= now)


@Prepared
def _planned() -> ModelSelect[Message]:
    return Message.select(Message.id).where(_OPEN, Message.planned_at.is_null(False))


def _plan(message: Message, keyring: Keyring) -> None:
    for page in recipients.of_message(message):
        rows = [
            mail_queue.new(
                message.tenant_id,
                MailKind.MESSAGE,
                subject,
                message_id=message.id,
                recipient_digest=recipients.digest(keyring.current, address),
            )
            for subject, address in page
        ]
        with write_transaction():
            if not _goes_on(message):
                return
            mail_queue.add(rows)
    with write_transaction():
        if _goes_on(message):
            told = Mail.select().where(Mail.message_id == message.id).count()
            Message.update(planned_at=clock.now(), recipients=told).where(
                Message.id == message.id
            ).execute()


def _goes_on(message: Message) -> bool:
    """Return whether a message was not canceled meanwhile. It is being sent from now on."""
    going = Message.update(status=MessageStatus.SENDING).where(Message.id == message.id, _OPEN)
    return bool(going.execute())


def _new(event: Event, by: str, **fields: Any) -> Message:
    now = clock.now()
    ticket_ids = fields.pop("ticket_ids", None)
    send_at = fields.pop("send_at", None) or now
    return Message(
        id=ids.new(ids.MESSAGE),
        tenant=event.tenant_id,
        event=event,
        ticket_ids=None if ticket_ids is None else " ".join(ticket_ids),
        send_at=max(send_at, now),
        status=MessageStatus.SCHEDULED,
        recipients=0,
        created_by=by,
        created_at=now,
        **fields,
    )


def _check(event: Event, message: Message) -> None:
    """Check the audience and the ticket types. Invalid."""
    is_canceled = event.status == Publication.CANCELED
    if is_canceled != (message.audience == Audience.CANCELED):
        text = "Of an event that is canceled, only the audience canceled can be told."
        if not is_canceled:
            text = "This event is not canceled."
        raise Invalid({"audience": [FieldMessage("audience", text)]})
    wanted = message.ticket_id_list
    if wanted is not None:
        own = TicketType.select(TicketType.id).where(TicketType.event == event)
        if not set(wanted) <= {each.id for each in own}:
            text = "Must be ticket types of this event."
            raise Invalid({"ticket_ids": [FieldMessage("other_event", text)]})


def _refuse_too_many(message: Message, config: Config) -> None:
    since = clock.now() - _DAY
    today = _written(message.tenant_id).where(
        Message.created_at > since, Message.status != MessageStatus.CANCELED
    )
    if today.where(Message.event == message.event).count() >= MESSAGES_PER_EVENT:
        raise TooManyMessages
    told = today.select(fn.COALESCE(fn.SUM(Message.recipients), 0)).scalar()
    if int(told) + message.recipients > config.message_recipients:
        raise TooManyMessages


def _written(tenant_id: str) -> ModelSelect[Message]:
    """Select the messages of a tenant, without previews."""
    return Message.select().where(
        Message.tenant == tenant_id, Message.status != MessageStatus.PREVIEW
    )


def _one(query: ModelSelect[Message]) -> Message:
    found: Message | None = query.first()
    if found is None:
        raise NotFound("This message does not exist.")
    return found


def _end(message: Message, status: MessageStatus) -> None:
    message.status = status
    _add_counts([message], is_stored=True)
    message.save(only=message.dirty_fields)


def _add_counts(found: Sequence[Message], *, is_stored: bool = False) -> None:
    """Set how many mails of messages were sent, and failed, while that is not stored yet."""
    counted = [each for each in found if is_stored or each.status == MessageStatus.SENDING]
    if not counted:
        return
    rows: Any = (
        Mail.select(Mail.message_id, Mail.status, fn.COUNT(Mail.id))
        .where(Mail.message_id.in_([each.id for each in counted]), Mail.kind == MailKind.MESSAGE)
        .group_by(Mail.message_id, Mail.status)
        .tuples()
    )
    counts = {(message_id, status): number for message_id, status, number in rows}
    for each in counted:
        each.sent = counts.get((each.id, MailStatus.SENT), 0)
        each.failed = counts.get((each.id, MailStatus.DROPPED), 0)
