"""Answers kept for requests that are sent again."""

from peewee import IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField


class IdempotencyKey(BaseModel):
    """A request under way (`status` None), or its answer.

    `digest` binds the key to credential, method and path, `request_digest` to the body.
    """

    digest = TextField(primary_key=True)
    request_digest = TextField()
    claimed_at = UtcDateTimeField()
    created_at = UtcDateTimeField()
    status = IntegerField(null=True)
    body = TextField(null=True)

    class Meta:
        table_name = "idempotency_keys"
