"""Members: people of the organizer, with their invitations and sessions."""

import json
from collections.abc import Collection
from datetime import datetime

from peewee import AnyField, ForeignKeyField, TextField

from ticketing import clock
from ticketing.constants import EPOCH
from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.tenants import Tenant
from ticketing.roles import MemberStatus


class EventIdsField(AnyField):
    """Ids of events, stored as JSON. None: all events."""

    field_type = "TEXT"

    def db_value(self, value: Collection[str] | None) -> str | None:
        """Convert ids to JSON."""
        return None if value is None else json.dumps(sorted(value))

    def python_value(self, value: str | None) -> tuple[str, ...] | None:
        """Convert JSON to ids."""
        return None if value is None else tuple(json.loads(value))


class Member(BaseModel):
    """A person of a tenant, with one role, for all events or only for those of `event_ids`.

    A member who was invited has no password until the invitation is accepted. The first one of a
    tenant may have no email address until then. `admin_since`: when an administrator got that role,
    or accepted the last invitation. `second_factor_since`: when the first of their second factors
    was set up. None: the password is enough.
    """

    id = TextField(primary_key=True)
    tenant = ForeignKeyField(Tenant)
    tenant_id: str
    email = TextField(null=True)
    password_hash = TextField(null=True)
    password_set_at = UtcDateTimeField(null=True)
    role = TextField()
    event_ids = EventIdsField(null=True)
    admin_since = UtcDateTimeField(null=True)
    second_factor_since = UtcDateTimeField(null=True)
    created_at = UtcDateTimeField()
    disabled_at = UtcDateTimeField(null=True)

    # No columns: the secret of an invitation and its link, only on one that was just invited.
    invitation: str
    invitation_url: str

    class Meta:
        table_name = "members"

    @property
    def status(self) -> MemberStatus:
        """The current status."""
        if self.disabled_at is not None:
            return MemberStatus.DISABLED
        return MemberStatus.INVITED if self.password_hash is None else MemberStatus.ACTIVE

    @property
    def has_second_factor(self) -> bool:
        """Whether the password alone is not enough."""
        return self.second_factor_since is not None

    @property
    def generation(self) -> int:
        """Identifies the password: when it was set, in microseconds. 0 if that was not recorded."""
        set_at: datetime | None = self.password_set_at
        if set_at is None:
            return 0
        since = set_at - EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


class Invitation(BaseModel):
    """One permission for a member to set a password. Its secret is derived from the id."""

    id = TextField(primary_key=True)
    member = ForeignKeyField(Member)
    member_id: str
    created_at = UtcDateTimeField()
    expires_at = UtcDateTimeField()
    ended_at = UtcDateTimeField(null=True)

    class Meta:
        table_name = "invitations"

    @property
    def is_open(self) -> bool:
        """Whether it can be accepted."""
        return self.ended_at is None and self.expires_at > clock.now()


class Session(BaseModel):
    """One browser in which a member is signed in. The database stores a digest of its secret."""

    id = TextField(primary_key=True)
    digest = TextField(unique=True)
    member = ForeignKeyField(Member)
    member_id: str
    created_at = UtcDateTimeField()
    last_used_at = UtcDateTimeField()
    address = TextField(null=True)
    user_agent = TextField(null=True)

    class Meta:
        table_name = "sessions"
