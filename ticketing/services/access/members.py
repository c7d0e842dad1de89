"""Members: people of the organizer, who sign in with a password."""

import re
from collections.abc import Sequence

from passlib.hash import argon2
from peewee import IntegrityError

from ticketing import clock, ids
from ticketing.conflicts import MemberExists
from ticketing.constants import Role
from ticketing.errors import Invalid, NotFound
from ticketing.models.members import Member
from ticketing.models.tenants import Tenant
from ticketing.services.access.rate_limits import OneAtATime

MIN_PASSWORD, MAX_PASSWORD = 12, 128
MAX_EMAIL = 254

# Load the backend now: passlib loads it lazily, and that is not thread-safe.
argon2.set_backend("argon2_cffi")
# OWASP's minimum for argon2id: 19 MiB. A small host has enough memory for a few at once.
hasher = argon2.using(type="ID", memory_cost=19_456, time_cost=2, parallelism=1)

_EMAIL = re.compile(r"[^@\s\0]+@[^@\s\0.]+(?:\.[^@\s\0.]+)+")

# A verification takes 20 ms of CPU. Password guessing must not use all cores.
_hashing = OneAtATime(retry_after=1)

_NOBODYS_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$HKMUwtg7RyjlnDOm1DqHcA$"
    "HLxvtOWbxwEI/lBwCu0Csc4SeBV/GWtkjr96IvF4UzY"
)
"""The hash of a random password. It is verified if the member does not exist."""


def add(tenant_id: str, email: str, role: Role, password: str) -> Member:
    """Add a member, who may then sign in. Invalid for the email or password; MemberExists."""
    errors = {}
    if not _EMAIL.fullmatch(email) or len(email) > MAX_EMAIL:
        errors["email"] = ["Must be an email address."]
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD or "\0" in password:
        errors["password"] = [f"Must have {MIN_PASSWORD} to {MAX_PASSWORD} characters."]
    if errors:
        raise Invalid(errors)
    try:
        return Member.create(
            id=ids.new(ids.MEMBER),
            tenant=tenant_id,
            email=email.lower(),
            password_hash=hasher.hash(password),
            role=role,
            created_at=clock.now(),
        )
    except IntegrityError:
        raise MemberExists from None


def list_all(tenant_id: str) -> Sequence[Member]:
    """Return all members, disabled ones included, the oldest first."""
    return list(Member.select().where(Member.tenant == tenant_id).order_by(Member.id))


def disable(tenant_id: str, email: str) -> Member:
    """End a member's access and JWTs at once. A repeat changes nothing. NotFound."""
    mine = (Member.tenant == tenant_id) & (Member.email == email.lower())
    Member.update(disabled_at=clock.now()).where(mine, Member.disabled_at.is_null()).execute()
    member = Member.get_or_none(mine)
    if member is None:
        raise NotFound("This member does not exist.")
    return member


def sign_in(tenant_reference: str, email: str, password: str) -> Member | None:
    """Return the member with this password, or None. Every failure takes the same time.

    TooManyRequests if another thread of this process is verifying a password.
    """
    of_slug_or_id = (Tenant.slug == tenant_reference) | (Tenant.id == tenant_reference)
    member = (
        Member.select(Member, Tenant)
        .join(Tenant)
        .where(
            Member.tenant == Tenant.select(Tenant.id).where(of_slug_or_id),
            Member.email == email.lower(),
            Member.disabled_at.is_null(),
        )
        .first()
    )
    with _hashing.turn():
        matches = hasher.verify(password, member.password_hash if member else _NOBODYS_HASH)
    return member if member and matches else None
