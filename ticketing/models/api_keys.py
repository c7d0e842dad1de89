"""API keys. Of the key itself only a digest is kept."""

from datetime import datetime

from peewee import ForeignKeyField, IntegerField, TextField

from ticketing import clock, credentials
from ticketing.constants import KeyStatus
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.tenants import Tenant


class ApiKey(BaseModel):
    """One key of a tenant: a role for a time, until it is revoked.

    It has a secret, and for a time after a rotation the one before it. `generation` counts the
    rotations. `digest_key` tells under which SECRET_KEY the digest was made: None if that was
    before anybody wrote it down.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    name = TextField()
    role = TextField()
    digest = TextField()
    digest_key = TextField(null=True)
    generation = IntegerField(default=0)
    previous_digest = TextField(null=True)
    previous_digest_key = TextField(null=True)
    previous_expires_at = UtcDateTimeField(null=True)
    created_at = UtcDateTimeField()
    expires_at = UtcDateTimeField()
    last_used_at = UtcDateTimeField(null=True)
    revoked_at = UtcDateTimeField(null=True)

    key: str  # the plaintext, on the one instance whose secret has just been made

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

    def end_of(self, generation: int) -> datetime | None:
        """When the secret of that generation ends; None if a later rotation has ended it."""
        ends = {self.generation: self.expires_at, self.generation - 1: self.previous_expires_at}
        return ends.get(generation)
