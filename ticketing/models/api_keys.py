"""API keys. The database stores only a digest of the key."""

from datetime import datetime

from peewee import ForeignKeyField, IntegerField, TextField

from ticketing import clock, credentials
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.tenants import Tenant
from ticketing.roles import KeyStatus


class ApiKey(BaseModel):
    """A key of a tenant. It has one role until it expires or is revoked.

    For some time after a rotation, the previous secret is valid too. `generation` counts the
    rotations. `digest_key` identifies the SECRET_KEY of the digest.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    name = TextField()
    role = TextField()
    digest = TextField()
    digest_key = TextField()
    generation = IntegerField(default=0)
    previous_digest = TextField(null=True)
    previous_digest_key = TextField(null=True)
    previous_expires_at = UtcDateTimeField(null=True)
    created_at = UtcDateTimeField()
    expires_at = UtcDateTimeField()
    last_used_at = UtcDateTimeField(null=True)
    revoked_at = UtcDateTimeField(null=True)

    key: str  # the plaintext, only on an instance whose secret was just created

    class Meta:
        table_name = "api_keys"

    @property
    def status(self) -> KeyStatus:
        """The current status."""
        if self.revoked_at is not None:
            return KeyStatus.REVOKED
        return KeyStatus.EXPIRED if self.expires_at <= clock.now() else KeyStatus.ACTIVE

    @property
    def prefix(self) -> str:
        """The beginning of the key. It identifies the key, but is not secret."""
        return credentials.api_key_prefix(self.id)

    def end_of(self, generation: int) -> datetime | None:
        """Return when the secret of a generation expires. None if a rotation has ended it."""
        ends = {self.generation: self.expires_at, self.generation - 1: self.previous_expires_at}
        return ends.get(generation)
