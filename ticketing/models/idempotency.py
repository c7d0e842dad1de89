"""Stored responses for repeated requests."""

from peewee import IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField


class IdempotencyKey(BaseModel):
    """A running request (`status` None), or its response.

    `digest` covers the key, credential, method and path. `request_digest` covers the body.
    """

    digest = TextField(primary_key=True)
    request_digest = TextField()
    claimed_at = UtcDateTimeField()
    created_at = UtcDateTimeField()
    status = IntegerField(null=True)
    body = TextField(null=True)

    class Meta:
        table_name = "idempotency_keys"
