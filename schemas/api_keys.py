"""API keys on the wire."""

from marshmallow import fields, validate

from schemas.base import BaseSchema, Instant, Int, PageQuery, Text, an_id, documented, one_of
from ticketing.constants import (
    DEFAULT_KEY_TTL,
    DEFAULT_OVERLAP,
    MAX_KEY_TTL,
    MAX_OVERLAP,
    MIN_KEY_TTL,
    KeyStatus,
    Role,
)

_PREFIX = "ticketing_01hq3v5m8r2t6w9y1a4c7e0g3j"


class ApiKeyCreateSchema(BaseSchema):
    """A new API key."""

    name = Text(required=True, validate=validate.Length(1, 100), metadata=documented("storefront"))
    role = one_of(Role, required=True)
    ttl_seconds = Int(
        load_default=DEFAULT_KEY_TTL, validate=validate.Range(MIN_KEY_TTL, MAX_KEY_TTL)
    )


class ApiKeyRotateSchema(BaseSchema):
    """How an API key gets a new secret."""

    overlap_seconds = Int(
        load_default=DEFAULT_OVERLAP,
        validate=validate.Range(0, MAX_OVERLAP),
        metadata={"description": "How long the old secret stays good. 0: it ends at once."},
    )
    ttl_seconds = Int(
        load_default=None,
        allow_none=False,
        validate=validate.Range(MIN_KEY_TTL, MAX_KEY_TTL),
        metadata=documented(
            DEFAULT_KEY_TTL, "How long the key lives from now. Left out: as long as before."
        ),
    )
    MAY_BE_ABSENT = True


class ApiKeySchema(BaseSchema):
    """An API key without its secret."""

    id = an_id("key_")
    name = fields.String(required=True, metadata=documented("storefront"))
    role = one_of(Role, required=True)
    prefix = fields.String(
        required=True,
        metadata=documented(_PREFIX, "What the key begins with: enough to know it by."),
    )
    status = one_of(KeyStatus, required=True)
    created_at = Instant(required=True)
    expires_at = Instant(required=True)
    last_used_at = Instant(required=True, allow_none=True)
    revoked_at = Instant(required=True, allow_none=True)
    previous_expires_at = Instant(
        required=True,
        allow_none=True,
        metadata={
            "description": "When the secret before the last rotation ends. Null: never rotated."
        },
    )


class NewApiKeySchema(ApiKeySchema):
    """An API key with its plaintext, in the answer that makes its secret and never again."""

    key = fields.String(
        required=True,
        allow_none=True,
        metadata=documented(
            f"{_PREFIX}_3kq8n5v0x2z7b4d9f6h1j3m8p5r0t2w7y47c1e9g2",
            "The plaintext. Null when an idempotent request is replayed.",
        ),
    )


class ApiKeyListQuery(PageQuery):
    """Filters of the list of API keys."""

    status = one_of(KeyStatus, load_default=None, allow_none=False)
