"""What apps say of themselves at a URL."""

from peewee import ForeignKeyField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.tenants import Tenant


class AppDescription(BaseModel):
    """One reading of the URL that is an app's id, for a member of a tenant who was asked about it.

    `read_at`: when the worker had an answer, or gave up; None before. `waited_ms`: for how long it
    waited for it. `document`: the JSON that came; None if none came, and some minutes later.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    url = TextField()
    asked_at = UtcDateTimeField()
    read_at = UtcDateTimeField(null=True)
    waited_ms = IntegerField(null=True)
    document = TextField(null=True)

    class Meta:
        table_name = "app_descriptions"
