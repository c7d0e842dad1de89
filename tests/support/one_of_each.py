"""One resource of each kind, for tests of every endpoint: new kinds are added here."""

from datetime import timedelta

from tests.support.factories import Organizer
from tests.support.members import first_member
from tests.support.webhook_endpoints import new_webhook
from ticketing import clock, ids
from ticketing.models.messages import Message
from ticketing.models.waiting_list import WaitingListEntry


def one_of_each(organizer: Organizer) -> dict[str, str]:
    """Create one resource of each kind that a path may have, and return their ids.

    The order is paid: its ticket is free. `intent_id` is of another order of the same ticket.
    """
    ticket = organizer.ticket(price_amount=0, capacity=None)
    paid = organizer.buyer(ticket)
    return {
        "tenant": organizer.slug,
        "event_id": ticket["event_id"],
        "ticket_id": ticket["id"],
        "admission_id": paid.purchase().json["admissions"][0]["id"],
        "intent_id": organizer.buyer(ticket).intent["id"],
        "key_id": "key_" + organizer.key("read").split("_")[1],
        "member_id": first_member(organizer),
        "webhook_id": new_webhook(organizer).id,
        **made_for(organizer, ticket["event_id"], ticket["id"]),
    }


def made_for(organizer: Organizer, event_id: str, ticket_id: str) -> dict[str, str]:
    """Create what an event has besides its ticket types, and return the ids. Orders need none.

    `voucher` is the code of the voucher.
    """
    admin = organizer.with_headers({"X-API-Key": organizer.admin_key})
    bodies = {
        "device_id": ("door-devices", {"name": "Phone"}),
        "voucher_id": ("vouchers", {}),
        "question_id": ("questions", {"question": "?", "type": "text", "ask": "order"}),
    }
    event = f"{organizer.path}/events/{event_id}"
    made = {name: admin.post(f"{event}/{kind}", body).json for name, (kind, body) in bodies.items()}
    known = {name: each["id"] for name, each in made.items()}
    series = f"series-of-{organizer.slug}"
    assert admin.patch(event, {"series": series}).status_code == 200
    more = {
        "slug": series,
        "message_id": message_of(organizer, event_id).id,
        "entry_id": entry_for(organizer, event_id, ticket_id).id,
    }
    return {**known, **more, "voucher": made["voucher_id"]["code"]}


def entry_for(organizer: Organizer, event_id: str, ticket_id: str) -> WaitingListEntry:
    """Put somebody on a waiting list who has not confirmed it, without a mail server."""
    made: WaitingListEntry = WaitingListEntry.create(
        id=ids.new(ids.WAITING_LIST_ENTRY),
        tenant=organizer.id,
        event=event_id,
        ticket_type=ticket_id,
        quantity=1,
        email="grace@example.org",
        mailbox="grace@example.org",
        status="unconfirmed",
        created_at=clock.now(),
    )
    return made


def message_of(organizer: Organizer, event_id: str) -> Message:
    """Write a message that waits, without a mail server."""
    made: Message = Message.create(
        id=ids.new(ids.MESSAGE),
        tenant=organizer.id,
        event=event_id,
        subject="Doors",
        text="Come at eight.",
        audience="holders",
        send_at=clock.now() + timedelta(days=1),
        status="scheduled",
        recipients=0,
        created_by="cli",
        created_at=clock.now(),
    )
    return made
