"""Stored responses for repeated requests."""

from peewee import IntegerField, TextField

from ticketing.models.base import BaseModel, UtcDateTimeField


class IdempotencyKey(BaseModel):
    """A running request (`status` None), or its response.

    `digest` covers the key, credential, method and path. `request_digest` covers the body. If the
    request had no credential, `client` is a digest of its IPv4 address or IPv6 /64 and
    `client_site` one of its IPv6 /48. `order_id` is the order whose secret it had, if any.
    """

    digest = TextField(primary_key=True)
    request_digest = TextField()
    claimed_at = UtcDateTimeField()
    created_at = UtcDateTimeField()
    status = IntegerField(null=True)
    body = TextField(null=True)
    order_id = TextField(null=True)
    client = TextField(null=True)
    client_site = TextField(null=True)

    class Meta:
        table_name = "idempotency_keys"
