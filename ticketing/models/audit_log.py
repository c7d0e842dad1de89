"""The audit log. Triggers in the database prevent changes and deletions of its rows."""

from peewee import ForeignKeyField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.tenants import Tenant


class AuditLogEntry(BaseModel):
    """One change by one actor. `before` and `after` are JSON objects of the fields that differ."""

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    at = UtcDateTimeField()
    actor = TextField()
    address = TextField(null=True)
    request_id = TextField(null=True)
    action = TextField()
    subject = TextField()
    before = TextField(null=True)
    after = TextField()

    class Meta:
        table_name = "trail"


class AuditLogPeople(BaseModel):
    """Names and email addresses of one entry, kept beside it so that they can be erased.

    `before` and `after` are JSON objects, as in the entry. There each of their fields is null.
    """

    entry = ForeignKeyField(AuditLogEntry, primary_key=True)
    entry_id: str
    subject = TextField()
    before = TextField(null=True)
    after = TextField()

    class Meta:
        table_name = "trail_people"
