"""The tokens that open the admin surfaces (RFC 7519), and who stands behind a credential."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import jwt
from peewee import ModelSelect

from ticketing import clock, credentials, ids
from ticketing.config import Config
from ticketing.constants import Role
from ticketing.errors import InvalidCredentials, Unauthenticated
from ticketing.models.api_keys import ApiKey
from ticketing.models.members import Member
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.services import members

ALGORITHM = "HS256"
ISSUER = "ticketing"
AUDIENCE = "ticketing-admin"
_CLAIMS = ["iss", "aud", "sub", "tenant", "role", "iat", "exp", "jti"]
_TOUCH_EVERY = timedelta(minutes=1)


@Prepared
def _live_key(key_id: Any, now: Any) -> ModelSelect[ApiKey]:
    return (
        ApiKey.select(ApiKey, Tenant)
        .join(Tenant)
        .where(ApiKey.id == key_id, ApiKey.revoked_at.is_null(), ApiKey.expires_at > now)
    )


@Prepared
def _active_member(member_id: Any) -> ModelSelect[Member]:
    return (
        Member.select(Member, Tenant)
        .join(Tenant)
        .where(Member.id == member_id, Member.disabled_at.is_null())
    )


@dataclass(frozen=True)
class Caller:
    """Who asks: a key or a member, its tenant, and what it may do."""

    credential_id: str
    tenant_id: str
    tenant_slug: str
    role: Role

    def belongs_to(self, tenant_reference: str) -> bool:
        """Tell whether `tenant_reference`, a slug or an id, names the caller's tenant."""
        return tenant_reference in (self.tenant_id, self.tenant_slug)


@dataclass(frozen=True)
class Token:
    """A JWT and what its holder wants to know of it."""

    access_token: str
    expires_in: int
    role: Role
    tenant: str
    token_type: str = "Bearer"


def exchange_key(plaintext: str, config: Config) -> Token:
    """Give a JWT for an API key; it never outlives the key. InvalidCredentials, never why."""
    key = _good_key(plaintext, config.secret_key)
    if key is None:
        raise InvalidCredentials
    return _issue(_caller(key), config, key.expires_at)


def sign_in(tenant_reference: str, email: str, password: str, config: Config) -> Token:
    """Give a JWT to a member. InvalidCredentials, never why, and always after as long."""
    member = members.sign_in(tenant_reference, email, password)
    if member is None:
        raise InvalidCredentials
    return _issue(_caller(member), config, None)


def caller_of_key(plaintext: str, config: Config) -> Caller:
    """Return who sends this API key. Unauthenticated."""
    key = _good_key(plaintext, config.secret_key)
    if key is None:
        raise Unauthenticated
    return _caller(key)


def caller_of_jwt(token: str, config: Config) -> Caller:
    """Return who sends this JWT, as the database knows them now. Unauthenticated.

    The role is the credential's present one; a revoked key and a disabled member end here.
    """
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            config.secret_key,
            algorithms=[ALGORITHM],
            audience=AUDIENCE,
            issuer=ISSUER,
            # Another host's clock may be a little ahead; when it ends is what counts.
            options={"require": _CLAIMS, "verify_iat": False},
        )
    except (jwt.InvalidTokenError, ValueError):
        raise Unauthenticated from None
    subject = claims["sub"]
    credential = (
        _active_member.first(member_id=subject)
        if ids.is_id(ids.MEMBER, subject)
        else _live_key.first(key_id=subject, now=clock.now())
    )
    if credential is None:
        raise Unauthenticated
    return _caller(credential)


def _issue(caller: Caller, config: Config, not_after: datetime | None) -> Token:
    now = clock.now()
    end = now + timedelta(seconds=config.token_ttl_seconds)
    if not_after is not None:
        end = min(end, not_after)
    issued, expires = int(now.timestamp()), int(end.timestamp())
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": caller.credential_id,
        "tenant": caller.tenant_slug,
        "role": caller.role,
        "iat": issued,
        "exp": expires,
        "jti": ids.new("jwt_"),
    }
    token = jwt.encode(claims, config.secret_key, ALGORITHM)
    return Token(token, expires - issued, caller.role, caller.tenant_slug)


def _good_key(plaintext: str, secret_key: str) -> ApiKey | None:
    key_id = credentials.api_key_id(plaintext)
    key = _live_key.first(key_id=key_id, now=clock.now()) if key_id else None
    if key is None or not credentials.same(
        key.digest, credentials.api_key_digest(secret_key, plaintext)
    ):
        return None
    _touch(key)
    return key


def _touch(key: ApiKey) -> None:
    """Note that the key is in use, at most once a minute: reading must not become writing."""
    now = clock.now()
    if key.last_used_at is None or key.last_used_at < now - _TOUCH_EVERY:
        ApiKey.update(last_used_at=now).where(ApiKey.id == key.id).execute()


def _caller(credential: ApiKey | Member) -> Caller:
    tenant = credential.tenant
    return Caller(credential.id, tenant.id, tenant.slug, Role(credential.role))
