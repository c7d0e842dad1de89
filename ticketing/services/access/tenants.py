"""Tenants: create one, and find the one in a path."""

from __future__ import annotations

import re
from typing import Any

from peewee import IntegrityError, ModelSelect

from ticketing import clock, ids
from ticketing.conflicts import SlugTaken
from ticketing.db.connection import write_transaction
from ticketing.errors import Invalid, NotFound
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.services import wallets

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_SLUG = 80
MAX_NAME = 200


@Prepared
def _by_id(tenant_id: Any) -> ModelSelect[Tenant]:
    return Tenant.select().where(Tenant.id == tenant_id)


@Prepared
def _by_slug(slug: Any) -> ModelSelect[Tenant]:
    return Tenant.select().where(Tenant.slug == slug)


def create(slug: str, name: str, xpub: str | None) -> Tenant:
    """Create a tenant, with a wallet if `xpub` is given.

    Invalid for the slug, name or xpub; SlugTaken.
    """
    if not SLUG.fullmatch(slug) or len(slug) > MAX_SLUG:
        raise Invalid({"slug": ["Must be lower-case letters and digits, in words joined by '-'."]})
    if not name.strip() or len(name) > MAX_NAME or "\0" in name:
        raise Invalid({"name": [f"Must have 1 to {MAX_NAME} characters."]})
    try:
        with write_transaction():
            tenant = Tenant.create(
                id=ids.new(ids.TENANT), slug=slug, name=name, created_at=clock.now()
            )
            if xpub is not None:
                wallets.replace(tenant.id, xpub)
            return tenant
    except IntegrityError:
        raise SlugTaken from None


def find(reference: str) -> Tenant:
    """Return the tenant whose slug or id is `reference`. NotFound."""
    if ids.is_id(ids.TENANT, reference):
        tenant = _by_id.first(tenant_id=reference)
    elif SLUG.fullmatch(reference):
        tenant = _by_slug.first(slug=reference)
    else:
        tenant = None
    if tenant is None:
        raise NotFound("This tenant does not exist.")
    return tenant
