"""The tokens that open the admin surfaces (RFC 7519), and who stands behind a credential."""

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
from ticketing.services.access import api_key_auth, members

ALGORITHM = "HS256"
ISSUER = "ticketing"
AUDIENCE = "ticketing-admin"
_CLAIMS = ["iss", "aud", "sub", "tenant", "role", "iat", "exp", "jti"]

_CLOCKS_APART = timedelta(minutes=1)
"""How far the clocks of two hosts may differ."""


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
    tenant: Tenant
    role: Role

    @property
    def tenant_id(self) -> str:
        """The id of its tenant."""
        return str(self.tenant.id)

    def belongs_to(self, tenant_reference: str) -> bool:
        """Tell whether `tenant_reference`, a slug or an id, names the caller's tenant."""
        return tenant_reference in (self.tenant.id, self.tenant.slug)


@dataclass(frozen=True)
class Token:
    """A JWT and what its holder wants to know of it."""

    access_token: str
    expires_in: int
    role: Role
    tenant: str
    token_type: str = "Bearer"


def exchange_key(plaintext: str, config: Config) -> Token:
    """Give a JWT for an API key; it never outlives the key. InvalidCredentials, never why.

    It ends with the secret that it was made from, also if that is rotated away later.
    """
    use = api_key_auth.present(plaintext, config.keyring)
    if use is None:
        raise InvalidCredentials
    return _issue(_caller(use.key), config, use.ends_at, use.generation)


def sign_in(tenant_reference: str, email: str, password: str, config: Config) -> Token:
    """Give a JWT to a member. InvalidCredentials, never why, and always after as long."""
    member = members.sign_in(tenant_reference, email, password)
    if member is None:
        raise InvalidCredentials
    return _issue(_caller(member), config, None)


def caller_of_key(plaintext: str, config: Config) -> Caller:
    """Return who sends this API key. Unauthenticated."""
    use = api_key_auth.present(plaintext, config.keyring)
    if use is None:
        raise Unauthenticated
    return _caller(use.key)


def caller_of_jwt(token: str, config: Config) -> Caller:
    """Return who sends this JWT, as the database knows them now. Unauthenticated.

    The role is the credential's present one; a revoked key, a secret that was rotated away and a
    disabled member end here.
    """
    claims = _claims_of(token, config.keyring)
    if claims["iat"] > (clock.now() + _CLOCKS_APART).timestamp():
        raise Unauthenticated
    subject = claims["sub"]
    credential = (
        _active_member.first(member_id=subject)
        if ids.is_id(ids.MEMBER, subject)
        else api_key_auth.of_jwt(subject, _generation(claims))
    )
    if credential is None or credential.tenant.slug != claims["tenant"]:
        raise Unauthenticated
    return _caller(credential)


def _claims_of(token: str, keyring: Keyring) -> dict[str, Any]:
    """Return what a JWT says that one of our secrets has signed. Unauthenticated."""
    for secret in keyring.accepted:
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                secret,
                algorithms=[ALGORITHM],
                audience=AUDIENCE,
                issuer=ISSUER,
                # Another host's clock may be a little ahead; when it ends is what counts.
                options={"require": _CLAIMS, "verify_iat": False},
            )
        except jwt.InvalidSignatureError:
            continue
        except (jwt.InvalidTokenError, ValueError):
            break
        return claims
    raise Unauthenticated


def _generation(claims: dict[str, Any]) -> int:
    """Return which secret of its key a JWT was made from; one that does not say: from the first."""
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


def _caller(credential: ApiKey | Member) -> Caller:
    return Caller(credential.id, credential.tenant, Role(credential.role))
