"""API keys. Of the key itself only a digest is kept."""

from peewee import ForeignKeyField, TextField

from ticketing import clock, credentials
from ticketing.constants import KeyStatus
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.tenants import Tenant


class ApiKey(BaseModel):
    """One key of a tenant: a role for a time, until it is revoked."""

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    name = TextField()
    role = TextField()
    digest = TextField()
    created_at = UtcDateTimeField()
    expires_at = UtcDateTimeField()
    last_used_at = UtcDateTimeField(null=True)
    revoked_at = UtcDateTimeField(null=True)

    key: str  # the plaintext, on the one instance that has just been made

    class Meta:
        table_name = "api_keys"

    @property
    def status(self) -> KeyStatus:
        """Where the key is in its life right now."""
        if self.revoked_at is not None:
            return KeyStatus.REVOKED
        return KeyStatus.EXPIRED if self.expires_at <= clock.now() else KeyStatus.ACTIVE

    @property
    def prefix(self) -> str:
        """What the key begins with: enough to recognise it, no secret."""
        return credentials.api_key_prefix(self.id)
