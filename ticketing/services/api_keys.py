"""API keys: list, create, read, revoke."""

from datetime import timedelta

from ticketing import clock, credentials, ids
from ticketing.constants import KeyStatus, Role
from ticketing.errors import Invalid, NotFound
from ticketing.models.api_keys import ApiKey
from ticketing.services.pages import Page, PageRequest, paginate

MAX_NAME = 100


def create(tenant_id: str, *, name: str, role: Role, ttl_seconds: int, secret_key: str) -> ApiKey:
    """Make a key that lives `ttl_seconds`. Its `key` is the plaintext, which is kept nowhere.

    Invalid for a name that breaks a rule.
    """
    if not 1 <= len(name) <= MAX_NAME:
        raise Invalid({"name": [f"1 to {MAX_NAME} characters."]})
    key_id = ids.new(ids.API_KEY)
    plaintext = credentials.new_api_key(key_id)
    now = clock.now()
    made = ApiKey.create(
        id=key_id,
        tenant=tenant_id,
        name=name,
        role=role,
        digest=credentials.api_key_digest(secret_key, plaintext),
        created_at=now,
        expires_at=now + timedelta(seconds=ttl_seconds),
    )
    made.key = plaintext
    return made


def list_page(tenant_id: str, status: KeyStatus | None, page: PageRequest) -> Page[ApiKey]:
    """Return a tenant's keys in the order they were made."""
    query = ApiKey.select().where(ApiKey.tenant == tenant_id)
    now = clock.now()
    if status is KeyStatus.REVOKED:
        query = query.where(ApiKey.revoked_at.is_null(False))
    elif status is KeyStatus.EXPIRED:
        query = query.where(ApiKey.revoked_at.is_null(), ApiKey.expires_at <= now)
    elif status is KeyStatus.ACTIVE:
        query = query.where(ApiKey.revoked_at.is_null(), ApiKey.expires_at > now)
    return paginate(query, [ApiKey.id], page, scope=f"api_keys {tenant_id} {status}")


def get(tenant_id: str, key_id: str) -> ApiKey:
    """Return one key of a tenant. NotFound."""
    key = ApiKey.get_or_none(ApiKey.tenant == tenant_id, ApiKey.id == key_id)
    if key is None:
        raise NotFound("There is no such API key.")
    return key


def revoke(tenant_id: str, key_id: str) -> ApiKey:
    """End a key at once, and every JWT made from it. Again: nothing changes. NotFound."""
    (
        ApiKey.update(revoked_at=clock.now())
        .where(ApiKey.tenant == tenant_id, ApiKey.id == key_id, ApiKey.revoked_at.is_null())
        .execute()
    )
    return get(tenant_id, key_id)
