"""Schemas of API keys."""

from marshmallow import validate

from schemas.base import (
    BaseSchema,
    Choice,
    Int,
    Moment,
    PageQuery,
    String,
    Text,
    an_id,
    one_of,
)
from schemas.checks import CHOICE, Length, Range
from ticketing.constants import (
    DEFAULT_KEY_TTL,
    DEFAULT_OVERLAP,
    MAX_KEY_TTL,
    MAX_OVERLAP,
    MIN_KEY_TTL,
)
from ticketing.roles import LADDER, KeyStatus, Role

_PREFIX = "ticketing_01hq3v5m8r2t6w9y1a4c7e0g3j"


class ApiKeyCreateSchema(BaseSchema):
    """The request to create an API key."""

    name = Text("storefront", required=True, validate=Length(1, 100))
    role = one_of(
        Role,
        required=True,
        validate=validate.OneOf(LADDER, error=CHOICE),
        metadata={"enum": LADDER},
    )
    ttl_seconds = Int(load_default=DEFAULT_KEY_TTL, validate=Range(MIN_KEY_TTL, MAX_KEY_TTL))


class ApiKeyRotateSchema(BaseSchema):
    """The request to rotate an API key."""

    overlap_seconds = Int(
        description="For how long the old secret stays valid. 0: it ends at once.",
        load_default=DEFAULT_OVERLAP,
        validate=Range(0, MAX_OVERLAP),
    )
    ttl_seconds = Int(
        DEFAULT_KEY_TTL,
        "The key's lifetime from now. Default: its expiry stays the same.",
        load_default=None,
        allow_none=False,
        validate=Range(MIN_KEY_TTL, MAX_KEY_TTL),
    )
    MAY_BE_ABSENT = True


class ApiKeySchema(BaseSchema):
    """An API key without its secret."""

    id = an_id("key_")
    name = String("storefront")
    role = Choice(Role)
    prefix = String(_PREFIX, "The beginning of the key, to recognize it.")
    status = Choice(KeyStatus)
    created_at = Moment()
    expires_at = Moment()
    last_used_at = Moment(nullable=True)
    revoked_at = Moment(nullable=True)
    previous_expires_at = Moment(
        "When the previous secret expires. Null: the key was never rotated.", nullable=True
    )


class NewApiKeySchema(ApiKeySchema):
    """An API key with its plaintext. Only the response that makes the secret contains it."""

    key = String(
        f"{_PREFIX}_3kq8n5v0x2z7b4d9f6h1j3m8p5r0t2w7y47c1e9g2",
        "The plaintext. Null when an idempotent request is replayed.",
        nullable=True,
    )


class ApiKeyListQuery(PageQuery):
    """Filters of the list of API keys."""

    status = one_of(KeyStatus, load_default=None, allow_none=False)
