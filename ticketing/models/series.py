"""Series: events that belong together."""

from peewee import CompositeKey, ForeignKeyField, TextField

from ticketing.models.base import BaseModel
from ticketing.models.tenants import Tenant


class Series(BaseModel):
    """What the page of a series says. It exists once an organizer has written it.

    A series itself exists while an event names it. `title` None: that of its next event.
    """

    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    slug = TextField()
    title = TextField(null=True)
    description = TextField(default="")
    description_html = TextField(null=True)
    description_plain = TextField(null=True)

    class Meta:
        table_name = "series"
        primary_key = CompositeKey("tenant", "slug")

    @property
    def id(self) -> str:
        """What the audit log calls it."""
        return str(self.slug)
