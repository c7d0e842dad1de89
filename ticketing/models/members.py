"""Members: people of the organizer, who sign in with a password."""

from peewee import ForeignKeyField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.tenants import Tenant


class Member(BaseModel):
    """A person of a tenant, with one role."""

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    email = TextField()
    password_hash = TextField()
    role = TextField()
    created_at = UtcDateTimeField()
    disabled_at = UtcDateTimeField(null=True)

    class Meta:
        table_name = "members"
