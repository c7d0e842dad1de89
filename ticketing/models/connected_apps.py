"""Apps that act for a member: what OAuth calls a grant of access to a client."""

from peewee import BigIntegerField, ForeignKeyField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.members import Member
from ticketing.models.tenants import Tenant


class ConnectedApp(BaseModel):
    """An app that a member has connected, with one role.

    `password_generation`: that of the member's password at that time; another password ends it.
    `host`: where the app's own description was read. None: it registered itself, so its name is
    what it says. `generation` 0: the code was not exchanged yet; else that of the refresh token
    that is valid. `renewed_at`: when that one was made. `kept_until`: when the row is deleted.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    member = ForeignKeyField(Member)
    member_id: str
    password_generation = BigIntegerField()
    client_id = TextField()
    name = TextField()
    host = TextField(null=True)
    redirect_uri = TextField()
    code_challenge = TextField()
    role = TextField()
    generation = IntegerField(default=0)
    created_at = UtcDateTimeField()
    renewed_at = UtcDateTimeField()
    ended_at = UtcDateTimeField(null=True)
    kept_until = UtcDateTimeField()

    class Meta:
        table_name = "connected_apps"
