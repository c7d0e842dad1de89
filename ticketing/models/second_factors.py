"""What members prove besides the password, or instead of it."""

from peewee import BigIntegerField, CompositeKey, ForeignKeyField, IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField
from ticketing.models.members import Member


class Totp(BaseModel):
    """An app that shows codes (RFC 6238). Its secret is stored encrypted.

    `confirmed_at` None: no code of it was sent yet, so it counts for nothing. `last_step`: the time
    step of the newest code that was accepted; no code of it or before is accepted again. `attempts`
    since `attempts_since`: codes that were tried, until one was right.
    """

    member = ForeignKeyField(Member, primary_key=True)
    member_id: str
    secret = TextField()
    secret_key_id = TextField()
    created_at = UtcDateTimeField()
    confirmed_at = UtcDateTimeField(null=True)
    last_step = BigIntegerField(default=0)
    attempts = IntegerField(default=0)
    attempts_since = UtcDateTimeField(null=True)

    class Meta:
        table_name = "totps"


class RecoveryCode(BaseModel):
    """A code that replaces the second factor once. The database stores its digest."""

    member = ForeignKeyField(Member)
    member_id: str
    digest = TextField()

    class Meta:
        table_name = "recovery_codes"
        primary_key = CompositeKey("member", "digest")


class Passkey(BaseModel):
    """A credential of WebAuthn. `credential_id` and `public_key` are base64url."""

    id = TextField(primary_key=True)
    member = ForeignKeyField(Member)
    member_id: str
    credential_id = TextField(unique=True)
    public_key = TextField()
    sign_count = BigIntegerField()
    name = TextField()
    created_at = UtcDateTimeField()
    last_used_at = UtcDateTimeField(null=True)

    class Meta:
        table_name = "passkeys"


class UsedChallenge(BaseModel):
    """A challenge of WebAuthn that was answered, until it ends. It is not accepted again."""

    digest = TextField(primary_key=True)
    ends_at = UtcDateTimeField()

    class Meta:
        table_name = "used_challenges"
