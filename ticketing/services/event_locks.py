"""Keep an event as it is until a transaction ends."""

from ticketing.db.connection import locked
from ticketing.errors import NotFound
from ticketing.models.events import Event


def keep(tenant_id: str, event_id: str) -> Event:
    """Return an event that nobody can change until the transaction ends. NotFound.

    Several transactions may keep one event. Call it before other locks are taken.
    """
    query = Event.select().where(Event.tenant == tenant_id, Event.id == event_id)
    event: Event | None = locked(query, shared=True).first()
    if event is None:
        raise NotFound("This event does not exist.")
    return event
