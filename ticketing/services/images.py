"""The pictures of events, and the logos of tenants: set, remove and find them.

An image is found by its digest, so a URL never shows another one, and browsers may keep it. An
event that is copied shares the picture of the first. What nothing refers to is deleted a day later.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from peewee import EXCLUDED, IntegrityError, ModelSelect, fn

from ticketing import clock
from ticketing.config import Config
from ticketing.db.connection import locked, write_transaction
from ticketing.errors import NotFound
from ticketing.models.events import Event
from ticketing.models.images import SHARE_TYPE, WIDTHS, Image
from ticketing.models.tenants import Tenant
from ticketing.services import catalog_version

if TYPE_CHECKING:
    from ticketing.services.image_files import Files

KEPT_UNUSED = timedelta(days=1)
"""Longer than the transaction of an upload, and than anybody looks at a page."""

SHARE = "share"
"""The name of the file that other sites show beside a link."""

_COLUMNS = {
    "": Image.bytes,
    "960": Image.bytes_960,
    "480": Image.bytes_480,
    SHARE: Image.bytes_share,
}
"""The files of an image by their name in a URL. The largest has none."""

log = logging.getLogger(__name__)


def path(tenant_slug: str, digest: str, name: str = "") -> str:
    """Return the path of a file of an image."""
    return f"/{tenant_slug}/_image/{digest}{name and '/'}{name}"


def url(tenant: Tenant, digest: str | None, config: Config) -> str | None:
    """Return the URL of an image. None without an image. Without PUBLIC_URL, it is a path."""
    return None if digest is None else (config.public_url or "") + path(tenant.slug, digest)


def add_urls(tenant: Tenant, events: Iterable[Event], config: Config) -> None:
    """Set `image_url` on events of a tenant."""
    for event in events:
        event.image_url = url(tenant, event.image_digest, config)


@dataclass(frozen=True)
class Picture:
    """A picture as a page shows it: `width` and `height` of the largest file, in pixels.

    `widths`: of its files, the widest first.
    """

    digest: str
    width: int
    height: int

    @property
    def widths(self) -> list[tuple[str, int]]:
        """The name and the width of each file, the widest first."""
        smaller = [(str(width), width) for width in WIDTHS[1:] if width < self.width]
        return [("", self.width), *smaller]


def picture(digest: str | None) -> Picture | None:
    """Return the image with this digest, which exists. None for None."""
    if digest is None:
        return None
    return pictures([digest])[digest]


def pictures(digests: Iterable[str | None]) -> dict[str, Picture]:
    """Return the images with these digests, by digest, in one query."""
    wanted = [digest for digest in digests if digest is not None]
    if not wanted:
        return {}
    found = Image.select(Image.digest, Image.width, Image.height).where(Image.digest.in_(wanted))
    return {each.digest: Picture(each.digest, each.width, each.height) for each in found}


def find(tenant_slug: str, digest: str, name: str) -> tuple[str, bytes]:
    """Return the media type and the content of a file of an image. NotFound.

    `name` is one of the names in a URL; the largest file has the empty one.
    """
    column = _COLUMNS.get(name)
    if column is None:
        raise NotFound
    row = (
        Image.select(Image.type, column)
        .join(Tenant)
        .where(Image.digest == digest, Tenant.slug == tenant_slug)
        .tuples()
        .first()
    )
    if row is None or row[1] is None:
        raise NotFound
    return SHARE_TYPE if name == SHARE else row[0], bytes(row[1])


def event(tenant_id: str, event_id: str) -> Event:
    """Return an event of a tenant. NotFound."""
    return _existing(_of_tenant(tenant_id, event_id).first())


def set_picture(tenant: Tenant, event_id: str, files: Files | None, config: Config) -> Event:
    """Give an event another picture, or none. Return the event. NotFound.

    NotFound too if it has no picture that could be removed.
    """
    with write_transaction():
        changed = _existing(locked(_of_tenant(tenant.id, event_id)).first())
        if files is None and changed.image_digest is None:
            raise NotFound("This event has no picture.")
        changed.image_digest = None if files is None else _stored(tenant.id, files)
        changed.updated_at = clock.now()
        changed.save(only=changed.dirty_fields)
        catalog_version.advance(tenant.id)
    add_urls(tenant, [changed], config)
    return changed


def logo(tenant_id: str, config: Config) -> Tenant:
    """Return the tenant, with `logo_url`."""
    tenant: Tenant = Tenant.get_by_id(tenant_id)
    tenant.logo_url = url(tenant, tenant.logo_digest, config)
    return tenant


def set_logo(tenant_id: str, files: Files | None, config: Config) -> Tenant:
    """Give a tenant another logo, or none. Return the tenant. NotFound if it has none to remove."""
    with write_transaction():
        tenant: Tenant = locked(Tenant.select().where(Tenant.id == tenant_id)).get()
        if files is None and tenant.logo_digest is None:
            raise NotFound("There is no logo.")
        tenant.logo_digest = None if files is None else _stored(tenant_id, files)
        Tenant.update(logo_digest=tenant.logo_digest).where(Tenant.id == tenant_id).execute()
        catalog_version.advance(tenant_id)
    return logo(tenant_id, config)


def _of_tenant(tenant_id: str, event_id: str) -> ModelSelect[Event]:
    return Event.select().where(Event.tenant == tenant_id, Event.id == event_id)


def _existing(found: Event | None) -> Event:
    if found is None:
        raise NotFound("This event does not exist.")
    return found


def _stored(tenant_id: str, files: Files) -> str:
    """Store an image unless it is stored already, and return its digest.

    Both tenants that upload the same file have it: so neither learns of the other, or loses it.
    """
    digest = hashlib.sha256(tenant_id.encode() + files.largest).hexdigest()
    row: dict[str, Any] = {
        "digest": digest,
        "tenant": tenant_id,
        "type": files.type,
        "width": files.width,
        "height": files.height,
        "bytes": files.largest,
        "bytes_960": files.smaller.get(960),
        "bytes_480": files.smaller.get(480),
        "bytes_share": files.share,
        "created_at": clock.now(),
    }
    # A new time keeps an old row that nothing refers to from being deleted now.
    Image.insert(row).on_conflict(
        conflict_target=[Image.digest], update={Image.created_at: EXCLUDED.created_at}
    ).execute()
    return digest


def forget_unused() -> None:
    """Delete the images that no event and no tenant refers to, if they are not new."""
    is_old = Image.created_at < clock.now() - KEPT_UNUSED
    of_event = Event.select(Event.id).where(Event.image_digest == Image.digest)
    of_tenant = Tenant.select(Tenant.id).where(Tenant.logo_digest == Image.digest)
    unused = is_old & ~fn.EXISTS(of_event) & ~fn.EXISTS(of_tenant)
    try:
        with write_transaction():
            Image.delete().where(unused).execute()
    except IntegrityError:
        # A foreign key: an event got one of these pictures meanwhile, as a copy of another event.
        log.info("an image is used again: unused ones are deleted tomorrow")
