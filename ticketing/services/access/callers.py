"""Callers of the admin surfaces: who a credential belongs to, with its tenant and role."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peewee import ModelSelect

from ticketing import ids
from ticketing.config import Config
from ticketing.errors import Unauthenticated
from ticketing.models.api_keys import ApiKey
from ticketing.models.members import Member
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.roles import Role
from ticketing.services.access import api_key_auth, tokens


@Prepared
def _active_member(member_id: Any) -> ModelSelect[Member]:
    return (
        Member.select(Member, Tenant)
        .join(Tenant)
        .where(Member.id == member_id, Member.disabled_at.is_null())
    )


@dataclass(frozen=True)
class Caller:
    """An authenticated caller: an API key or a member, with its tenant and role.

    `event_ids`: the events of a member who is limited to some. None: all events.
    """

    credential_id: str
    tenant: Tenant
    role: Role
    event_ids: tuple[str, ...] | None = None

    @classmethod
    def of(cls, credential: ApiKey | Member) -> Caller:
        """Return the caller with this key, or this member. Their tenant was read with them."""
        events = credential.event_ids if isinstance(credential, Member) else None
        return cls(credential.id, credential.tenant, Role(credential.role), events)

    @property
    def tenant_id(self) -> str:
        """The id of the tenant."""
        return str(self.tenant.id)

    def belongs_to(self, tenant_reference: str) -> bool:
        """Return whether `tenant_reference` is the slug or id of the caller's tenant."""
        return tenant_reference in (self.tenant.id, self.tenant.slug)


def lacks_second_factor(member: Member) -> bool:
    """Return whether a member, read with the tenant, must set up a second factor first."""
    is_required = bool(member.tenant.second_factor_required) and member.role == Role.ADMIN
    return is_required and member.second_factor_since is None


def of_key(plaintext: str, config: Config) -> Caller:
    """Return the caller with this API key. Unauthenticated."""
    use = api_key_auth.present(plaintext, config.keyring)
    if use is None:
        raise Unauthenticated
    return Caller.of(use.key)


def of_jwt(token: str, config: Config) -> Caller:
    """Return the caller with this JWT. Unauthenticated.

    The role is the current one in the database. A JWT of a revoked key, a replaced secret, a
    disabled member or a replaced password is not valid.
    """
    claims = tokens.verify(token, config.keyring)
    credential = (
        _member_of_jwt(claims.subject, claims.generation)
        if ids.is_id(ids.MEMBER, claims.subject)
        else api_key_auth.of_jwt(claims.subject, claims.generation)
    )
    if credential is None or credential.tenant.slug != claims.tenant:
        raise Unauthenticated
    return Caller.of(credential)


def _member_of_jwt(member_id: str, generation: int) -> Member | None:
    member = _active_member.first(member_id=member_id)
    return member if member is not None and member.generation == generation else None
