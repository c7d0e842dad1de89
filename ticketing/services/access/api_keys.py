"""API keys: list, create, read, rotate, revoke."""

from datetime import timedelta

from ticketing import clock, credentials, ids
from ticketing.credentials import Keyring
from ticketing.db.connection import write_transaction
from ticketing.errors import Invalid, KeyNotActive, NotFound
from ticketing.models.api_keys import ApiKey
from ticketing.models.tenants import Tenant
from ticketing.roles import KeyStatus, Role
from ticketing.services.notifications import facts, feed
from ticketing.services.pagination import Page, PageRequest, paginate

MAX_NAME = 100


def create(
    tenant_id: str,
    *,
    name: str,
    role: Role,
    ttl_seconds: int,
    keyring: Keyring,
    is_first: bool = False,
) -> ApiKey:
    """Create a key that expires after `ttl_seconds`. Its `key` is the plaintext, never stored.

    `is_first`: it comes with its tenant, so it is no news. Invalid for an invalid name.
    """
    if not 1 <= len(name) <= MAX_NAME:
        raise Invalid({"name": [f"Must have 1 to {MAX_NAME} characters."]})
    key_id = ids.new(ids.API_KEY)
    plaintext = credentials.new_api_key(key_id)
    now = clock.now()
    with write_transaction():
        made = ApiKey.create(
            id=key_id,
            tenant=tenant_id,
            name=name,
            role=role,
            digest=credentials.api_key_digest(keyring.current, plaintext),
            digest_key=credentials.secret_key_id(keyring.current),
            created_at=now,
            expires_at=now + timedelta(seconds=ttl_seconds),
        )
        if not is_first:
            feed.record(tenant_id, *facts.api_key_created(made, rotated=False))
    made.key = plaintext
    return made


def list_page(tenant_id: str, status: KeyStatus | None, page: PageRequest) -> Page[ApiKey]:
    """Return a page of a tenant's keys, the oldest first."""
    query = ApiKey.select().where(ApiKey.tenant == tenant_id)
    now = clock.now()
    if status is KeyStatus.REVOKED:
        query = query.where(ApiKey.revoked_at.is_null(False))
    elif status is KeyStatus.EXPIRED:
        query = query.where(ApiKey.revoked_at.is_null(), ApiKey.expires_at <= now)
    elif status is KeyStatus.ACTIVE:
        query = query.where(ApiKey.revoked_at.is_null(), ApiKey.expires_at > now)
    return paginate(query, [ApiKey.id], page, scope=f"api_keys {tenant_id} {status}")


def list_all(tenant_id: str) -> list[ApiKey]:
    """Return all keys of a tenant, the oldest first."""
    query = ApiKey.select(ApiKey, Tenant).join(Tenant).where(ApiKey.tenant == tenant_id)
    return list(query.order_by(ApiKey.id))


def get(tenant_id: str, key_id: str) -> ApiKey:
    """Return one key of a tenant. NotFound."""
    key = ApiKey.get_or_none(ApiKey.tenant == tenant_id, ApiKey.id == key_id)
    if key is None:
        raise NotFound("This API key does not exist.")
    return key


def rotate(
    tenant_id: str, key_id: str, *, overlap_seconds: int, ttl_seconds: int | None, keyring: Keyring
) -> ApiKey:
    """Give a key a new secret, in `key`. The previous one stays valid for `overlap_seconds`.

    The key then expires after `ttl_seconds`; None keeps its expiry. Older secrets end at once.
    NotFound, KeyNotActive.
    """
    key = get(tenant_id, key_id)
    if key.status is not KeyStatus.ACTIVE:
        raise KeyNotActive
    plaintext = credentials.new_api_key(key.id)
    now = clock.now()
    expires_at = key.expires_at
    if ttl_seconds is not None:
        expires_at = now + timedelta(seconds=ttl_seconds)
    # Each of several concurrent rotations ends the secrets it finds: only the last two are valid.
    renewed = ApiKey.update(
        digest=credentials.api_key_digest(keyring.current, plaintext),
        digest_key=credentials.secret_key_id(keyring.current),
        generation=ApiKey.generation + 1,
        previous_digest=ApiKey.digest,
        previous_digest_key=ApiKey.digest_key,
        previous_expires_at=min(now + timedelta(seconds=overlap_seconds), expires_at),
        expires_at=expires_at,
    ).where(ApiKey.id == key.id, ApiKey.revoked_at.is_null())
    with write_transaction():
        if not renewed.execute():
            raise KeyNotActive
        feed.record(tenant_id, *facts.api_key_created(key, rotated=True))
    key = get(tenant_id, key_id)
    key.key = plaintext
    return key


def revoke(tenant_id: str, key_id: str) -> ApiKey:
    """Revoke a key and all its JWTs at once. A repeat changes nothing. NotFound."""
    (
        ApiKey.update(revoked_at=clock.now())
        .where(ApiKey.tenant == tenant_id, ApiKey.id == key_id, ApiKey.revoked_at.is_null())
        .execute()
    )
    return get(tenant_id, key_id)


def revoke_all(tenant_id: str) -> list[str]:
    """Revoke all keys of a tenant and all their JWTs at once. Return the keys' ids."""
    revoked = (
        ApiKey.update(revoked_at=clock.now())
        .where(ApiKey.tenant == tenant_id, ApiKey.revoked_at.is_null())
        .returning(ApiKey.id)
    )
    return sorted(key.id for key in revoked.execute())


def under_previous(keyring: Keyring) -> list[ApiKey]:
    """Return the keys of all tenants with a digest that was made under SECRET_KEY_PREVIOUS."""
    current, now = credentials.secret_key_id(keyring.current), clock.now()
    return list(
        ApiKey.select(ApiKey, Tenant)
        .join(Tenant)
        .where(
            ApiKey.revoked_at.is_null(),
            ApiKey.expires_at > now,
            (ApiKey.digest_key != current)
            | ((ApiKey.previous_expires_at > now) & (ApiKey.previous_digest_key != current)),
        )
        .order_by(ApiKey.id)
    )
