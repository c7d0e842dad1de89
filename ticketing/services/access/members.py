"""Members: the organizer's own people."""

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

# Loaded now: passlib's stand-in breaks when the backend comes between its lookup and its call.
argon2.set_backend("argon2_cffi")
# OWASP's least for argon2id: 19 MiB, so that a few sign-ins at once fit a small host.
hasher = argon2.using(type="ID", memory_cost=19_456, time_cost=2, parallelism=1)

_EMAIL = re.compile(r"[^@\s\0]+@[^@\s\0.]+(?:\.[^@\s\0.]+)+")

# A verification takes 20 ms of a core: guessers must not have all of them.
_hashing = OneAtATime(retry_after=1)

_NOBODYS_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$HKMUwtg7RyjlnDOm1DqHcA$"
    "HLxvtOWbxwEI/lBwCu0Csc4SeBV/GWtkjr96IvF4UzY"
)
"""Verified in place of a member who does not exist; of a random password that nobody kept."""


def add(tenant_id: str, email: str, role: Role, password: str) -> Member:
    """Let a person of the tenant sign in. Invalid for a bad email or password; MemberExists."""
    errors = {}
    if not _EMAIL.fullmatch(email) or len(email) > MAX_EMAIL:
        errors["email"] = ["Not an email address."]
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD or "\0" in password:
        errors["password"] = [f"{MIN_PASSWORD} to {MAX_PASSWORD} characters."]
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
    """Return everybody who was ever added, in that order."""
    return list(Member.select().where(Member.tenant == tenant_id).order_by(Member.id))


def disable(tenant_id: str, email: str) -> Member:
    """End a member's access at once, JWTs included. Again: nothing changes. NotFound."""
    mine = (Member.tenant == tenant_id) & (Member.email == email.lower())
    Member.update(disabled_at=clock.now()).where(mine, Member.disabled_at.is_null()).execute()
    member = Member.get_or_none(mine)
    if member is None:
        raise NotFound("There is no such member.")
    return member


def sign_in(tenant_reference: str, email: str, password: str) -> Member | None:
    """Return the member with this password, or None. Every refusal takes the same time.

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
