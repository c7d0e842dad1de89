"""Tenants: create, rename and find them, and change their settings."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from peewee import IntegrityError, ModelSelect, fn

from ticketing import clock, ids
from ticketing.constants import RESERVED_SLUGS
from ticketing.db.connection import write_transaction
from ticketing.errors import Invalid, NotFound, SlugTaken
from ticketing.models.prepared import Prepared
from ticketing.models.tenants import Tenant
from ticketing.services import catalog_version
from ticketing.services.wallets import changes
from ticketing.services.wallets.owners import OwnerSettings

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_SLUG = 80
MAX_NAME = 200


@Prepared
def _by_id(tenant_id: Any) -> ModelSelect[Tenant]:
    return Tenant.select().where(Tenant.id == tenant_id)


@Prepared
def _by_slug(slug: Any) -> ModelSelect[Tenant]:
    return Tenant.select().where(Tenant.slug == slug)


def create(slug: str, name: str, wallet: OwnerSettings | None, *, by: str) -> Tenant:
    """Create a tenant, with a wallet if one is given. `by` names who does it.

    Invalid for the slug, the name or a recovery file; SlugTaken.
    """
    _check_slug(slug)
    if not name.strip() or len(name) > MAX_NAME or "\0" in name:
        raise Invalid({"name": [f"Must have 1 to {MAX_NAME} characters."]})
    try:
        with write_transaction():
            tenant = Tenant.create(
                id=ids.new(ids.TENANT),
                slug=slug,
                name=name,
                early_confirmation=True,
                created_at=clock.now(),
            )
            if wallet is not None:
                changes.put(tenant.id, wallet, by=by, wait=timedelta(0))
            return tenant
    except IntegrityError:
        raise SlugTaken from None


def rename(slug: str, new_slug: str) -> str:
    """Change a tenant's slug, and return the tenant's id. NotFound; Invalid; SlugTaken.

    Its JWTs end, and so do paths with the old slug. Ids and API keys stay valid. It uses only
    columns that are older than the migration that refuses reserved slugs.
    """
    _check_slug(new_slug)
    # One statement: a weaker lock before it would deadlock with changes of the tenant's events.
    renamed = (
        Tenant.update(slug=new_slug, revision=Tenant.revision + 1)
        .where(Tenant.slug == slug)
        .returning(Tenant.id)
    )
    try:
        with write_transaction():
            found = list(renamed.execute())
    except IntegrityError:
        raise SlugTaken from None
    return str(_existing(next(iter(found), None)).id)


def change(tenant_id: str, settings: dict[str, Any]) -> Tenant:
    """Change the given settings, or the name. `settings` are validated fields of the request."""
    with write_transaction():
        if settings:
            Tenant.update(**settings).where(Tenant.id == tenant_id).execute()
            catalog_version.advance(tenant_id)
        return get(tenant_id)


def get(tenant_id: str) -> Tenant:
    """Return the tenant with this id, which exists."""
    found: Tenant = Tenant.get_by_id(tenant_id)
    return found


def find(reference: str) -> Tenant:
    """Return the tenant whose slug or id is `reference`. NotFound."""
    if ids.is_id(ids.TENANT, reference):
        tenant = _by_id.first(tenant_id=reference)
    elif SLUG.fullmatch(reference):
        tenant = _by_slug.first(slug=reference)
    else:
        tenant = None
    return _existing(tenant)


def named(reference: str) -> Tenant:
    """Return the tenant whose slug or id is `reference`, or the only one of that name. NotFound.

    Letters may be of any case, and spaces around it do not count.
    """
    wanted = reference.strip()
    try:
        return find(wanted.lower())
    except NotFound:
        found = list(Tenant.select().where(fn.LOWER(Tenant.name) == fn.LOWER(wanted)).limit(2))
        return _existing(found[0] if len(found) == 1 else None)


def id_of(reference: str) -> str | None:
    """Return the id of the tenant whose slug or id is `reference`. None if there is none."""
    try:
        return str(find(reference).id)
    except NotFound:
        return None


def _existing(tenant: Tenant | None) -> Tenant:
    if tenant is None:
        raise NotFound("This tenant does not exist.")
    return tenant


def only() -> Tenant | None:
    """Return the tenant of a service that has one. None if it has several, or none."""
    found = list(Tenant.select().order_by(Tenant.id).limit(2))
    return found[0] if len(found) == 1 else None


def _check_slug(slug: str) -> None:
    if not SLUG.fullmatch(slug) or len(slug) > MAX_SLUG:
        raise Invalid({"slug": ["Must be lower-case letters and digits, in words joined by '-'."]})
    if slug in RESERVED_SLUGS:
        raise Invalid({"slug": [f"'{slug}' is reserved for the service's own paths."]})
