"""JWTs for the admin surfaces (RFC 7519), and the caller behind a credential."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import jwt
from peewee import ModelSelect

from ticketing import clock, ids
from ticketing.config import Config
from ticketing.constants import Role
from ticketing.credentials import Keyring
from ticketing.errors import InvalidCredentials, Unauthenticated
from ticketing.models.api_keys import ApiKey
from ticketing.models.members import Member
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.services.access import api_key_auth

ALGORITHM = "HS256"
ISSUER = "ticketing"
AUDIENCE = "ticketing-admin"
_CLAIMS = ["iss", "aud", "sub", "tenant", "role", "iat", "exp", "jti"]


@Prepared
def _active_member(member_id: Any) -> ModelSelect[Member]:
    return (
        Member.select(Member, Tenant)
        .join(Tenant)
        .where(Member.id == member_id, Member.disabled_at.is_null())
    )


@dataclass(frozen=True)
class Caller:
    """An authenticated caller: an API key or a member, with its tenant and role."""

    credential_id: str
    tenant: Tenant
    role: Role

    @classmethod
    def of(cls, credential: ApiKey | Member) -> Caller:
        """Return the caller with this key, or this member. Their tenant was read with them."""
        return cls(credential.id, credential.tenant, Role(credential.role))

    @property
    def tenant_id(self) -> str:
        """The id of the tenant."""
        return str(self.tenant.id)

    def belongs_to(self, tenant_reference: str) -> bool:
        """Return whether `tenant_reference` is the slug or id of the caller's tenant."""
        return tenant_reference in (self.tenant.id, self.tenant.slug)


@dataclass(frozen=True)
class Token:
    """A JWT with its role and expiry."""

    access_token: str
    expires_in: int
    role: Role
    tenant: str
    token_type: str = "Bearer"


def exchange_key(plaintext: str, config: Config) -> Token:
    """Return a JWT for an API key. InvalidCredentials, without a reason.

    The JWT expires with the key or earlier. It also ends with the secret from which it was made.
    """
    use = api_key_auth.present(plaintext, config.keyring)
    if use is None:
        raise InvalidCredentials
    return _issue(Caller.of(use.key), config, use.ends_at, use.generation)


def of_member(member: Member, config: Config) -> Token:
    """Return a JWT for a member who has just proved a password. It ends with that password."""
    return _issue(Caller.of(member), config, None, member.generation)


def caller_of_key(plaintext: str, config: Config) -> Caller:
    """Return the caller with this API key. Unauthenticated."""
    use = api_key_auth.present(plaintext, config.keyring)
    if use is None:
        raise Unauthenticated
    return Caller.of(use.key)


def caller_of_jwt(token: str, config: Config) -> Caller:
    """Return the caller with this JWT. Unauthenticated.

    The role is the current one in the database. A JWT of a revoked key, a replaced secret, a
    disabled member or a replaced password is not valid.
    """
    claims = _claims_of(token, config.keyring)
    if claims["iat"] > (clock.now() + clock.CLOCKS_APART).timestamp():
        raise Unauthenticated
    subject = claims["sub"]
    generation = _generation(claims)
    credential = (
        _member_of_jwt(subject, generation)
        if ids.is_id(ids.MEMBER, subject)
        else api_key_auth.of_jwt(subject, generation)
    )
    if credential is None or credential.tenant.slug != claims["tenant"]:
        raise Unauthenticated
    return Caller.of(credential)


def _member_of_jwt(member_id: str, generation: int) -> Member | None:
    member = _active_member.first(member_id=member_id)
    return member if member is not None and member.generation == generation else None


def _claims_of(token: str, keyring: Keyring) -> dict[str, Any]:
    """Return the claims of a JWT that a valid SECRET_KEY has signed. Unauthenticated."""
    for secret in keyring.accepted:
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                secret,
                algorithms=[ALGORITHM],
                audience=AUDIENCE,
                issuer=ISSUER,
                # Another host's clock may be a little ahead, so only the expiry is checked.
                options={"require": _CLAIMS, "verify_iat": False},
            )
        except jwt.InvalidSignatureError:
            continue
        except (jwt.InvalidTokenError, ValueError):
            break
        return claims
    raise Unauthenticated


def _generation(claims: dict[str, Any]) -> int:
    """Return the generation of the secret or password of a JWT. Default: the first."""
    return int(claims["jti"].partition(".")[2] or 0)


def _issue(
    caller: Caller, config: Config, not_after: datetime | None, generation: int = 0
) -> Token:
    now = clock.now()
    end = now + timedelta(seconds=config.token_ttl_seconds)
    if not_after is not None:
        end = min(end, not_after)
    issued, expires = int(now.timestamp()), int(end.timestamp())
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": caller.credential_id,
        "tenant": caller.tenant.slug,
        "role": caller.role,
        "iat": issued,
        "exp": expires,
        "jti": f"{ids.new('jwt_')}.{generation}",
    }
    token = jwt.encode(claims, config.keyring.current, ALGORITHM)
    return Token(token, expires - issued, caller.role, caller.tenant.slug)
