"""JWTs for the admin surfaces (RFC 7519): issue and verify them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ticketing import clock, ids
from ticketing.config import Config
from ticketing.credentials import Keyring
from ticketing.errors import InvalidCredentials, Unauthenticated
from ticketing.models.api_keys import ApiKey
from ticketing.models.members import Member
from ticketing.roles import Role
from ticketing.services.access import api_key_auth, signed_claims

AUDIENCE = "ticketing-admin"
_CLAIMS = ["sub", "tenant", "role", "exp", "jti"]


@dataclass(frozen=True)
class Token:
    """A JWT with its role and expiry."""

    access_token: str
    expires_in: int
    role: Role
    tenant: str
    token_type: str = "Bearer"


@dataclass(frozen=True)
class Claims:
    """What a JWT says: its API key or member, the generation of its secret, and its tenant."""

    subject: str
    generation: int
    tenant: str


def exchange_key(plaintext: str, config: Config) -> Token:
    """Return a JWT for an API key. InvalidCredentials, without a reason.

    The JWT expires with the key or earlier. It also ends with the secret from which it was made.
    """
    use = api_key_auth.present(plaintext, config.keyring)
    if use is None:
        raise InvalidCredentials
    return _issue(use.key, config, use.ends_at, use.generation)


def of_member(member: Member, config: Config) -> Token:
    """Return a JWT for a member who has just proved a password. It ends with that password."""
    return _issue(member, config, None, member.generation)


def verify(token: str, keyring: Keyring) -> Claims:
    """Return what a JWT says. Unauthenticated if it is not ours, has expired, or begins later."""
    claims = signed_claims.read(AUDIENCE, token, keyring, _CLAIMS)
    if claims is None:
        raise Unauthenticated
    return Claims(claims["sub"], _generation(claims), claims["tenant"])


def _generation(claims: dict[str, Any]) -> int:
    """Return the generation of the secret or password of a JWT. Default: the first."""
    return int(claims["jti"].partition(".")[2] or 0)


def _issue(
    credential: ApiKey | Member, config: Config, not_after: datetime | None, generation: int
) -> Token:
    now = clock.now()
    end = now + timedelta(seconds=config.token_ttl_seconds)
    if not_after is not None:
        end = min(end, not_after)
    claims = {
        "sub": credential.id,
        "tenant": credential.tenant.slug,
        "role": credential.role,
        "jti": f"{ids.new('jwt_')}.{generation}",
    }
    token = signed_claims.sign(AUDIENCE, claims, config.keyring, end)
    lives = int(end.timestamp()) - int(now.timestamp())
    return Token(token, lives, Role(credential.role), credential.tenant.slug)
