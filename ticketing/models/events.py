"""Events."""

from __future__ import annotations

from collections.abc import Sequence

from peewee import ForeignKeyField, ModelSelect, TextField

from ticketing.constants import Obstacle
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.tenants import Tenant


class Event(BaseModel):
    """An event of a tenant."""

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    title = TextField()
    slug = TextField()
    description = TextField()
    type = TextField()
    venue = TextField(null=True)
    start_at = UtcDateTimeField()
    end_at = UtcDateTimeField(null=True)
    timezone = TextField()
    online_join_url = TextField(null=True)
    status = TextField()
    created_at = UtcDateTimeField()
    updated_at = UtcDateTimeField()

    obstacles: Sequence[Obstacle]  # no column: services.catalog sets it for responses

    class Meta:
        table_name = "events"


def only_event(tenant_id: str, event_id: str) -> ModelSelect[Event]:
    """Select the id of this event if it belongs to the tenant, for use in a subquery."""
    return Event.select(Event.id).where(Event.id == event_id, Event.tenant == tenant_id)
